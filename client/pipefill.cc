// The C ABI: checks arguments, keeps exceptions inside, and hands over to the classes.
#include "client/pipefill.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "client/fill/fill_task.h"
#include "client/main_job/main_job.h"
#include "client/pages/page_layout.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/error.h"
#include "client/platform/futex.h"
#include "client/profile/profile_recorder.h"
#include "client/profile/task_config.h"
#include "client/version.h"

namespace {

using pipefill::sdk::Error;
using pipefill::sdk::FillTask;
using pipefill::sdk::MainJob;
using pipefill::sdk::NumberIn;
using pipefill::sdk::ProcessEnvironment;
using pipefill::sdk::ProfileRecorder;
using pipefill::sdk::SaveHooks;
using pipefill::sdk::Saver;
using pipefill::sdk::SizeRange;
using pipefill::sdk::SystemClock;
using pipefill::sdk::SystemFutex;

constexpr size_t kErrorBytes = 512;
thread_local char last_error[kErrorBytes] = "";

int Report(int code, const char* text) noexcept {
  snprintf(last_error, kErrorBytes, "%s", text);
  return code;
}

int Report(const Error& error) noexcept { return Report(error.code, error.text.c_str()); }

// Copies what caller and library both know of an options struct that may have grown since.
template <typename Options>
bool CopyOptions(const Options* options, Options* copy) noexcept {
  if (options == nullptr || options->size_bytes < sizeof(Options)) return false;
  memcpy(copy, options, sizeof(Options));
  return true;
}

int UnitCode(FillTask::Outcome outcome) noexcept {
  switch (outcome) {
    case FillTask::Outcome::kStop:
      return 0;
    case FillTask::Outcome::kStarted:
      return 1;
    case FillTask::Outcome::kLater:
      break;
  }
  return 2;
}

}  // namespace

struct pf_checkpoint {
  std::string* blob;
};

namespace {

SaveHooks WrapHooks(const pf_checkpoint_hooks& hooks) {
  return {.save =
              [hooks](std::string* blob) {
                pf_checkpoint checkpoint = {.blob = blob};
                return hooks.save(hooks.context, &checkpoint) == 0;
              },
          .load =
              [hooks](std::string_view state) {
                return hooks.load(hooks.context, state.data(), state.size()) == 0;
              },
          .sync = [hooks] { return hooks.sync == nullptr || hooks.sync(hooks.context) == 0; }};
}

}  // namespace

struct pf_main_job {
  SystemClock clock;
  SystemFutex futex;
  MainJob job{clock, futex};
};

struct pf_task {
  SystemClock clock;
  SystemFutex futex;
  std::unique_ptr<FillTask> task;
  std::unique_ptr<ProfileRecorder> profile;  // of a task that is measured alone

  void EndUnit() {
    task->EndUnit();
    if (profile != nullptr) profile->OnStats(task->stats());
  }
};

namespace {

// Measures the task if `pipefill profile` has asked for it.
void StartProfile(pf_task* task) {
  const std::string folder = ProcessEnvironment().Get(pipefill::sdk::kProfileVariable);
  if (folder.empty() || task->task->is_gated() || task->task->is_refused()) return;
  task->profile =
      std::make_unique<ProfileRecorder>(task->clock, folder + "/units." + std::to_string(getpid()));
}

// PIPEFILL_CONFIG as it is now; "" if memory runs out.
const char* TaskConfig() noexcept {
  static const std::string* const config = [] {
    try {
      return new std::string(ProcessEnvironment().Get(pipefill::sdk::kConfigVariable));
    } catch (...) {
      return static_cast<std::string*>(nullptr);
    }
  }();
  return config == nullptr ? "" : config->c_str();
}

}  // namespace

extern "C" {

const char* pf_error_text(int code) {
  switch (code) {
    case PF_OK:
      return "success";
    case PF_NO_AGENT:
      return "no agentd on this node; running without it";
    case PF_BAD_VERSION:
      return "agentd speaks another page version; use the SDK that came with it";
    case PF_BAD_ARGUMENT:
      return "an argument makes no sense";
    case PF_REFUSED:
      return "agentd refused";
    case PF_SYSTEM:
      return "a system call failed";
    default:
      return "unknown result code";
  }
}

const char* pf_last_error(void) { return last_error; }

const char* pf_version(void) { return PIPEFILL_VERSION; }

uint32_t pf_page_version(void) { return pipefill::kPageVersion; }

int pf_attach(const pf_attach_options* options, pf_main_job** job) {
  if (job == nullptr) return Report(PF_BAD_ARGUMENT, "attach refused: job is NULL");
  *job = new (std::nothrow) pf_main_job;
  if (*job == nullptr) return Report(PF_SYSTEM, "attach: out of memory");
  pf_attach_options copy = {};
  if (!CopyOptions(options, &copy)) {
    return Report(PF_BAD_ARGUMENT, "attach refused: options.size_bytes is not that of the struct");
  }
  try {
    return Report((*job)->job.Attach(copy, ProcessEnvironment()));
  } catch (...) {
    return Report(PF_SYSTEM, "attach: out of memory");
  }
}

int pf_is_attached(const pf_main_job* job) {
  return job != nullptr && job->job.IsAttached() ? 1 : 0;
}

void pf_iteration_begin(pf_main_job* job, uint64_t iteration) {
  if (job != nullptr) job->job.IterationBegin(iteration);
}

void pf_iteration_end(pf_main_job* job) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->IterationEnd();
}

void pf_bubble_begin(pf_main_job* job, int bubble_class, uint32_t ordinal) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->BubbleBegin(bubble_class, ordinal);
}

void pf_bubble_end(pf_main_job* job) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->BubbleEnd();
}

void pf_chunk_begin(pf_main_job* job, int chunk_kind) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->ChunkBegin(chunk_kind);
}

void pf_chunk_end(pf_main_job* job) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->ChunkEnd();
}

void pf_memory_hint(pf_main_job* job, uint64_t free_bytes) {
  if (job == nullptr || job->job.recorder() == nullptr) return;
  job->job.recorder()->MemoryHint(free_bytes);
}

void pf_detach(pf_main_job* job) {
  if (job != nullptr && job->job.recorder() != nullptr) job->job.recorder()->Detach();
  delete job;
}

int pf_task_attach(const pf_task_options* options, pf_task** task) {
  if (task == nullptr) return Report(PF_BAD_ARGUMENT, "attach refused: task is NULL");
  *task = nullptr;
  pf_task_options copy = {};
  const bool is_good = CopyOptions(options, &copy);
  try {
    auto made = std::make_unique<pf_task>();
    const FillTask::Options settings = {
        .clock = made->clock, .futex = made->futex, .unit_hint_ns = copy.unit_hint_ns};
    Error error;
    if (is_good) {
      const std::string socket = copy.socket == nullptr ? "" : copy.socket;
      made->task = FillTask::Attach(settings, socket, ProcessEnvironment(), &error);
    } else {
      made->task = FillTask::Refuse(settings);
      error = {PF_BAD_ARGUMENT, "attach refused: options.size_bytes is not that of the struct"};
    }
    StartProfile(made.get());
    *task = made.release();
    return Report(error);
  } catch (...) {
    return Report(PF_SYSTEM, "attach: out of memory");
  }
}

int pf_task_is_gated(const pf_task* task) {
  return task != nullptr && task->task->is_gated() ? 1 : 0;
}

int pf_task_is_refused(const pf_task* task) {
  return task == nullptr || task->task->is_refused() ? 1 : 0;
}

int pf_task_next_unit(pf_task* task, uint32_t label) {
  int code = 2;
  while (code == 2) code = pf_task_wait_unit(task, label, UINT64_MAX);
  return code;
}

int pf_task_wait_unit(pf_task* task, uint32_t label, uint64_t timeout_ns) {
  if (task == nullptr) return 0;
  try {
    if (task->profile != nullptr) {
      task->EndUnit();
      task->profile->Begin(label, 0);
    }
    return UnitCode(task->task->NextUnit(label, timeout_ns));
  } catch (...) {
    return 0;
  }
}

int pf_task_next_elastic(pf_task* task, uint32_t label, uint32_t n_min, uint32_t n_max,
                         uint32_t* n) {
  int code = 2;
  while (code == 2) code = pf_task_wait_elastic(task, label, n_min, n_max, UINT64_MAX, n);
  return code;
}

int pf_task_wait_elastic(pf_task* task, uint32_t label, uint32_t n_min, uint32_t n_max,
                         uint64_t timeout_ns, uint32_t* n) {
  if (task == nullptr || n == nullptr) return 0;
  SizeRange range;
  range.min = std::max(n_min, 1u);
  range.max = std::max(n_max, range.min);
  try {
    if (task->profile != nullptr) {
      task->EndUnit();
      range.max = task->profile->ChooseSize(range.min, range.max);
      task->profile->Begin(label, range.max);
    }
    return UnitCode(task->task->NextElastic(label, range, timeout_ns, n));
  } catch (...) {
    return 0;
  }
}

void pf_task_end_unit(pf_task* task) {
  try {
    if (task != nullptr) task->EndUnit();
  } catch (...) {
    // The unit has ended; what is lost is its place in a profile.
  }
}

int pf_checkpoint_write(pf_checkpoint* checkpoint, const void* data, uint64_t size_bytes) {
  if (checkpoint == nullptr || (data == nullptr && size_bytes > 0)) return PF_BAD_ARGUMENT;
  try {
    checkpoint->blob->append(static_cast<const char*>(data), size_bytes);
    return PF_OK;
  } catch (...) {
    return PF_SYSTEM;
  }
}

int pf_task_set_checkpoint(pf_task* task, const pf_checkpoint_hooks* hooks) {
  pf_checkpoint_hooks copy = {};
  if (task == nullptr || !CopyOptions(hooks, &copy) || copy.save == nullptr ||
      copy.load == nullptr) {
    return Report(PF_BAD_ARGUMENT,
                  "set checkpoint: task or a hook is NULL, or hooks.size_bytes is not that of the "
                  "struct");
  }
  try {
    return Report(task->task->SetCheckpoint(WrapHooks(copy)));
  } catch (...) {
    return Report(PF_SYSTEM, "set checkpoint: out of memory");
  }
}

int pf_task_save(pf_task* task) {
  if (task == nullptr) return PF_OK;
  try {
    return Report(task->task->SaveNow());
  } catch (...) {
    return Report(PF_SYSTEM, "save checkpoint: out of memory");
  }
}

void pf_task_hold_saves(pf_task* task, int held) {
  if (task != nullptr) task->task->HoldSaves(held != 0);
}

void pf_task_get_checkpoint_stats(const pf_task* task, pf_checkpoint_stats* stats) {
  if (stats == nullptr) return;
  *stats = {};
  const Saver* saver = task == nullptr ? nullptr : task->task->saver();
  if (saver == nullptr) return;
  const Saver::Numbers& numbers = saver->numbers();
  *stats = {.saves = numbers.done,
            .saves_failed = numbers.failed,
            .save_ns = numbers.cost_ns,
            .unsaved_ns = saver->unsaved_ns(),
            .resumed = numbers.resumed_from.has_value() ? 1u : 0u,
            .resumed_useful_ns = numbers.resumed_useful_ns};
}

void pf_task_get_stats(const pf_task* task, pf_task_stats* stats) {
  if (stats == nullptr) return;
  *stats = task == nullptr ? pf_task_stats{} : task->task->stats();
}

void pf_task_detach(pf_task* task) {
  pf_task_end_unit(task);
  delete task;
}

const char* pf_task_config(void) { return TaskConfig(); }

uint64_t pf_task_batch_size(uint64_t otherwise) {
  return NumberIn(TaskConfig(), "batch_size", otherwise);
}

}  // extern "C"
