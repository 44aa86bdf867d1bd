// When to doubt an estimate that lets no unit run.
//
// A guess or one slow start-up unit can be too long for every bubble. Then no unit runs and nothing
// is learned, so offered bubbles that pass without a unit count:
//   - while no length is known: 64 in a row, and the guess is to be halved;
//   - later: 256 in a row (64 while fewer than 4 lengths are known), and one length is to be
//   dropped.
//     If the unit that this lets through overruns again, the number doubles, so that units that
//     really are too long for the bubbles are tried ever more rarely. A unit that fits puts it
//     back.
//
// Pure.
#ifndef CLIENT_FILL_DENIALS_H_
#define CLIENT_FILL_DENIALS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pipefill::sdk {

class Denials {
 public:
  static constexpr uint32_t kBeforeHalving = 64;
  static constexpr size_t kFewLengths = 4;
  static constexpr uint32_t kBeforeDropFew = 64;
  static constexpr uint32_t kBeforeDrop = 256;
  static constexpr uint32_t kBackOffMax = 256;

  void OnUnit(bool is_overrun) {
    in_row_ = 0;
    if (!is_overrun) {
      back_off_ = 1;
    } else if (is_trial_) {
      back_off_ = std::min(2 * back_off_, kBackOffMax);
    }
    is_trial_ = false;
  }

  // A bubble passed. True when it is time to halve the guess (`lengths_known` is 0) or to drop one
  // of the lengths.
  bool OnDenied(size_t lengths_known) {
    ++in_row_;
    const uint32_t patience = lengths_known == 0            ? kBeforeHalving
                              : lengths_known < kFewLengths ? kBeforeDropFew * back_off_
                                                            : kBeforeDrop * back_off_;
    if (in_row_ < patience) return false;
    in_row_ = 0;
    if (lengths_known > 0) is_trial_ = true;
    return true;
  }

 private:
  uint32_t in_row_ = 0;
  uint32_t back_off_ = 1;  // factor on the number of denials before a drop
  bool is_trial_ = false;  // no unit has run since a length was dropped
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_DENIALS_H_
