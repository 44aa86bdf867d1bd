// pipefill SDK for C++: owners of the handles of pipefill.h, which documents units, errors and
// modes.
//
//   pipefill::MainJob job({.main_job = "gpt", .rank = 0, .ranks = 2, .stage = 0, .stages = 2});
//   for (uint64_t step = 0; step < steps; ++step) {
//     pipefill::Iteration iteration(job, step);
//     { pipefill::Bubble bubble(job, PF_BUBBLE_HEAD, 0);  Receive(); }
//     { pipefill::Chunk chunk(job, PF_CHUNK_FORWARD); Forward(); }      // chunks instead of
//     bubbles
//   }
//
//   pipefill::FillTask task;
//   if (task.is_refused()) return 1;
//   task.SetCheckpoint({.save = [&] { return work.State(); },             // before the first unit
//                       .load = [&](std::string_view state) { return work.Restore(state); }});
//   while (HasWork() && task.NextUnit()) DoUnit();
//   while (const uint32_t n = task.NextElastic(1, 64)) DoPieces(n);      // as many as fit
//   task.EndUnit();
//
// Header only; nothing throws.
//
// Thread-compatible: calls on one MainJob or FillTask, also through the guards, must not overlap.
#ifndef CLIENT_PIPEFILL_HPP_
#define CLIENT_PIPEFILL_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/pipefill.h"

namespace pipefill {
inline namespace sdk_v1 {

struct MainJobOptions {
  std::string main_job = {};  // the same on all ranks
  int rank = 0;
  int ranks = 1;
  int stage = 0;
  int stages = 1;
  std::string device = {};  // empty = PIPEFILL_DEVICE, else by CPU affinity
  std::string socket = {};  // empty = PIPEFILL_SOCKET, else the default
  int mode = PF_MODE_DEFAULT;
  uint32_t budget_ppm = 0;  // 0 = as agentd has it (1 %)
};

// Attaches in the constructor, detaches in the destructor.
class MainJob {
 public:
  explicit MainJob(const MainJobOptions& options) {
    pf_attach_options raw = {};
    raw.size_bytes = sizeof(raw);
    raw.main_job = options.main_job.c_str();
    raw.rank = options.rank;
    raw.ranks = options.ranks;
    raw.stage = options.stage;
    raw.stages = options.stages;
    raw.device = options.device.empty() ? nullptr : options.device.c_str();
    raw.socket = options.socket.empty() ? nullptr : options.socket.c_str();
    raw.mode = options.mode;
    raw.budget_ppm = options.budget_ppm;
    code_ = pf_attach(&raw, &handle_);
    if (code_ != PF_OK) error_ = pf_last_error();
  }
  MainJob(MainJob&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        code_(other.code_),
        error_(std::move(other.error_)) {}
  MainJob& operator=(MainJob&&) = delete;
  ~MainJob() { pf_detach(handle_); }

  // Result of attaching, one of PF_*; after an error all calls do nothing.
  int code() const { return code_; }
  const std::string& error() const { return error_; }
  bool is_attached() const { return pf_is_attached(handle_) == 1; }

  void BeginIteration(uint64_t iteration) { pf_iteration_begin(handle_, iteration); }
  void EndIteration() { pf_iteration_end(handle_); }
  void BeginBubble(int bubble_class, uint32_t ordinal) {
    pf_bubble_begin(handle_, bubble_class, ordinal);
  }
  void EndBubble() { pf_bubble_end(handle_); }
  void BeginChunk(int chunk_kind) { pf_chunk_begin(handle_, chunk_kind); }
  void EndChunk() { pf_chunk_end(handle_); }
  void HintMemory(uint64_t free_bytes) { pf_memory_hint(handle_, free_bytes); }

 private:
  pf_main_job* handle_ = nullptr;
  int code_ = PF_OK;
  std::string error_;
};

// One training step, from here to the end of the scope. The job must outlive it; so for the other
// two.
class Iteration {
 public:
  Iteration(MainJob& job, uint64_t iteration) : job_(job) { job_.BeginIteration(iteration); }
  ~Iteration() { job_.EndIteration(); }
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

 private:
  MainJob& job_;
};

// The device idles from here to the end of the scope.
class Bubble {
 public:
  Bubble(MainJob& job, int bubble_class, uint32_t ordinal) : job_(job) {
    job_.BeginBubble(bubble_class, ordinal);
  }
  ~Bubble() { job_.EndBubble(); }
  Bubble(const Bubble&) = delete;
  Bubble& operator=(const Bubble&) = delete;

 private:
  MainJob& job_;
};

// The device computes from here to the end of the scope.
class Chunk {
 public:
  Chunk(MainJob& job, int chunk_kind) : job_(job) { job_.BeginChunk(chunk_kind); }
  ~Chunk() { job_.EndChunk(); }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

 private:
  MainJob& job_;
};

// The state of a fill job, for its next attempt: all that decides what the remaining units do.
// `load` gets what a `save` has returned; false: it is of no use.
struct CheckpointHooks {
  std::function<std::string()> save;
  std::function<bool(std::string_view state)> load;
  // May be empty. After a save: makes durable what the state refers to, such as files.
  std::function<bool()> sync = nullptr;
};

// Attaches this process as a fill task in the constructor, detaches in the destructor.
class FillTask {
 public:
  explicit FillTask(uint64_t unit_hint_ns = 0) {
    pf_task_options raw = {};
    raw.size_bytes = sizeof(raw);
    raw.unit_hint_ns = unit_hint_ns;
    code_ = pf_task_attach(&raw, &handle_);
    if (code_ != PF_OK) error_ = pf_last_error();
  }
  FillTask(FillTask&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        code_(other.code_),
        error_(std::move(other.error_)),
        hooks_(std::move(other.hooks_)) {}
  FillTask& operator=(FillTask&&) = delete;
  ~FillTask() { pf_task_detach(handle_); }

  int code() const { return code_; }
  const std::string& error() const { return error_; }
  bool is_gated() const { return pf_task_is_gated(handle_) == 1; }
  // agentd started this process but no unit will ever start: leave with an error.
  bool is_refused() const { return pf_task_is_refused(handle_) == 1; }

  // See pf_task_next_unit: false means save and leave.
  bool NextUnit(uint32_t label = 0) { return pf_task_next_unit(handle_, label) == 1; }
  // See pf_task_next_elastic: the size of the unit that started, in [n_min, n_max]; 0 means save
  // and leave.
  uint32_t NextElastic(uint32_t n_min, uint32_t n_max, uint32_t label = 0) {
    uint32_t n = 0;
    return pf_task_next_elastic(handle_, label, n_min, n_max, &n) == 1 ? n : 0;
  }
  void EndUnit() { pf_task_end_unit(handle_); }

  // See pf_task_set_checkpoint: has called `load` by the time that it returns, if there is anything
  // to go on from. The hooks are needed as long as the task is. An exception in one fails it.
  int SetCheckpoint(CheckpointHooks hooks) {
    hooks_ = std::make_unique<CheckpointHooks>(std::move(hooks));
    pf_checkpoint_hooks raw = {};
    raw.size_bytes = sizeof(raw);
    raw.context = hooks_.get();
    raw.save = &FillTask::CallSave;
    raw.load = &FillTask::CallLoad;
    raw.sync = &FillTask::CallSync;
    const int code = pf_task_set_checkpoint(handle_, &raw);
    error_ = code == PF_OK ? "" : pf_last_error();
    return code;
  }
  // See pf_task_hold_saves.
  void HoldSaves(bool held) { pf_task_hold_saves(handle_, held ? 1 : 0); }
  // See pf_task_save.
  int Save() { return pf_task_save(handle_); }
  pf_checkpoint_stats checkpoint_stats() const {
    pf_checkpoint_stats stats = {};
    pf_task_get_checkpoint_stats(handle_, &stats);
    return stats;
  }
  pf_task_stats stats() const {
    pf_task_stats stats = {};
    pf_task_get_stats(handle_, &stats);
    return stats;
  }

 private:
  static int CallSave(void* context, pf_checkpoint* checkpoint) {
    try {
      const std::string state = static_cast<const CheckpointHooks*>(context)->save();
      return pf_checkpoint_write(checkpoint, state.data(), state.size());
    } catch (...) {
      return PF_SYSTEM;
    }
  }
  static int CallLoad(void* context, const void* data, uint64_t size_bytes) {
    try {
      const std::string_view state(static_cast<const char*>(data), size_bytes);
      return static_cast<const CheckpointHooks*>(context)->load(state) ? 0 : 1;
    } catch (...) {
      return 1;
    }
  }

  static int CallSync(void* context) {
    try {
      const std::function<bool()>& sync = static_cast<const CheckpointHooks*>(context)->sync;
      return sync == nullptr || sync() ? 0 : 1;
    } catch (...) {
      return 1;
    }
  }

  pf_task* handle_ = nullptr;
  int code_ = PF_OK;
  std::string error_;
  std::unique_ptr<CheckpointHooks> hooks_;  // stays where it is when the task is moved
};

// See pf_task_config and pf_task_batch_size.
inline std::string TaskConfig() { return pf_task_config(); }
inline uint64_t TaskBatchSize(uint64_t otherwise) { return pf_task_batch_size(otherwise); }

}  // namespace sdk_v1
}  // namespace pipefill

#endif  // CLIENT_PIPEFILL_HPP_
