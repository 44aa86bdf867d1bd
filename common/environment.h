// What the operating system tells about this process and host. The only place that reads the
// environment.
//
// Thread-safe as long as nobody sets variables.
#ifndef COMMON_ENVIRONMENT_H_
#define COMMON_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace pipefill {

// `fallback` if unset or empty.
std::string EnvironmentOr(const char* name, const std::string& fallback);
// For libraries that can be told something by a variable only. One that is set stays as it is.
// REQUIRES: no thread runs yet but the main one.
void SetDefaultVariable(const char* name, const char* value);
std::string HostName();
// Random, for boot ids and idempotency keys: 32 hexadecimal digits.
std::string RandomToken();
// Cores that this process may run on, sorted.
std::vector<int> AllowedCores();
// The memory of the host, or of this container if that is less.
int64_t MemoryTotalBytes();

}  // namespace pipefill

#endif  // COMMON_ENVIRONMENT_H_
