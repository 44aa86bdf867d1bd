// CHECK: ends the process when an invariant of our own does not hold. Never for what came over a
// wire, from a page, from disk or from a person.
//
// Pure.
#ifndef COMMON_CHECK_H_
#define COMMON_CHECK_H_

namespace pipefill {

// Prints the line and aborts.
[[noreturn]] void FailCheck(const char* file, int line, const char* condition);

}  // namespace pipefill

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::pipefill::FailCheck(__FILE__, __LINE__, #condition))

#endif  // COMMON_CHECK_H_
