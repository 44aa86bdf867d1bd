#include "common/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace pipefill {

absl::Status SetUpLog(absl::string_view component, absl::string_view level) {
  spdlog::level::level_enum lowest = spdlog::level::off;
  if (level == "error") lowest = spdlog::level::err;
  if (level == "warn") lowest = spdlog::level::warn;
  if (level == "info") lowest = spdlog::level::info;
  if (level == "debug") lowest = spdlog::level::debug;
  if (lowest == spdlog::level::off) {
    return absl::InvalidArgumentError(
        absl::StrCat("no such log level: ", level, "; use error, warn, info or debug"));
  }
  auto logger = std::make_shared<spdlog::logger>(
      std::string(component), std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %n %v");
  logger->set_level(lowest);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace pipefill
