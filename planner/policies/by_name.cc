#include "planner/policies/by_name.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "planner/policies/composition.h"
#include "planner/policies/edf.h"
#include "planner/policies/fair.h"
#include "planner/policies/fifo.h"
#include "planner/policies/lua.h"
#include "planner/policies/makespan.h"
#include "planner/policies/sjf.h"
#include "planner/policies/throughput.h"

namespace pipefill {
namespace {

absl::StatusOr<std::unique_ptr<Policy>> MakeOne(absl::string_view name, const ReadText& read) {
  if (name == "fifo") return std::make_unique<FifoPolicy>();
  if (name == "sjf") return std::make_unique<SjfPolicy>();
  if (name == "makespan") return std::make_unique<MakespanPolicy>();
  if (name == "edf") return std::make_unique<EdfPolicy>();
  if (name == "fair") return std::make_unique<FairPolicy>();
  if (name == "throughput") return std::make_unique<ThroughputPolicy>();
  absl::string_view file = name;
  if (absl::ConsumePrefix(&file, "lua:")) {
    const absl::StatusOr<std::string> text = read(std::string(file));
    if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
    return LuaPolicy::Load(*text, std::string(file));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no policy has the name \"", name,
                   "\"; known: fifo, sjf, makespan, edf, fair, throughput, lua:FILE, and several "
                   "of them with commas in between"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> MakePolicyByName(absl::string_view name,
                                                         const ReadText& read) {
  std::vector<std::unique_ptr<Policy>> parts;
  for (absl::string_view part : absl::StrSplit(name, ',')) {
    absl::StatusOr<std::unique_ptr<Policy>> made = MakeOne(part, read);
    if (!made.ok()) return made.status();
    parts.push_back(*std::move(made));
  }
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_unique<Composition>(std::move(parts));
}

}  // namespace pipefill
