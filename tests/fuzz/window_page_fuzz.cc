// The window page as a gate reads it: no unit may start later than any entry of the page allows,
// and nothing may start in a page that is closed.
#include <algorithm>
#include <memory>

#include "client/pages/window_page.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/page_script.h"

namespace pipefill {
namespace {

int64_t LargestStart(const WindowEntry& entry) {
  int64_t largest_ns = kNever;
  for (const PageField<int64_t>& start_ns : entry.latest_start_ns) {
    largest_ns = std::max(largest_ns, start_ns.load());
  }
  return largest_ns;
}

}  // namespace

// First the slot (4 bytes), the unit's length, the time and the iteration (8 each) that the gate
// asks for, then what lies where in the page.
bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const auto slot = reader.Take<uint32_t>();
  const auto length_ns = reader.Take<uint64_t>();
  const auto now_ns = reader.Take<uint64_t>();
  const auto iteration = reader.Take<uint64_t>();
  const auto page = std::make_unique<WindowPage>();
  while (!reader.is_at_end()) StoreFrom(reader, page.get());
  const int64_t start_ns = LatestStart(*page, slot, length_ns);
  CHECK(start_ns >= kNever);
  if (start_ns >= 0) {
    CHECK(slot < kBubbleSlots && page->entries[slot].offered.load() != 0);
    CHECK(start_ns <= LargestStart(page->entries[slot]));
    CHECK(length_ns <=
          std::max_element(page->unit_ns, page->unit_ns + kUnitLadder,
                           [](const auto& a, const auto& b) { return a.load() < b.load(); })
              ->load());
  }
  if (IsFillAllowed(*page, now_ns, iteration)) {
    CHECK(IsFillOn(*page, now_ns));
    CHECK(page->parked.load() == 0);
  }
  return start_ns >= 0;
}

std::vector<std::string> Seeds() {
  InputWriter seed;
  seed.Put(uint32_t{0}).Put(uint64_t{150'000}).Put(uint64_t{1'000}).Put(uint64_t{3});
  const auto store = [&](size_t offset, uint64_t value) {
    seed.Put(static_cast<uint32_t>(offset / sizeof(value))).Put(value);
  };
  store(offsetof(WindowPage, heartbeat_ns), 900);
  store(offsetof(WindowPage, mode), 3);
  store(offsetof(WindowPage, hold_out_block_iterations), uint64_t{8} << 32 | 1);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    store(offsetof(WindowPage, unit_ns) + 8 * i, 100'000 << i);
    store(offsetof(WindowPage, entries) + offsetof(WindowEntry, latest_start_ns) + 8 * i,
          5'000'000 - 300'000 * i);
  }
  store(offsetof(WindowPage, entries) + offsetof(WindowEntry, offered), 1);
  return {seed.Take()};
}

}  // namespace pipefill
