// What filling costs a main job: the time per iteration with filling over the time without, less 1,
// from iterations of both kinds that are neighbours, and how sure that is.
//
//   iterations   f f f f f f f f f [H] f f f f f f f f f f        f = filled, H = held out
//   comparison     `-------------' |  | `-------------'
//                     its filled   |  |  its filled               to and fro: left out
//
// A comparison is one run of held-out iterations with the filled ones nearest to it, at most
// kNeighbours on either side; a filled iteration belongs to one comparison only, so that
// comparisons are independent of each other. Left out is the filled iteration behind a run, which
// still has the caches of an unfilled one, and, beside a short run, the one before it, so that both
// sides are as far away and a steady drift cancels. Of runs of at least kRunWithWashOut the first
// iteration is left out instead: it still feels the units before.
//
//   residual     time / median of its comparison (both kinds together) - 1: takes drift and steps
//   off limits       +- max(kLimitSpreads spreads of all residuals, kLimitMin), the same for both
//   kinds:
//                a checkpoint of ten times the length weighs no more than that, and where filling
//                changes nothing it weighs the same on both sides, however skewed the times are
//   slowdown     mean over comparisons of (mean residual filled - mean residual held out), where
//   both
//                sides of the filled ones weigh the same
//   interval     the wider one of two, 95 % each: Student's over the comparisons, which knows how
//                unlike they are; and the one from the spread of the filled residuals, which knows
//                the tail of the times before the few held-out ones have shown it
//
// The newest kComparisonsMax comparisons are kept, so the estimate forgets.
//
// Pure. Thread-compatible: one owner.
#ifndef AGENT_LEARN_SLOWDOWN_ESTIMATE_H_
#define AGENT_LEARN_SLOWDOWN_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace pipefill {

inline constexpr size_t kNeighbours = 8;
inline constexpr size_t kRunWithWashOut = 4;
// Of a longer run the first so many count.
inline constexpr size_t kRunMax = 64;
inline constexpr size_t kComparisonsMax = 128;
// With fewer there is no estimate.
inline constexpr size_t kComparisonsMin = 8;
inline constexpr double kLimitSpreads = 6.0;
inline constexpr double kLimitMin = 0.1;

enum class IterationFill {
  kFilled,   // units ran, or could have
  kHeldOut,  // they could have, were it not held out
  kNeither,  // nothing could be filled: no task, no bubble on offer, mode, back-off
};

struct IterationSample {
  uint64_t number = 0;
  int64_t length_ns = 0;
  IterationFill kind = IterationFill::kNeither;
};

struct SlowdownEstimate {
  double slowdown = 0;  // 0.01 = filled iterations take 1 % longer
  double low = 0;       // 95 % interval
  double high = 0;
  int64_t hold_outs = 0;  // iterations that it rests on
  int64_t filled = 0;
  int64_t span_ns = 0;  // main job's time from the first of them to the last

  // Of the slowdown, as far as the interval tells.
  double standard_error() const { return (high - low) / 4; }
};

class SlowdownEstimator {
 public:
  // A number that does not follow on the one before ends a neighbourhood; lengths <= 0 are
  // kNeither.
  void OnIteration(const IterationSample& sample);
  // Everything so far was under other conditions.
  void Forget();

  // Of the newest `comparisons_max` comparisons; nullopt while there are less than kComparisonsMin.
  std::optional<SlowdownEstimate> Estimate(size_t comparisons_max = kComparisonsMax) const;
  size_t comparisons() const { return comparisons_.size(); }

 private:
  // A run and the filled iterations on either side of it: lengths, or residuals.
  struct Neighbourhood {
    std::vector<double> before;
    std::vector<double> held_out;
    std::vector<double> behind;
    int64_t span_ns = 0;  // since the neighbourhood before
  };
  using Neighbourhoods = std::deque<Neighbourhood>;
  struct Run {
    Neighbourhood lengths;
    double just_before = 0;  // length of the iteration before it; 0 = not a filled one
    bool is_short() const { return lengths.held_out.size() < kRunWithWashOut; }
  };

  // What residuals are held to, from those of [first, last), which is not empty.
  static double LimitOf(Neighbourhoods::const_iterator first, Neighbourhoods::const_iterator last);
  void TakeHeldOut(double length);
  void TakeOther(double length);
  // A run begins: shares what lies between it and the one before.
  void BeginRun();
  void EndNeighbourhood();
  // Adds between_[1, end) to the run behind them, and compares.
  void CompleteRun(size_t end);

  std::optional<uint64_t> last_number_;
  std::optional<Run> run_;       // in progress
  std::optional<Run> past_run_;  // its neighbours behind it are still to come
  std::vector<double> between_;  // lengths since a run ended; 0 = kNeither
  int64_t span_ns_ = 0;
  Neighbourhoods comparisons_;  // residuals, before the limits
};

}  // namespace pipefill

#endif  // AGENT_LEARN_SLOWDOWN_ESTIMATE_H_
