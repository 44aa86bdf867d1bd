// Reads the small files and numbered folders of /proc.
//
// Processes come and go meanwhile: what is not there any more reads as empty.
//
// Thread-safe.
#ifndef AGENT_DEVICES_PROC_FILES_H_
#define AGENT_DEVICES_PROC_FILES_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace pipefill {

// The whole text of `path`; files of /proc have no size to ask for.
std::string ReadProcFile(const std::string& path);

// Entries of `folder` that are numbers, in the kernel's order: processes or threads.
std::vector<pid_t> ListProcNumbers(const std::string& folder);

}  // namespace pipefill

#endif  // AGENT_DEVICES_PROC_FILES_H_
