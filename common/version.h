// The version of everything in this tree.
//
// Pure.
#ifndef COMMON_VERSION_H_
#define COMMON_VERSION_H_

namespace pipefill {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace pipefill

#endif  // COMMON_VERSION_H_
