// Writes what agentd allows on one device into its window page, and makes the pages that ranks and
// tasks write themselves.
//
//   rank attaches:  MakeSignalPage -> descriptor to the rank -> (Mapped) SealWriter
//                   -> WindowWriter::RaiseSignalGeneration -> tasks ask for the new page
//   rank leaves:    RaiseSignalGeneration
//
// Thread-compatible: one loop writes. Readers are other processes.
#ifndef AGENT_PAGE_WRITER_H_
#define AGENT_PAGE_WRITER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/learn/bubble_predictor.h"
#include "client/pages/hold_out.h"
#include "client/pages/signal_page.h"
#include "client/pages/window_page.h"
#include "common/instant.h"
#include "common/sealed_page.h"

namespace pipefill {

struct WindowOptions {
  HoldOut hold_out;
  // How long a gate spins before it sleeps.
  absl::Duration spin = absl::ZeroDuration();
  // Must be that of the predictors whose windows are published.
  UnitLadder unit_ns = kDefaultUnitLadder;
};

class WindowWriter {
 public:
  // A page that is sealed at once: nobody else can ever write it. It starts closed: mode kOff, no
  // heartbeat, no gates, nothing offered, generation 0.
  static absl::StatusOr<std::unique_ptr<WindowWriter>> Create(const WindowOptions& options);

  // For handing out; stays owned by the writer.
  int descriptor() const { return page_.descriptor(); }

  // At least every kHeartbeatStaleNs / 4, or gates close.
  void Heartbeat(Instant now);
  // Of the attached rank; kOff while there is none.
  void SetMode(FillMode mode);
  // Parked = no unit starts, whatever else is published.
  void SetParked(bool is_parked);
  // Tasks attached on this device.
  void SetGates(uint32_t gates);

  // Another signal page (or none) takes the place of the one before. Withdraws all windows, since
  // slots mean something else now, then raises the generation and wakes every task that waits on
  // it. Returns the new generation, from 1.
  uint32_t RaiseSignalGeneration();
  uint32_t signal_generation() const;

  // REQUIRES: slot < kBubbleSlots.
  void Publish(uint32_t slot, const BubbleWindow& window);
  // The main job stands still at this signal word: one open-ended bubble for units of at most
  // `unit_max`. Whatever else is published stays, and so does the mode.
  void OpenFailure(uint32_t seq, Instant begin, absl::Duration unit_max);
  void CloseFailure();

  // Whether units may start in this bubble as the page stands: offered, mode kFill, not parked.
  // Hold-outs are another matter. False for slots out of range.
  bool IsOffered(uint32_t slot) const;

 private:
  explicit WindowWriter(SealedPage page) : page_(std::move(page)) {}
  WindowPage& window() const { return *page_.As<WindowPage>(); }

  SealedPage page_;
};

// Wakes the gates that sleep until the rank's next edge.
void WakeGates(const SignalPage& page);

// Zeroed pages with their header filled. Not sealed against writing: call SealWriter once the rank
// or task has mapped it; never on a turn page, which all tasks of a device write.
absl::StatusOr<SealedPage> MakeSignalPage();
absl::StatusOr<SealedPage> MakeTaskPage();
absl::StatusOr<SealedPage> MakeTurnPage();

// Wakes whoever waits at a word of a page, in all processes.
void WakeAll(const PageField<uint32_t>& word);

}  // namespace pipefill

#endif  // AGENT_PAGE_WRITER_H_
