// What agentd publishes for one bubble, into a window page of one's own. *Pure.*
#ifndef TESTS_BENCHMARKS_PUBLISHED_WINDOW_H_
#define TESTS_BENCHMARKS_PUBLISHED_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "agent/learn/bubble_predictor.h"
#include "client/pages/window_page.h"

namespace pipefill {

inline void Publish(const BubblePredictor& predictor, uint32_t slot, WindowPage* page) {
  const BubbleWindow& window = predictor.WindowOf(slot);
  WindowEntry& entry = page->entries[slot];
  for (size_t i = 0; i < kUnitLadder; ++i) {
    page->unit_ns[i].store(static_cast<uint64_t>(predictor.unit_ns()[i]));
    entry.latest_start_ns[i].store(window.latest_start_ns[i]);
  }
  entry.offered.store(window.is_offered ? 1 : 0);
}

}  // namespace pipefill

#endif  // TESTS_BENCHMARKS_PUBLISHED_WINDOW_H_
