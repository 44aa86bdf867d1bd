#include "client/fill/fill_task.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <string>
#include <utility>

#include "client/pages/handshake.h"

namespace pipefill::sdk {
namespace {

// The device's main job leaves an idle-priority process little time; agentd itself answers at once.
constexpr uint64_t kAttachTimeoutNs = 10'000'000'000;

template <typename Number>
bool ParseNumber(const std::string& text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, *number);
  return failure == std::errc() && rest == end;
}

// Who this process is, as agentd told it through its environment.
Error ReadIdentity(const Environment& environment, AttachTaskRequest* request) {
  for (const char* name : {kJobVariable, kAttemptVariable, kFenceVariable}) {
    const std::string text = environment.Get(name);
    bool is_good = false;
    if (name == kJobVariable) is_good = ParseNumber(text, &request->job_id);
    if (name == kAttemptVariable) is_good = ParseNumber(text, &request->attempt);
    if (name == kFenceVariable) is_good = ParseNumber(text, &request->fence);
    if (!is_good) {
      return {PF_BAD_ARGUMENT, "attach refused: " + std::string(name) + "=" + text +
                                   "; agentd sets it to a number, leave it alone"};
    }
  }
  return {};
}

}  // namespace

FillTask::FillTask(const Options& options) : clock_(options.clock), futex_(options.futex) {
  estimates_.fill(UnitEstimate(options.unit_hint_ns));
  elastic_estimates_.fill(ElasticEstimate(options.unit_hint_ns));
}

FillTask::FillTask(const Options& options, TaskPages pages, std::optional<Identity> identity)
    : FillTask(options) {
  identity_ = std::move(identity);
  TakePages(std::move(pages));
}

void FillTask::TakePages(TaskPages pages) {
  gate_.reset();
  turn_.reset();
  link_.reset();
  window_ = std::move(pages.window);
  task_ = std::move(pages.task);
  stats_before_page_ = stats_;
  pieces_on_page_ = 0;
  link_.emplace(std::move(pages.connection), std::move(pages.signal), pages.signal_generation);
  turn_page_ = std::move(pages.turn);
  gate_.emplace(window_.As<const WindowPage>(), clock_, futex_);
  turn_.emplace(turn_page_.As<TurnPage>(), pages.turn_seat, clock_, futex_);
  ShowExpected();
  ShowSaves();
  page()->state.store(static_cast<uint32_t>(TaskState::kWaiting), std::memory_order_release);
}

void FillTask::Redial() {
  if (!identity_.has_value() || clock_.NowNs() < redial_at_ns_) return;
  TaskPages pages;
  const Error error =
      AttachTask(identity_->request, {.socket = identity_->socket, .timeout_ns = kLookAgainNs},
                 clock_, &pages);
  if (error.ok()) {
    redial_pause_ns_ = kRedialNs;
    turn_->StopWanting();  // in the page of the tasks that are still with the agentd before
    TakePages(std::move(pages));
    return turn_->Want(ExpectedNs());
  }
  if (pages.answer == AttachCode::kUnknown) identity_.reset();
  redial_at_ns_ = clock_.NowNs() + redial_pause_ns_;
  redial_pause_ns_ = std::min(2 * redial_pause_ns_, kRedialMaxNs);
}

FillTask::~FillTask() {
  EndUnit();
  if (!is_gated()) return;
  page()->state.store(static_cast<uint32_t>(TaskState::kDone), std::memory_order_release);
}

// The agentd that started this process may be gone by now, and the next one on its way.
Error FillTask::AttachPatiently(const AttachTaskRequest& request, const AgentAddress& address,
                                const Options& options, TaskPages* pages) {
  const uint64_t begin_ns = options.clock.NowNs();
  const std::atomic<uint32_t> nothing = 0;
  for (uint64_t pause_ns = kRedialNs;; pause_ns = std::min(2 * pause_ns, kRedialMaxNs)) {
    Error error = AttachTask(request, address, options.clock, pages);
    const bool is_late = options.clock.NowNs() - begin_ns >= kAttachPatienceNs;
    if (error.code != PF_NO_AGENT || is_late) return error;
    options.futex.Wait(nothing, 0, pause_ns);
  }
}

std::unique_ptr<FillTask> FillTask::Attach(const Options& options, const std::string& socket,
                                           const Environment& environment, Error* error) {
  std::unique_ptr<FillTask> task = AttachGate(options, socket, environment, error);
  const Error settings_error = ReadSaveSettings(environment, &task->save_settings_);
  if (error->ok()) *error = settings_error;
  return task;
}

std::unique_ptr<FillTask> FillTask::AttachGate(const Options& options, const std::string& socket,
                                               const Environment& environment, Error* error) {
  const AgentAddress address = {
      .socket = socket.empty() ? environment.Get(kSocketVariable) : socket,
      .timeout_ns = kAttachTimeoutNs};
  const bool is_started_by_agent = !environment.Get(kJobVariable).empty();
  *error = {};
  if (address.socket.empty()) return std::make_unique<FillTask>(options);
  if (!is_started_by_agent) {
    *error = {PF_BAD_ARGUMENT,
              std::string(kJobVariable) +
                  " is not set: agentd did not start this process, so it runs alone"};
    return std::make_unique<FillTask>(options);
  }
  AttachTaskRequest request = {};
  TaskPages pages;
  *error = ReadIdentity(environment, &request);
  if (error->ok()) *error = AttachPatiently(request, address, options, &pages);
  if (error->ok()) {
    return std::make_unique<FillTask>(options, std::move(pages),
                                      Identity{.request = request, .socket = address.socket});
  }
  return Refuse(options);
}

std::unique_ptr<FillTask> FillTask::Refuse(const Options& options) {
  auto task = std::make_unique<FillTask>(options);
  task->is_refused_ = true;
  return task;
}

FillTask::Outcome FillTask::NextUnit(uint32_t label, uint64_t timeout_ns) {
  FinishUnit();
  label_ = std::min<uint32_t>(label, kLabels - 1);
  range_.reset();
  slices_.reset();
  return Next(timeout_ns);
}

FillTask::Outcome FillTask::NextElastic(uint32_t label, SizeRange range, uint64_t timeout_ns,
                                        uint32_t* size) {
  FinishUnit();
  label_ = std::min<uint32_t>(label, kLabels - 1);
  range_ = range;
  slices_.reset();
  size_ = gate_.has_value() ? range.min : range.max;
  const Outcome outcome = Next(timeout_ns);
  *size = size_;
  return outcome;
}

FillTask::Outcome FillTask::NextSlice(SliceRange range, uint64_t timeout_ns, uint64_t* run_ns) {
  FinishUnit();
  label_ = 0;
  range_.reset();
  slices_ = range;
  run_ns_ = gate_.has_value() ? range.min_ns : range.max_ns;
  const Outcome outcome = Next(timeout_ns);
  *run_ns = run_ns_;
  return outcome;
}

bool FillTask::ContinueSlice(uint64_t* run_ns) {
  if (!in_unit_ || !slices_.has_value() || is_refused()) return false;
  UnitRecord next = {.start_ns = clock_.NowNs()};
  if (gate_.has_value()) {
    link_->Poll(0);
    if (link_->should_stop() || link_->is_closed()) return false;
    gate_->SetSignal(link_->signal(), link_->signal_generation());
    const std::optional<Opening> opening = gate_->Look();
    if (!opening.has_value() || IsClosedToMe(*opening)) return false;
    const auto fits = [&](uint64_t length_ns) { return gate_->Fits(*opening, length_ns); };
    run_ns_ = ChooseRun(*slices_, estimates_[label_].estimate_ns(), fits);
    if (!fits(ExpectedNs()) || !turn_->MayKeep(fits)) return false;
    if (gate_->Start(*opening, ExpectedNs(), &next) != GateAnswer::kStarted) return false;
  }
  const uint64_t cpu_ns = clock_.ProcessCpuNs();
  FinishUnitAt(next.start_ns, cpu_ns);
  unit_ = next;
  StartUnit();
  unit_cpu_begin_ns_ = cpu_ns;
  *run_ns = run_ns_;
  return true;
}

void FillTask::EndSlice(uint64_t stop_wall_ns, uint64_t stop_cpu_ns) {
  if (!in_unit_ || !slices_.has_value()) return;
  estimates_[label_].OnUnit({.wall_ns = stop_wall_ns,
                             .cpu_ns = stop_cpu_ns,
                             .is_overrun = gate_.has_value() && !gate_->IsStillOpen(unit_)});
  FinishUnit();
}

WaitResult FillTask::WaitInUnit(uint64_t timeout_ns) {
  if (gate_.has_value()) return gate_->WaitWhileOpen(unit_, timeout_ns);
  const std::atomic<uint32_t> nothing = 0;
  return futex_.Wait(nothing, 0, timeout_ns);
}

FillTask::Outcome FillTask::Next(uint64_t timeout_ns) {
  if (is_refused() || is_stale()) return Outcome::kStop;
  if (!gate_.has_value()) {
    SaveIfDue();
    if (is_stale()) return Outcome::kStop;
    unit_ = {.start_ns = clock_.NowNs()};
    StartUnit();
    return Outcome::kStarted;
  }
  const Outcome outcome = WaitForUnit(timeout_ns);
  if (outcome != Outcome::kStarted) turn_->StopWanting();
  return outcome;
}

FillTask::Outcome FillTask::WaitForUnit(uint64_t timeout_ns) {
  ShowExpected();
  turn_->Want(ExpectedNs());
  const uint64_t begin_ns = clock_.NowNs();
  for (;;) {
    const Step step = AskGate();
    if (link_->should_stop()) {
      SaveLast();
      return Outcome::kStop;
    }
    if (is_stale()) return Outcome::kStop;
    if (step == Step::kStarted) return Outcome::kStarted;
    const uint64_t waited_ns = clock_.NowNs() - begin_ns;
    if (waited_ns >= timeout_ns) return Outcome::kLater;
    const uint64_t left_ns = std::min(timeout_ns - waited_ns, kLookAgainNs);
    if (WaitAfter(step, left_ns) == WaitResult::kInterrupted) return Outcome::kLater;
  }
}

WaitResult FillTask::WaitAfter(Step step, uint64_t timeout_ns) {
  if (step == Step::kOthersTurn) return turn_->Wait(timeout_ns);
  turn_->GiveUp();
  return gate_->Wait(timeout_ns);
}

FillTask::Step FillTask::AskGate() {
  link_->Poll(0);
  if (link_->is_closed() && !link_->should_stop()) Redial();
  if (link_->should_stop() || link_->is_closed()) {
    gate_->SetSignal(nullptr, link_->signal_generation());
    return Step::kGateShut;
  }
  gate_->SetSignal(link_->signal(), link_->signal_generation());
  if (gate_->needs_signal()) {
    FetchSignal(kLookAgainNs);
    if (link_->should_stop()) return Step::kGateShut;
  }
  SaveIfDue();
  return is_stale() ? Step::kGateShut : TryStart();
}

bool FillTask::IsClosedToMe(const Opening& opening) const {
  return !opening.is_failure && turn_->IsClosed(opening.view.slot);
}

FillTask::Step FillTask::TryStart() {
  // Twice if the turn is new: until it came, other tasks may have used up the bubble.
  for (bool is_kept = false;;) {
    const std::optional<Opening> opening = gate_->Look();
    if (!opening.has_value()) return Step::kGateShut;
    if (IsClosedToMe(*opening)) {
      turn_->StopWanting();  // nobody should wait for this task
      return Step::kGateShut;
    }
    turn_->Want(ExpectedNs());
    const auto fits = [&](uint64_t length_ns) { return gate_->Fits(*opening, length_ns); };
    // The promise allows each unit a share of its own length, which for a long one is much. One
    // that leaves a third of the rest to smaller ones ends well inside the bubble; only the
    // smallest may use the promise up.
    const auto fits_well = [&](uint64_t length_ns) {
      return fits(length_ns + std::min(length_ns / 2, UINT64_MAX - length_ns));
    };
    if (range_.has_value()) size_ = elastic_estimates_[label_].Choose(*range_, fits_well);
    if (slices_.has_value()) {
      run_ns_ = ChooseRun(*slices_, estimates_[label_].estimate_ns(), fits);
    }
    const uint64_t expected_ns = ExpectedNs();
    if (fits(expected_ns)) {
      is_kept = turn_->is_holding();
      if (turn_->Take(opening->view.seq, fits) != TurnAnswer::kMine) return Step::kOthersTurn;
      if (!is_kept) continue;
    }
    const GateAnswer answer = gate_->Start(*opening, expected_ns, &unit_);
    if (answer == GateAnswer::kStarted) StartUnit();
    if (answer == GateAnswer::kDenied) OnDenied();
    return answer == GateAnswer::kStarted ? Step::kStarted : Step::kGateShut;
  }
}

uint64_t FillTask::ExpectedNs() const {
  if (label_ == kSaveLabel) {
    return std::min(estimates_[kSaveLabel].estimate_ns(), save_length_max_ns_);
  }
  if (range_.has_value()) return elastic_estimates_[label_].EstimateNs(size_);
  return (slices_.has_value() ? run_ns_ : 0) + estimates_[label_].estimate_ns();
}

void FillTask::ShowExpected() {
  page()->unit_estimate_ns.store(ExpectedNs(), std::memory_order_relaxed);
}

void FillTask::OnDenied() {
  if (range_.has_value()) {
    elastic_estimates_[label_].OnDenied();
  } else {
    estimates_[label_].OnDenied();
  }
  ++stats_.bubbles_denied;
  page()->bubbles_denied.store(stats_.bubbles_denied - stats_before_page_.bubbles_denied,
                               std::memory_order_relaxed);
  ShowExpected();
  turn_->Want(ExpectedNs());
}

void FillTask::FetchSignal(uint64_t timeout_ns) {
  link_->RequestSignal();
  gate_->SetSignal(nullptr, link_->signal_generation());  // Poll may unmap the page
  link_->Poll(timeout_ns);
  gate_->SetSignal(link_->is_closed() ? nullptr : link_->signal(), link_->signal_generation());
}

void FillTask::StartUnit() {
  in_unit_ = true;
  unit_cpu_begin_ns_ = clock_.ProcessCpuNs();
  if (!gate_.has_value()) return;
  ShowExpected();
  page()->last_slot.store(unit_.slot, std::memory_order_relaxed);
  page()->unit_start_ns.store(unit_.start_ns, std::memory_order_release);
  page()->state.store(static_cast<uint32_t>(TaskState::kInUnit), std::memory_order_release);
}

void FillTask::EndUnit() {
  FinishUnit();
  if (is_gated()) turn_->StopWanting();
}

void FillTask::FinishUnit() {
  if (!in_unit_ || is_refused()) return;
  const uint64_t cpu_ns = clock_.ProcessCpuNs();
  FinishUnitAt(clock_.NowNs(), cpu_ns);
  if (!gate_.has_value()) return;
  ShowExpected();
  page()->unit_start_ns.store(0, std::memory_order_release);
  page()->state.store(static_cast<uint32_t>(TaskState::kWaiting), std::memory_order_release);
}

void FillTask::FinishUnitAt(uint64_t end_ns, uint64_t cpu_ns) {
  in_unit_ = false;
  unit_.cpu_ns = cpu_ns - unit_cpu_begin_ns_;
  unit_.end_ns = end_ns;
  const UnitMeasure measure = {.wall_ns = unit_.end_ns - unit_.start_ns,
                               .cpu_ns = unit_.cpu_ns,
                               .is_overrun = gate_.has_value() && !gate_->IsStillOpen(unit_)};
  if (range_.has_value()) {
    elastic_estimates_[label_].OnUnit(size_, measure);
    pieces_on_page_ += size_;
  } else if (!slices_.has_value()) {
    estimates_[label_].OnUnit(measure);
  }
  if (saver_ != nullptr && label_ != kSaveLabel) saver_->OnUnit(measure.cpu_ns);
  ++stats_.units;
  stats_.unit_cpu_ns += measure.cpu_ns;
  stats_.unit_wall_ns += measure.wall_ns;
  if (!gate_.has_value()) return;
  turn_->OnUnit(measure.cpu_ns);
  Publish(unit_);
}

void FillTask::Publish(const UnitRecord& unit) {
  uint64_t words[kUnitWords];
  PackUnit(unit, words);
  page()->units.Push(words);
  page()->pieces_done.store(pieces_on_page_, std::memory_order_relaxed);
  page()->units_done.store(stats_.units - stats_before_page_.units, std::memory_order_relaxed);
  if (saver_ != nullptr) {
    page()->unsaved_ns.store(saver_->unsaved_ns(), std::memory_order_relaxed);
  }
}

pf_task_stats FillTask::stats() const {
  pf_task_stats stats = stats_;
  const ElasticEstimate& elastic = elastic_estimates_[0];
  stats.unit_estimate_ns = elastic.is_known() ? elastic.SmallestNs() : estimates_[0].estimate_ns();
  return stats;
}

}  // namespace pipefill::sdk
