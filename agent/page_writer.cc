#include "agent/page_writer.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>

#include "client/pages/task_page.h"
#include "client/pages/turn_page.h"
#include "common/check.h"
#include "common/status.h"

namespace pipefill {
namespace {

template <typename Page>
absl::StatusOr<SealedPage> MakePage(const char* name, PageKind kind) {
  ASSIGN_OR_RETURN(SealedPage page, SealedPage::Create(name, sizeof(Page)));
  PageHeader& header = page.As<Page>()->header;
  header.magic = static_cast<uint32_t>(kind);
  header.version = kPageVersion;
  header.size_bytes = sizeof(Page);
  return page;
}

}  // namespace

absl::StatusOr<SealedPage> MakeSignalPage() {
  return MakePage<SignalPage>("pipefill-signal", PageKind::kSignal);
}

absl::StatusOr<SealedPage> MakeTaskPage() {
  return MakePage<TaskPage>("pipefill-task", PageKind::kTask);
}

absl::StatusOr<SealedPage> MakeTurnPage() {
  return MakePage<TurnPage>("pipefill-turn", PageKind::kTurn);
}

// Pages are shared between processes, so the futex is not a private one.
void WakeAll(const PageField<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

absl::StatusOr<std::unique_ptr<WindowWriter>> WindowWriter::Create(const WindowOptions& options) {
  ASSIGN_OR_RETURN(SealedPage page, MakePage<WindowPage>("pipefill-window", PageKind::kWindow));
  WindowPage& window = *page.As<WindowPage>();
  window.mode.store(static_cast<uint32_t>(FillMode::kOff), std::memory_order_release);
  window.hold_out_block_iterations.store(options.hold_out.block_iterations,
                                         std::memory_order_relaxed);
  window.hold_out_one_in.store(options.hold_out.one_in, std::memory_order_relaxed);
  window.hold_out_one_in_late.store(options.hold_out.one_in_late, std::memory_order_relaxed);
  window.hold_out_early_iterations.store(options.hold_out.early_iterations,
                                         std::memory_order_relaxed);
  window.spin_ns.store(static_cast<uint64_t>(absl::ToInt64Nanoseconds(options.spin)),
                       std::memory_order_relaxed);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    window.unit_ns[i].store(static_cast<uint64_t>(options.unit_ns[i]), std::memory_order_relaxed);
  }
  RETURN_IF_ERROR(page.SealWriter());
  return std::unique_ptr<WindowWriter>(new WindowWriter(std::move(page)));
}

void WindowWriter::Heartbeat(Instant now) {
  window().heartbeat_ns.store(static_cast<uint64_t>(now.ns()), std::memory_order_release);
}

void WindowWriter::SetMode(FillMode mode) {
  window().mode.store(static_cast<uint32_t>(mode), std::memory_order_release);
}

void WindowWriter::SetParked(bool is_parked) {
  window().parked.store(is_parked ? 1 : 0, std::memory_order_release);
}

void WindowWriter::SetGates(uint32_t gates) {
  window().gates.store(gates, std::memory_order_release);
}

uint32_t WindowWriter::RaiseSignalGeneration() {
  WindowPage& page = window();
  for (WindowEntry& entry : page.entries) entry.offered.store(0, std::memory_order_release);
  const uint32_t generation = page.signal_generation.load(std::memory_order_relaxed) + 1;
  page.signal_generation.store(generation, std::memory_order_release);
  WakeAll(page.signal_generation);
  return generation;
}

uint32_t WindowWriter::signal_generation() const {
  return window().signal_generation.load(std::memory_order_relaxed);
}

void WindowWriter::Publish(uint32_t slot, const BubbleWindow& published) {
  CHECK(slot < kBubbleSlots);
  WindowEntry& entry = window().entries[slot];
  if (!published.is_offered) entry.offered.store(0, std::memory_order_release);
  entry.memory_free_bytes.store(published.memory_free_bytes, std::memory_order_release);
  entry.earliest_start_ns.store(published.earliest_start_ns, std::memory_order_release);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    entry.latest_start_ns[i].store(published.latest_start_ns[i], std::memory_order_release);
  }
  if (published.is_offered) entry.offered.store(1, std::memory_order_release);
}

void WindowWriter::OpenFailure(uint32_t seq, Instant begin, absl::Duration unit_max) {
  WindowPage& page = window();
  page.failure_unit_max_ns.store(static_cast<uint64_t>(absl::ToInt64Nanoseconds(unit_max)),
                                 std::memory_order_release);
  page.failure_seq.store(seq, std::memory_order_release);
  page.failure_begin_ns.store(static_cast<uint64_t>(begin.ns()), std::memory_order_release);
}

void WindowWriter::CloseFailure() { window().failure_begin_ns.store(0, std::memory_order_release); }

void WakeGates(const SignalPage& page) { WakeAll(page.seq); }

bool WindowWriter::IsOffered(uint32_t slot) const {
  if (slot >= kBubbleSlots) return false;
  const WindowPage& page = window();
  return page.entries[slot].offered.load(std::memory_order_relaxed) != 0 &&
         page.mode.load(std::memory_order_relaxed) == static_cast<uint32_t>(FillMode::kFill) &&
         page.parked.load(std::memory_order_relaxed) == 0;
}

}  // namespace pipefill
