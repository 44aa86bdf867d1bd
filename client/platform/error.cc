#include "client/platform/error.h"

#include <system_error>

namespace pipefill::sdk {

Error SystemError(const std::string& what, int error_number) {
  return {.code = PF_SYSTEM,
          .text = what + ": " + std::error_code(error_number, std::generic_category()).message()};
}

}  // namespace pipefill::sdk
