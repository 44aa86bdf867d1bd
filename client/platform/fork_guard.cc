#include "client/platform/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>

namespace pipefill::sdk {
namespace {

// Descriptor + 1; 0 = free. Plain atomics, because the child of a threaded process may take no
// lock.
std::array<std::atomic<int>, ForkGuard::kDescriptorsMax> guarded_descriptors;

}  // namespace

std::atomic<uint64_t> ForkGuard::forks_{0};

void ForkGuard::OnForkedChild() {
  forks_.fetch_add(1, std::memory_order_relaxed);
  for (std::atomic<int>& entry : guarded_descriptors) {
    const int descriptor = entry.exchange(0, std::memory_order_relaxed) - 1;
    if (descriptor >= 0) close(descriptor);
  }
}

ForkGuard::ForkGuard(int descriptor) : made_in_(forks_.load(std::memory_order_relaxed)) {
  static const int registered = pthread_atfork(nullptr, nullptr, &ForkGuard::OnForkedChild);
  static_cast<void>(registered);
  for (size_t i = 0; i < kDescriptorsMax; ++i) {
    int expected = 0;
    if (guarded_descriptors[i].compare_exchange_strong(expected, descriptor + 1)) {
      entry_ = i;
      return;
    }
  }
}

ForkGuard::~ForkGuard() { Disarm(); }

void ForkGuard::Disarm() {
  if (is_owner() && entry_ < kDescriptorsMax) guarded_descriptors[entry_].store(0);
  entry_ = kDescriptorsMax;
}

}  // namespace pipefill::sdk
