// One fill task: runs units in the bubbles of its device, and accounts for them.
//
//   alone    no agentd: every unit starts at once
//   gated    attached: units start when the gate says so
//   refused  agentd started this process and attaching failed, or this is a forked child: no unit
//            ever starts, because an ungated one would slow the main job
//
// Within gated: parked while the heartbeat in the window page is stale, and while there is no
// connection to agentd. When the connection ends the task dials again, from within NextUnit, until
// the next agentd takes it over with new pages. Parked for good once that says that it does not
// know the attempt: the process then waits for its SIGTERM.
//
// Several tasks on one device take turns (see Turn): a unit starts only when the gate and the turn
// allow it. The turn is kept from unit to unit, and left to others whenever this task cannot start
// one.
//
// A program that has registered hooks (Saver) is asked for its state between units. That is a unit
// too, of a kind of its own (kSaveLabel), since it takes the processor; writing it to disk is none,
// for the task would hold the device's turn and use nothing. A save that is due starts where it
// fits; one that has not fitted for a whole further interval, or that agentd has ordered, starts
// where the program's next unit would, or in no bubble at all if filling was switched off or the
// main job has left. The last one, before the task leaves, waits kLastSaveWaitNs
// for such a bubble and is then done without: the device is being taken away, and agentd's grace
// runs.
//
// A unit is accounted by the CPU time of the process, never by wall time: see docs of UnitRecord.
//
// A slice is a unit of a program that does not know of units: it goes on until somebody stops it.
// It is as long as its owner lets it run, and then the time that the stopping takes; only that is
// learned.
//
// Thread-compatible: one thread at a time makes calls.
#ifndef CLIENT_FILL_FILL_TASK_H_
#define CLIENT_FILL_FILL_TASK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/attach/attach.h"
#include "client/fill/agent_link.h"
#include "client/fill/elastic_estimate.h"
#include "client/fill/gate.h"
#include "client/fill/saver.h"
#include "client/fill/slice.h"
#include "client/fill/turn.h"
#include "client/fill/unit_estimate.h"
#include "client/pages/task_page.h"
#include "client/pipefill.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/error.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

class FillTask {
 public:
  static constexpr size_t kLabels = 16;
  static constexpr uint32_t kSaveLabel = kLabels;
  static constexpr uint64_t kLastSaveWaitNs = 500'000'000;
  // How long the gate sleeps at most before it looks at everything again: a mode that changed, a
  // message of agentd, a heartbeat that came back. Nobody wakes it for these.
  static constexpr uint64_t kLookAgainNs = 100'000'000;
  // Between two attempts to reach the next agentd: the first pause, doubled up to the last.
  static constexpr uint64_t kRedialNs = 100'000'000;
  static constexpr uint64_t kRedialMaxNs = 1'000'000'000;
  // How long Attach waits for an agentd that is being replaced.
  static constexpr uint64_t kAttachPatienceNs = 60'000'000'000;

  // Clock and futex outlive the task. `unit_hint_ns` 0 = the default of UnitEstimate.
  struct Options {
    const Clock& clock;
    Futex& futex;
    uint64_t unit_hint_ns = 0;
  };

  // As whom and where a task attaches.
  struct Identity {
    AttachTaskRequest request;
    std::string socket;
  };

  enum class Outcome { kStop, kStarted, kLater };

  // Alone.
  explicit FillTask(const Options& options);
  // Gated, with pages as agentd gave them. Without an identity it stays parked once agentd is gone.
  FillTask(const Options& options, TaskPages pages, std::optional<Identity> identity);
  // Says kDone in the task page.
  ~FillTask();
  FillTask(const FillTask&) = delete;
  FillTask& operator=(const FillTask&) = delete;

  // Attaches as `environment` says; `socket` overrides its PIPEFILL_SOCKET unless it is empty.
  // Never nullptr: `*error` tells why the task is alone or refused, if not by the user's choice.
  static std::unique_ptr<FillTask> Attach(const Options& options, const std::string& socket,
                                          const Environment& environment, Error* error);
  // A task that never starts a unit.
  static std::unique_ptr<FillTask> Refuse(const Options& options);

  // Ends the unit in progress and starts the next one of kind `label` (the last kind if there are
  // not so many), waiting up to `timeout_ns` for leave. kLater: the time is over, or a signal
  // handler ran. kStop: the task should save and leave; stays so.
  Outcome NextUnit(uint32_t label, uint64_t timeout_ns);
  // The same with a unit of as many pieces as may start now, within `range`; `*size` says how many
  // after kStarted. Alone it is all of range.max. Elastic units have estimates of their own.
  Outcome NextElastic(uint32_t label, SizeRange range, uint64_t timeout_ns, uint32_t* size);
  // Also leaves the device to its other tasks. Does nothing when no unit is in progress.
  void EndUnit();

  // The same with a slice, which may run for `*run_ns`, within `range`, after kStarted. Then it is
  // to be continued, or to be stopped and ended.
  Outcome NextSlice(SliceRange range, uint64_t timeout_ns, uint64_t* run_ns);
  // Ends the slice in progress and starts the next one at once, without a stop in between, if that
  // may start now and no other task should go first. False: the slice goes on, stop it.
  // Never waits.
  bool ContinueSlice(uint64_t* run_ns);
  // Ends the slice; the stopping took so long, and so much CPU time.
  void EndSlice(uint64_t stop_wall_ns, uint64_t stop_cpu_ns);
  // Sleeps until the bubble of the unit in progress is over, as far as somebody wakes for it: its
  // end alone wakes nobody. Returns at once if it is over already.
  WaitResult WaitInUnit(uint64_t timeout_ns);
  // Registers the hooks and goes on from the job's newest checkpoint, if there is one. PF_REFUSED:
  // a later attempt of the job has taken over, no unit will start. PF_BAD_ARGUMENT: the program
  // refused its state. After PF_SYSTEM the task runs, from the beginning, without checkpoints.
  Error SetCheckpoint(SaveHooks hooks);
  Error SetSaver(std::unique_ptr<Saver> saver);
  // Ends the unit in progress and saves, if there is anything new; waits for a bubble as the last
  // save does. For programs that are about to leave.
  Error SaveNow();
  // While held nothing is saved: the program is in the middle of something, and its state does not
  // say of what.
  void HoldSaves(bool are_held) { are_saves_held_ = are_held; }

  bool is_gated() const { return gate_.has_value() && !is_refused(); }
  bool is_refused() const { return is_refused_ || (link_.has_value() && !link_->is_owner()); }
  pf_task_stats stats() const;
  // nullptr without hooks.
  const Saver* saver() const { return saver_.get(); }

 private:
  // What came of one try to start a unit.
  enum class Step { kStarted, kGateShut, kOthersTurn };

  static Error AttachPatiently(const AttachTaskRequest& request, const AgentAddress& address,
                               const Options& options, TaskPages* pages);
  static std::unique_ptr<FillTask> AttachGate(const Options& options, const std::string& socket,
                                              const Environment& environment, Error* error);
  TaskPage* page() const { return task_.As<TaskPage>(); }
  void TakePages(TaskPages pages);
  // Tries to reach the next agentd if it is time to. REQUIRES: the connection has ended.
  void Redial();
  Outcome Next(uint64_t timeout_ns);
  Outcome WaitForUnit(uint64_t timeout_ns);
  // How long the unit in progress or wanted should take.
  uint64_t ExpectedNs() const;
  void ShowExpected();
  Step AskGate();
  // Open, but not to this task.
  bool IsClosedToMe(const Opening& opening) const;
  Step TryStart();
  WaitResult WaitAfter(Step step, uint64_t timeout_ns);
  void OnDenied();
  void FetchSignal(uint64_t timeout_ns);
  // --- Saves ---
  bool IsSaveOrdered();
  // Whether the unit of a save has been started.
  bool TryStartSave(bool is_urgent);
  bool WaitForSave();
  // Does the rest: in the unit that has been started, or in none.
  Error RunSave(bool is_in_unit);
  void SaveIfDue();
  void SaveLast();
  void ShowSaves();
  bool is_stale() const { return saver_ != nullptr && saver_->is_stale(); }

  void StartUnit();
  void FinishUnit();
  void FinishUnitAt(uint64_t end_ns, uint64_t cpu_ns);
  void Publish(const UnitRecord& unit);

  const Clock& clock_;
  Futex& futex_;
  bool is_refused_ = false;

  // Set in gated tasks only. The gate looks at the pages of link_ and window_, the turn at
  // turn_page_.
  PageMapping window_;
  PageMapping task_;
  PageMapping turn_page_;
  std::optional<AgentLink> link_;
  std::optional<Gate> gate_;
  std::optional<Turn> turn_;
  std::optional<Identity> identity_;  // empty once nobody would know it
  uint64_t redial_at_ns_ = 0;
  uint64_t redial_pause_ns_ = kRedialNs;

  SaveSettings save_settings_;
  std::unique_ptr<Saver> saver_;
  uint64_t save_length_max_ns_ = UINT64_MAX;  // as which the unit of a save is taken at most
  struct Wanted {
    uint32_t label = 0;
    std::optional<SizeRange> range;
  };
  Wanted before_save_;  // what the program wants, while the unit of a save is in progress
  bool is_order_served_ = false;
  bool is_last_save_done_ = false;
  bool are_saves_held_ = false;

  std::array<UnitEstimate, kLabels + 1> estimates_;  // kSaveLabel is the last
  std::array<ElasticEstimate, kLabels> elastic_estimates_;
  // Of the unit in progress or wanted.
  uint32_t label_ = 0;
  std::optional<SizeRange> range_;    // of an elastic one
  std::optional<SliceRange> slices_;  // of a slice
  uint64_t run_ns_ = 0;
  uint32_t size_ = 1;
  bool in_unit_ = false;
  UnitRecord unit_;  // in progress
  uint64_t unit_cpu_begin_ns_ = 0;
  uint32_t pieces_on_page_ = 0;  // of elastic units, since the page was new
  pf_task_stats stats_ = {};
  pf_task_stats stats_before_page_ = {};  // agentd counts what came over earlier pages itself
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_FILL_TASK_H_
