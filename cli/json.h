// What `-o json` prints. cli/README.md lists the names; they are stable: new ones are added, none
// changes its meaning. Units are in the names (`_ns`, `_bytes`); enums are the words of
// cli/words.h; what is not known is left out.
//
// Pure.
#ifndef CLI_JSON_H_
#define CLI_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

// Keeps the order in which names are set.
using Json = nlohmann::ordered_json;

Json JobJson(const v1::Job& job);
Json ForecastJson(const v1::Forecast& forecast);
// The job waits.
Json PendingJson(const v1::PendingDetail& pending);
Json DeviceJson(const v1::Device& device);
Json MainRankJson(const v1::MainRank& rank);
Json MainSettingsJson(const v1::MainJobSettings& settings);
Json BubbleJson(const v1::BubbleStats& bubble);
Json StatusJson(const v1::GetStatusResponse& status);

// Indented, with a newline at the end. Bytes that are not UTF-8 are replaced.
std::string JsonText(const Json& json);

}  // namespace pipefill

#endif  // CLI_JSON_H_
