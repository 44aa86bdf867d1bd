#include "cli/report/synthetic_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

constexpr int64_t kBubbleMinNs = 60'000;
constexpr int64_t kHandOverNs = 25'000;
constexpr int64_t kBetweenUnitsNs = 6'000;
constexpr int64_t kDrainNs = 5'000'000;
constexpr int kLearned = 8;
constexpr uint64_t kControlIterations = 20;

struct PlacedChunk {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int kind = 1;
};

struct PlacedBubble {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int slot = 0;
  uint32_t seq = 0;
};

struct Step {
  int stage = 0;
  int micro_batch = 0;
  bool is_backward = false;
};

// A record with what decides its place in the file.
struct Placed {
  int64_t time_ns = 0;
  int source = 0;
  v1::TraceRecord record;
};

class SyntheticRun {
 public:
  explicit SyntheticRun(const SyntheticOptions& options)
      : options_(options), random_(options.seed), now_ns_(kSyntheticStartNs + 20'000'000) {
    const size_t stages = static_cast<size_t>(options.stages);
    seqs_.resize(stages);
    slots_.resize(stages);
    length_means_.resize(stages);
    tasks_.resize(options.jobs.size());
  }

  std::vector<v1::TraceRecord> Run() {
    PutHead();
    for (int i = 0; i < options_.iterations; ++i) RunIteration(static_cast<uint64_t>(i));
    PutTail();
    std::stable_sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
      return std::tuple(a.time_ns / kDrainNs, a.source) <
             std::tuple(b.time_ns / kDrainNs, b.source);
    });
    std::vector<v1::TraceRecord> records;
    for (Placed& placed : placed_) records.push_back(std::move(placed.record));
    return records;
  }

 private:
  struct TaskProgress {
    bool is_attached = false;
    bool is_done = false;
    int units = 0;
    int64_t left_ns = 0;  // of a unit that a bubble ended under
    std::optional<v1::Unit> cut;
    int64_t cpu_ns = 0;
  };

  double Noise() {
    return 1.0 + options_.noise * (std::uniform_real_distribution<double>(-1, 1)(random_) +
                                   std::exponential_distribution<double>(3)(random_));
  }

  v1::TraceRecord* Put(int64_t time_ns, int source) {
    placed_.push_back({.time_ns = time_ns, .source = source, .record = {}});
    return &placed_.back().record;
  }

  void PutHead() {
    v1::TraceStart* start = Put(kSyntheticStartNs, 0)->mutable_start();
    start->set_node("n1");
    start->set_now_ns(kSyntheticStartNs);
    start->set_now_unix_ns(1'800'000'000'000'000'000);
    start->set_hold_out_block_iterations(options_.hold_out.block_iterations);
    start->set_hold_out_one_in(options_.hold_out.one_in);
    for (int stage = 0; stage < options_.stages; ++stage) {
      v1::RankAttached* attached = Put(kSyntheticStartNs + 1'000, 0)->mutable_rank_attached();
      attached->set_rank_key(stage + 1);
      attached->set_device(absl::StrCat("cpu", stage));
      attached->set_now_ns(kSyntheticStartNs + 1'000);
      v1::MainRank* rank = attached->mutable_rank();
      rank->set_main_job("synthetic");
      rank->set_rank(stage);
      rank->set_ranks(options_.stages);
      rank->set_stage(stage);
      rank->set_stages(options_.stages);
      rank->set_mode(v1::FILL_MODE_FILL);
    }
  }

  void PutTail() {
    for (size_t i = 0; i < tasks_.size(); ++i) EndTask(i, now_ns_ + 2'000'000);
    for (int stage = 0; stage < options_.stages; ++stage) {
      v1::RankDetached* detached = Put(now_ns_ + 9'000'000, 100 + stage)->mutable_rank_detached();
      detached->set_rank_key(stage + 1);
      detached->set_now_ns(now_ns_ + 9'000'000);
    }
  }

  // Steps in an order in which every one comes after those it waits for.
  std::vector<Step> StageOrder(int stage) const {
    const int all = options_.micro_batches;
    const int ahead =
        options_.is_one_forward_one_backward ? std::min(options_.stages - stage, all) : all;
    std::vector<Step> steps;
    for (int k = 0; k < ahead; ++k) steps.push_back({.stage = stage, .micro_batch = k});
    for (int k = 0; k < all; ++k) {
      steps.push_back({.stage = stage, .micro_batch = k, .is_backward = true});
      if (ahead + k < all) steps.push_back({.stage = stage, .micro_batch = ahead + k});
    }
    return steps;
  }

  // Chunks of every stage, and where the iteration ends for all.
  std::vector<std::vector<PlacedChunk>> PlaceChunks(double factor, int64_t* end_ns) {
    const auto stages = static_cast<size_t>(options_.stages);
    std::vector<std::vector<Step>> orders;
    for (int stage = 0; stage < options_.stages; ++stage) orders.push_back(StageOrder(stage));
    std::vector<size_t> next(stages, 0);
    std::vector<int64_t> free_at(stages, now_ns_ + 30'000);
    std::map<std::tuple<int, int, bool>, int64_t> done;
    std::vector<std::vector<PlacedChunk>> chunks(stages);
    for (bool is_moving = true; is_moving;) {
      is_moving = false;
      for (size_t s = 0; s < stages; ++s) {
        if (next[s] == orders[s].size()) continue;
        const Step& step = orders[s][next[s]];
        const int before = step.is_backward ? step.stage + 1 : step.stage - 1;
        int64_t ready_ns = free_at[s];
        if (before >= 0 && before < options_.stages) {
          const auto input = done.find({before, step.micro_batch, step.is_backward});
          if (input == done.end()) continue;
          ready_ns = std::max(ready_ns, input->second + 40'000);
        }
        const double length = static_cast<double>(options_.chunk_ns) *
                              (step.is_backward ? 2.0 : 1.0) * Noise() * factor;
        const int64_t end = ready_ns + static_cast<int64_t>(length);
        chunks[s].push_back(
            {.begin_ns = ready_ns, .end_ns = end, .kind = step.is_backward ? 2 : 1});
        done[{step.stage, step.micro_batch, step.is_backward}] = free_at[s] = end;
        ++next[s];
        is_moving = true;
      }
    }
    for (size_t s = 0; s < stages; ++s) {
      const int64_t end = free_at[s] + options_.chunk_ns / 5;
      chunks[s].push_back({.begin_ns = free_at[s], .end_ns = end, .kind = 3});
      *end_ns = std::max(*end_ns, end + 50'000);
    }
    return chunks;
  }

  void RunIteration(uint64_t iteration) {
    const bool is_held = IsHeldOut(options_.hold_out, iteration);
    LaunchTasks(static_cast<int>(iteration));
    if (iteration % kControlIterations == 0) PutControls(iteration);
    const bool is_filled = !is_held && iteration >= kLearned;
    int64_t end_ns = 0;
    const auto chunks = PlaceChunks(is_filled ? 1.0 + options_.slowdown : 1.0, &end_ns);
    for (int stage = 0; stage < options_.stages; ++stage) {
      PutEdge(stage, v1::EDGE_KIND_ITERATION_BEGIN, now_ns_, iteration);
      const auto bubbles = PutBubbles(stage, chunks[static_cast<size_t>(stage)], end_ns, iteration);
      if (is_filled) Fill(stage, bubbles, iteration);
      PutEdge(stage, v1::EDGE_KIND_ITERATION_END, end_ns, iteration);
    }
    now_ns_ = end_ns + 150'000;
  }

  // As if its estimate grew sharper around the truth with each hold-out.
  void PutControls(uint64_t iteration) {
    const auto hold_outs = static_cast<int64_t>(iteration / 8);
    for (int stage = 0; stage < options_.stages; ++stage) {
      v1::FillControlChanged* changed = Put(now_ns_, 100 + stage)->mutable_fill_control();
      changed->set_rank_key(stage + 1);
      changed->set_now_ns(now_ns_);
      v1::FillControl* control = changed->mutable_control();
      control->set_state(iteration < kLearned ? v1::FILL_STATE_LEARNING : v1::FILL_STATE_FILLING);
      control->set_overrun_ratio(options_.overrun_ratio);
      control->set_budget_ppm(10'000);
      if (hold_outs == 0) continue;
      const double half_width = 0.02 / std::sqrt(static_cast<double>(hold_outs));
      control->set_hold_outs(hold_outs);
      control->set_filled(static_cast<int64_t>(iteration) - hold_outs);
      control->set_slowdown(options_.slowdown + half_width / 3);
      control->set_slowdown_low(control->slowdown() - half_width);
      control->set_slowdown_high(control->slowdown() + half_width);
    }
  }

  v1::Edge* PutEdge(int stage, v1::EdgeKind kind, int64_t time_ns, uint64_t iteration) {
    v1::Edge* edge = Put(time_ns, 100 + stage)->mutable_edge();
    edge->set_rank_key(stage + 1);
    edge->set_kind(kind);
    edge->set_time_ns(time_ns);
    edge->set_iteration(iteration);
    edge->set_seq(seqs_[static_cast<size_t>(stage)]);
    return edge;
  }

  // Edges of the chunks of one stage and of the gaps between them.
  std::vector<PlacedBubble> PutBubbles(int stage, const std::vector<PlacedChunk>& chunks,
                                       int64_t end_ns, uint64_t iteration) {
    std::vector<PlacedBubble> bubbles;
    int64_t free_ns = now_ns_ + 1'000;
    int scattered = 0;
    for (size_t c = 0; c <= chunks.size(); ++c) {
      const int64_t next_ns = c < chunks.size() ? chunks[c].begin_ns : end_ns - 1'000;
      if (next_ns - free_ns >= kBubbleMinNs) {
        v1::BubbleClass bubble_class = v1::BUBBLE_CLASS_SCATTERED;
        if (c == 0) bubble_class = v1::BUBBLE_CLASS_HEAD;
        if (c == chunks.size()) bubble_class = v1::BUBBLE_CLASS_TAIL;
        if (c > 0 && c < chunks.size() && chunks[c - 1].kind == 1 && chunks[c].kind == 2 &&
            !options_.is_one_forward_one_backward) {
          bubble_class = v1::BUBBLE_CLASS_MIDDLE;
        }
        const int ordinal = bubble_class == v1::BUBBLE_CLASS_SCATTERED ? scattered++ : 0;
        const int slot = SlotOf(stage, bubble_class, ordinal);
        bubbles.push_back(PutBubble(
            stage, {.begin_ns = free_ns, .end_ns = next_ns, .slot = slot, .seq = 0}, iteration));
      }
      if (c == chunks.size()) break;
      PutEdge(stage, v1::EDGE_KIND_CHUNK_BEGIN, chunks[c].begin_ns, iteration)
          ->set_value(chunks[c].kind);
      PutEdge(stage, v1::EDGE_KIND_CHUNK_END, chunks[c].end_ns, iteration)
          ->set_value(chunks[c].kind);
      free_ns = chunks[c].end_ns;
    }
    return bubbles;
  }

  PlacedBubble PutBubble(int stage, PlacedBubble bubble, uint64_t iteration) {
    uint32_t& seq = seqs_[static_cast<size_t>(stage)];
    bubble.seq = ++seq;
    v1::Edge* begin = PutEdge(stage, v1::EDGE_KIND_BUBBLE_BEGIN, bubble.begin_ns, iteration);
    begin->set_slot(bubble.slot);
    begin->set_offered(iteration >= kLearned);
    ++seq;
    PutEdge(stage, v1::EDGE_KIND_BUBBLE_END, bubble.end_ns, iteration)->set_slot(bubble.slot);
    auto& [sum, count] = length_means_[static_cast<size_t>(stage)][bubble.slot];
    sum += static_cast<double>(bubble.end_ns - bubble.begin_ns);
    ++count;
    return bubble;
  }

  int SlotOf(int stage, v1::BubbleClass bubble_class, int ordinal) {
    auto& slots = slots_[static_cast<size_t>(stage)];
    const auto [found, is_new] =
        slots.try_emplace({bubble_class, ordinal}, static_cast<int>(slots.size()));
    if (is_new) {
      v1::BubbleNamed* named = Put(now_ns_, 100 + stage)->mutable_bubble_named();
      named->set_rank_key(stage + 1);
      named->set_slot(found->second);
      named->set_bubble_class(bubble_class);
      named->set_ordinal(ordinal);
    }
    return found->second;
  }

  void LaunchTasks(int iteration) {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const SyntheticJob& job = options_.jobs[i];
      if (tasks_[i].is_attached || iteration < job.launched_at) continue;
      tasks_[i].is_attached = true;
      v1::TaskAttached* attached = Put(now_ns_, 0)->mutable_task_attached();
      attached->set_task_key(static_cast<int>(i) + 1);
      attached->mutable_attempt()->set_job_id(job.id);
      attached->mutable_attempt()->set_attempt(1);
      attached->mutable_attempt()->set_fence(i + 1);
      attached->set_job_name(job.name);
      attached->set_device(absl::StrCat("cpu", job.device));
      attached->set_memory_bytes(int64_t{512} << 20);
      attached->set_pid(1000 + static_cast<int>(i));
      attached->set_now_ns(now_ns_);
    }
  }

  void Fill(int stage, const std::vector<PlacedBubble>& bubbles, uint64_t iteration) {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const SyntheticJob& job = options_.jobs[i];
      TaskProgress& task = tasks_[i];
      const bool is_ready =
          static_cast<int>(iteration) >= job.launched_at + job.start_up_iterations;
      if (job.device != stage || !task.is_attached || task.is_done || !is_ready) continue;
      for (const PlacedBubble& bubble : bubbles) FillBubble(i, bubble, iteration);
      PutSample(i, bubbles.empty() ? now_ns_ : bubbles.back().end_ns);
      if (task.units >= job.units_max && !task.cut.has_value()) EndTask(i, PlacedEnd(i));
      return;  // one task at a time has the device
    }
  }

  void FillBubble(size_t i, const PlacedBubble& bubble, uint64_t iteration) {
    const SyntheticJob& job = options_.jobs[i];
    TaskProgress& task = tasks_[i];
    const auto& [sum, count] = length_means_[static_cast<size_t>(job.device)][bubble.slot];
    const auto latest_ns =
        static_cast<int64_t>(sum / count * options_.fill_to) - job.unit_ns * 3 / 4;
    int64_t at_ns = bubble.begin_ns + kHandOverNs;
    if (task.cut.has_value()) {
      if (at_ns + task.left_ns >= bubble.end_ns) return;
      at_ns += task.left_ns;
      task.cut->set_end_ns(at_ns);
      PutUnit(i, *std::exchange(task.cut, std::nullopt));
      at_ns += kBetweenUnitsNs;
    }
    while (task.units < job.units_max && at_ns < bubble.end_ns &&
           at_ns - bubble.begin_ns <= latest_ns) {
      v1::Unit unit;
      const auto length_ns = static_cast<int64_t>(static_cast<double>(job.unit_ns) * Noise());
      unit.set_task_key(static_cast<int>(i) + 1);
      unit.set_start_ns(at_ns);
      unit.set_end_ns(at_ns + length_ns);
      unit.set_cpu_ns(length_ns - length_ns / 100);
      unit.set_seq(bubble.seq);
      unit.set_seq_after(bubble.seq);
      unit.set_slot(bubble.slot);
      unit.set_bubble_begin_ns(bubble.begin_ns);
      unit.set_iteration(iteration);
      unit.set_latest_start_ns(latest_ns);
      unit.set_estimate_ns(job.unit_ns);
      unit.set_rank_key(job.device + 1);
      ++task.units;
      task.cpu_ns += unit.cpu_ns();
      if (unit.end_ns() > bubble.end_ns) {
        task.left_ns = unit.end_ns() - bubble.end_ns;
        task.cut = std::move(unit);
        return;
      }
      at_ns = unit.end_ns() + kBetweenUnitsNs;
      PutUnit(i, unit);
    }
  }

  void PutUnit(size_t i, const v1::Unit& unit) {
    *Put(unit.end_ns(), static_cast<int>(i) + 1)->mutable_unit() = unit;
    last_unit_ns_[i] = unit.end_ns();
  }

  int64_t PlacedEnd(size_t i) { return last_unit_ns_[i] + 3'000'000; }

  void PutSample(size_t i, int64_t now_ns) {
    v1::TaskSample* sample = Put(now_ns, static_cast<int>(i) + 1)->mutable_task_sample();
    sample->set_task_key(static_cast<int>(i) + 1);
    sample->set_now_ns(now_ns);
    const int64_t grown_bytes = std::min<int64_t>(tasks_[i].units * 1000, int64_t{120} << 20);
    sample->set_memory_bytes((int64_t{180} << 20) + grown_bytes);
    sample->set_cpu_ns(tasks_[i].cpu_ns);
  }

  void EndTask(size_t i, int64_t now_ns) {
    if (!tasks_[i].is_attached || tasks_[i].is_done) return;
    tasks_[i].is_done = true;
    v1::TaskEnded* ended = Put(now_ns, static_cast<int>(i) + 1)->mutable_task_ended();
    ended->set_task_key(static_cast<int>(i) + 1);
    ended->set_now_ns(now_ns);
    v1::AttemptEnded* end = ended->mutable_end();
    end->mutable_key()->set_job_id(options_.jobs[i].id);
    end->mutable_key()->set_attempt(1);
    end->mutable_key()->set_fence(i + 1);
    end->set_cause(v1::END_CAUSE_EXITED);
  }

  const SyntheticOptions options_;
  std::mt19937_64 random_;
  int64_t now_ns_;
  std::vector<uint32_t> seqs_;
  std::vector<std::map<std::pair<v1::BubbleClass, int>, int>> slots_;
  std::vector<std::map<int, std::pair<double, double>>> length_means_;  // sum, count
  std::vector<TaskProgress> tasks_;
  std::map<size_t, int64_t> last_unit_ns_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<v1::TraceRecord> SyntheticRecords(const SyntheticOptions& options) {
  return SyntheticRun(options).Run();
}

std::string SerializeTrace(const std::vector<v1::TraceRecord>& records) {
  std::string bytes;
  for (const v1::TraceRecord& record : records) {
    const std::string body = record.SerializeAsString();
    size_t length = body.size();
    for (; length >= 0x80; length >>= 7) bytes.push_back(static_cast<char>(length | 0x80));
    bytes.push_back(static_cast<char>(length));
    bytes += body;
  }
  return bytes;
}

}  // namespace pipefill
