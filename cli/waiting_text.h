// Why a job waits, in words.
//
// Pure.
#ifndef CLI_WAITING_TEXT_H_
#define CLI_WAITING_TEXT_H_

#include <string>

#include "proto/types.pb.h"

namespace pipefill {

// Facts under each other, each line ended by a newline. REQUIRES: the job is pending.
std::string WaitingFacts(const v1::Job& job);

}  // namespace pipefill

#endif  // CLI_WAITING_TEXT_H_
