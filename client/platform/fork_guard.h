// Keeps a forked child from speaking for its parent.
//
// Training loops fork (data loaders, for one). The child inherits the connection to agentd and the
// writable page. If it used them, two processes would write one page; if it merely kept the
// connection open, agentd would not notice that the parent died. So in a child made by fork() every
// guarded descriptor is closed at once, and is_owner() turns false for good.
//
//   parent:  owner ------------------------------>
//   child:     `- fork: descriptor closed, is_owner() == false
//
// A child that only calls exec needs no guard: all descriptors of the SDK are close-on-exec.
//
// Thread-safe.
#ifndef CLIENT_PLATFORM_FORK_GUARD_H_
#define CLIENT_PLATFORM_FORK_GUARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pipefill::sdk {

class ForkGuard {
 public:
  // More descriptors than this at one time are not closed in children.
  static constexpr size_t kDescriptorsMax = 64;

  // Guards `descriptor` until Disarm or the destructor; does not own it.
  explicit ForkGuard(int descriptor);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // Before the descriptor is closed: its number may name another file afterwards.
  void Disarm();

  // False in a process that was forked after this guard was made. A load and a comparison.
  bool is_owner() const { return made_in_ == forks_.load(std::memory_order_relaxed); }

 private:
  static void OnForkedChild();

  // How many forks lie between the process that loaded the library and this one.
  static std::atomic<uint64_t> forks_;

  const uint64_t made_in_;
  size_t entry_ = kDescriptorsMax;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_FORK_GUARD_H_
