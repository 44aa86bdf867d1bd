// Reads and writes the small files of /proc and of control groups. They have no size to ask for.
//
// Thread-safe.
#ifndef CLIENT_PROCESS_SMALL_FILE_H_
#define CLIENT_PROCESS_SMALL_FILE_H_

#include <string>
#include <string_view>

namespace pipefill::sdk {

// Empty if it cannot be read.
std::string ReadSmallFile(const std::string& path);
// The same of an open file, from its beginning.
std::string ReadSmallFile(int descriptor);

// In one write. 0, or an errno value.
int WriteSmallFile(const std::string& path, std::string_view text);

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_SMALL_FILE_H_
