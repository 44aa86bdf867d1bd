#include "examples/graph_cpp/options.h"

#include <charconv>
#include <system_error>

namespace pipefill {
namespace {

constexpr char kKnown[] = "known: --result FILE, --output FILE, --rounds N";

bool ParsePositive(const std::string& text, uint64_t& value) {
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && value > 0;
}

}  // namespace

std::string ParseGraphJobOptions(const std::vector<std::string>& arguments,
                                 GraphJobOptions& options) {
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (name != "--result" && name != "--output" && name != "--rounds") {
      return "unknown option: " + name + "; " + kKnown;
    }
    if (i + 1 == arguments.size()) return "value missing: option=" + name + "; " + kKnown;
    const std::string& value = arguments[i + 1];
    if (name == "--result") options.result_path = value;
    if (name == "--output") options.output_path = value;
    if (name == "--rounds" && !ParsePositive(value, options.rounds)) {
      return "not a positive number: option=--rounds value=" + value;
    }
  }
  if (options.output_path.empty()) options.output_path = options.result_path + ".txt";
  return "";
}

}  // namespace pipefill
