#include "client/profile/task_config.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace pipefill::sdk {
namespace {

std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

uint64_t NumberIn(std::string_view config, std::string_view field, uint64_t otherwise) {
  for (size_t quote = config.find('"'); quote != std::string_view::npos;) {
    const size_t end = config.find('"', quote + 1);
    if (end == std::string_view::npos) break;
    std::string_view rest = WithoutBlanks(config.substr(end + 1));
    const bool is_field = config.substr(quote + 1, end - quote - 1) == field;
    if (is_field && !rest.empty() && rest[0] == ':') {
      rest = WithoutBlanks(rest.substr(1));
      uint64_t number = 0;
      const auto [behind, failure] =
          std::from_chars(rest.data(), rest.data() + rest.size(), number);
      const bool is_whole =
          behind == rest.data() + rest.size() || (*behind != '.' && *behind != 'e');
      return failure == std::errc() && is_whole && number > 0 ? number : otherwise;
    }
    quote = config.find('"', end + 1);
  }
  return otherwise;
}

}  // namespace pipefill::sdk
