// Notices that the lengths of one bubble have become different ones, so that the older ones can be
// dropped at once instead of leaving one by one.
//
// Two sums run, one for longer, one for shorter lengths. Each length adds to them by its rank among
// the lengths kept when the sum began to rise; ranks, because lengths may have any distribution:
//
//   rank r in (0, 1)      sum = max(0, sum + ln a + (a - 1) ln r),   a = 8      (longer; shorter: 1
//   - r)
//
//      0 --- a length above 3/4 of the reference ---> rising --- sum >= 10 ---> change
//      ^                                                |
//      +------------ the sum is back at 0 --------------+
//
// This is Page's cumulative sum for ranks that move to the end of the reference (density a
// r^(a-1)). At the far end each length adds 2: five in a row are a change, and one that is not
// quite there makes it six, not a new start. As ranks, independent lengths look the same whatever
// their distribution; then a change is seen about once in 5,000 lengths with 64 kept, and costs a
// rest of memory, not a promise.
//
// Pure. Thread-compatible: one detector belongs to one bubble.
#ifndef AGENT_LEARN_CHANGE_DETECTOR_H_
#define AGENT_LEARN_CHANGE_DETECTOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipefill {

class ChangeDetector {
 public:
  // A length came; `kept_sorted` are those before it, growing, at least one. Returns how many of
  // the newest lengths, this one included, are of the new kind; 0 = no change. After a change it
  // starts afresh.
  size_t OnLength(const std::vector<int64_t>& kept_sorted, int64_t length_ns);

 private:
  struct Sum {
    double value = 0.0;
    size_t run = 0;  // lengths since it left 0
    std::vector<int64_t> reference;
  };

  static void Add(const std::vector<int64_t>& kept_sorted, int64_t length_ns, bool is_for_longer,
                  Sum& sum);

  Sum longer_;
  Sum shorter_;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_CHANGE_DETECTOR_H_
