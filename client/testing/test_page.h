// A shared page as agentd makes it: a memfd of the page's size, sealed against resizing, with its
// header written, mapped here for writing.
//
// Thread-compatible.
#ifndef CLIENT_TESTING_TEST_PAGE_H_
#define CLIENT_TESTING_TEST_PAGE_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "client/pages/page_layout.h"
#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "client/pages/turn_page.h"
#include "client/pages/window_page.h"
#include "client/platform/descriptor.h"

namespace pipefill::sdk {

template <typename Page, PageKind kKind>
class TestPage {
 public:
  // With `is_sealed` false the page lacks the seals that the SDK asks for.
  explicit TestPage(bool is_sealed = true)
      : descriptor_(memfd_create("pipefill-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (ftruncate(descriptor_.get(), sizeof(Page)) != 0) std::abort();
    void* data =
        mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
    if (data == MAP_FAILED) std::abort();
    page_ = static_cast<Page*>(data);
    page_->header = {
        .magic = static_cast<uint32_t>(kKind), .version = kPageVersion, .size_bytes = sizeof(Page)};
    if (is_sealed) fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  }
  ~TestPage() { munmap(page_, sizeof(Page)); }
  TestPage(const TestPage&) = delete;
  TestPage& operator=(const TestPage&) = delete;

  Page* operator->() const { return page_; }
  Page& operator*() const { return *page_; }
  Page* get() const { return page_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  Page* page_ = nullptr;
};

using TestSignalPage = TestPage<SignalPage, PageKind::kSignal>;
using TestWindowPage = TestPage<WindowPage, PageKind::kWindow>;
using TestTaskPage = TestPage<TaskPage, PageKind::kTask>;
using TestTurnPage = TestPage<TurnPage, PageKind::kTurn>;

// Offers the bubble of `slot` to units up to `unit_ns` long, until `latest_start_ns` after its
// begin, in mode fill, without hold-outs.
inline void OfferBubble(WindowPage* window, uint32_t slot, uint64_t unit_ns,
                        int64_t latest_start_ns) {
  for (size_t i = 0; i < kUnitLadder; ++i) {
    const uint64_t length_ns = uint64_t{1000} << i;
    window->unit_ns[i].store(length_ns);
    window->entries[slot].latest_start_ns[i].store(length_ns <= unit_ns ? latest_start_ns : kNever);
  }
  window->entries[slot].offered.store(1);
  window->mode.store(static_cast<uint32_t>(FillMode::kFill));
}

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_TEST_PAGE_H_
