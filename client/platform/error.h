// What went wrong, inside the SDK: a result code of pipefill.h and one line for people.
//
// The SDK is loaded into other people's processes and therefore uses no library's status type.
//
// Pure.
#ifndef CLIENT_PLATFORM_ERROR_H_
#define CLIENT_PLATFORM_ERROR_H_

#include <string>

#include "client/pipefill.h"

namespace pipefill::sdk {

struct [[nodiscard]] Error {
  int code = PF_OK;
  std::string text;  // "what failed: key=value ...; what to do"

  bool ok() const { return code == PF_OK; }
};

// PF_SYSTEM with the text of `error_number`, an errno value.
Error SystemError(const std::string& what, int error_number);

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_ERROR_H_
