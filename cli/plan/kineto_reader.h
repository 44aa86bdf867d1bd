// Reads what the PyTorch profiler wrote (Kineto's JSON in Chrome's trace format): the work of GPUs,
// and the marks of training steps. As a stream: a trace of hundreds of MB is never in memory as a
// whole.
//
// Kept are events of these categories; all others are counted and skipped:
//
//   kernel, gpu_memcpy, gpu_memset     work on a stream of a device (args.device, args.stream;
//   where
//                                      they are missing pid, tid)
//   gpu_user_annotation "ProfilerStep#N"   step N as the device saw it
//   user_annotation "ProfilerStep#N"       step N as the host saw it, which runs ahead
//
// Pure but for the stream that it reads.
#ifndef CLI_PLAN_KINETO_READER_H_
#define CLI_PLAN_KINETO_READER_H_

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace pipefill {

// Times are nanoseconds of the trace's own clock.
struct GpuWork {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t stream = 0;
  uint32_t name = 0;  // index into GpuTrace::names
  bool is_kernel = false;
};

struct StepMark {
  int64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::optional<int64_t> device;  // absent: the host's
};

struct GpuTrace {
  std::string source;                               // the file
  std::optional<int64_t> rank;                      // as the trace says
  std::map<int64_t, std::vector<GpuWork>> devices;  // in the order of the file
  std::vector<std::string> names;
  std::vector<StepMark> steps;
  int64_t events = 0;     // of all categories
  int64_t malformed = 0;  // work without a time or a stream
};

inline constexpr int64_t kGpuWorkMax = 50'000'000;

// InvalidArgument: not JSON, cut off, not a trace. ResourceExhausted beyond kGpuWorkMax.
absl::StatusOr<GpuTrace> ReadKineto(std::istream& in, const std::string& source);

}  // namespace pipefill

#endif  // CLI_PLAN_KINETO_READER_H_
