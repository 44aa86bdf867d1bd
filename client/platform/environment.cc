#include "client/platform/environment.h"

#include <cstdlib>

namespace pipefill::sdk {

std::string ProcessEnvironment::Get(const char* name) const {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace pipefill::sdk
