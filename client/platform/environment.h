// The process's environment; the only place of the SDK that reads it.
//
// Thread-safe as long as nobody changes the environment at the same time.
#ifndef CLIENT_PLATFORM_ENVIRONMENT_H_
#define CLIENT_PLATFORM_ENVIRONMENT_H_

#include <string>

namespace pipefill::sdk {

class Environment {
 public:
  virtual ~Environment() = default;

  // "" when the variable is not set, which means the same as set to nothing.
  virtual std::string Get(const char* name) const = 0;
};

class ProcessEnvironment final : public Environment {
 public:
  std::string Get(const char* name) const override;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_ENVIRONMENT_H_
