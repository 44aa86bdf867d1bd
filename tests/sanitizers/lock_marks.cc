// Tells the thread sanitizer what abseil's locks and notifications order.
//
// Debian's abseil is not built with the sanitizer, so whatever two threads hand over under an
// absl::Mutex would look like a race. These definitions stand before the library's, for our code
// and for other libraries alike: each marks what happens and calls the library's. Marked are the
// functions that all others go through.
//
// This file itself is built without the sanitizer: nothing in it may order threads.
#include <sanitizer/tsan_interface.h>

#include <atomic>

#include "absl/synchronization/internal/kernel_timeout.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "tests/sanitizers/original.h"

// As the linker names a member of Debian's abseil.
#define IN_ABSL(rest) "4absl7debian3" rest

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace {

using pipefill::Original;
using synchronization_internal::KernelTimeout;

constexpr unsigned kWriter = 0;
constexpr unsigned kReader = __tsan_mutex_read_lock;
constexpr int kNotRecursive = 0;

// Lives while the library takes a lock.
class Locking {
 public:
  explicit Locking(Mutex* mutex, unsigned how = kWriter) : mutex_(mutex), how_(how) {
    __tsan_mutex_pre_lock(mutex_, how_);
  }
  ~Locking() { __tsan_mutex_post_lock(mutex_, how_, kNotRecursive); }

 private:
  Mutex* const mutex_;
  const unsigned how_;
};

// Lives while the library lets a lock go.
class Unlocking {
 public:
  explicit Unlocking(Mutex* mutex, unsigned how = kWriter) : mutex_(mutex), how_(how) {
    __tsan_mutex_pre_unlock(mutex_, how_);
  }
  ~Unlocking() { __tsan_mutex_post_unlock(mutex_, how_); }

 private:
  Mutex* const mutex_;
  const unsigned how_;
};

// Lives while the library lets a lock go, waits, and takes it again. Only for writers: nobody waits
// as a reader, and the sanitizer would complain.
class Waiting {
 public:
  explicit Waiting(Mutex* mutex) : locking_(Unlocked(mutex)) {}

 private:
  static Mutex* Unlocked(Mutex* mutex) {
    Unlocking unlocking(mutex);
    return mutex;
  }

  Locking locking_;
};

bool TryLocking(Original<bool(Mutex*)>& original, Mutex* mutex, unsigned how) {
  __tsan_mutex_pre_lock(mutex, how | __tsan_mutex_try_lock);
  const bool is_locked = original(mutex);
  const unsigned failed = is_locked ? 0 : __tsan_mutex_try_lock_failed;
  __tsan_mutex_post_lock(mutex, how | __tsan_mutex_try_lock | failed, kNotRecursive);
  return is_locked;
}

void* AddressOf(const std::atomic<bool>& flag) { return const_cast<std::atomic<bool>*>(&flag); }

}  // namespace

// No-op for a mutex that a library made.
Mutex::~Mutex() {
  static constinit Original<void(Mutex*)> original("_ZN" IN_ABSL("5MutexD1Ev"));
  original(this);
  __tsan_mutex_destroy(this, __tsan_mutex_not_static);
}

void Mutex::Lock() {
  static constinit Original<void(Mutex*)> original("_ZN" IN_ABSL("5Mutex4LockEv"));
  const Locking locking(this);
  original(this);
}

void Mutex::Unlock() {
  static constinit Original<void(Mutex*)> original("_ZN" IN_ABSL("5Mutex6UnlockEv"));
  const Unlocking unlocking(this);
  original(this);
}

bool Mutex::TryLock() {
  static constinit Original<bool(Mutex*)> original("_ZN" IN_ABSL("5Mutex7TryLockEv"));
  return TryLocking(original, this, kWriter);
}

void Mutex::ReaderLock() {
  static constinit Original<void(Mutex*)> original("_ZN" IN_ABSL("5Mutex10ReaderLockEv"));
  const Locking locking(this, kReader);
  original(this);
}

void Mutex::ReaderUnlock() {
  static constinit Original<void(Mutex*)> original("_ZN" IN_ABSL("5Mutex12ReaderUnlockEv"));
  const Unlocking unlocking(this, kReader);
  original(this);
}

bool Mutex::ReaderTryLock() {
  static constinit Original<bool(Mutex*)> original("_ZN" IN_ABSL("5Mutex13ReaderTryLockEv"));
  return TryLocking(original, this, kReader);
}

void Mutex::LockWhen(const Condition& condition) {
  static constinit Original<void(Mutex*, const Condition&)> original(
      "_ZN" IN_ABSL("5Mutex8LockWhenERKNS0_9ConditionE"));
  const Locking locking(this);
  original(this, condition);
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static constinit Original<bool(Mutex*, const Condition&, Time)> original(
      "_ZN" IN_ABSL("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  const Locking locking(this);
  return original(this, condition, deadline);
}

void Mutex::ReaderLockWhen(const Condition& condition) {
  static constinit Original<void(Mutex*, const Condition&)> original(
      "_ZN" IN_ABSL("5Mutex14ReaderLockWhenERKNS0_9ConditionE"));
  const Locking locking(this, kReader);
  original(this, condition);
}

bool Mutex::ReaderLockWhenWithDeadline(const Condition& condition, Time deadline) {
  static constinit Original<bool(Mutex*, const Condition&, Time)> original(
      "_ZN" IN_ABSL("5Mutex26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  const Locking locking(this, kReader);
  return original(this, condition, deadline);
}

// Await and its variants, once their condition does not hold.
bool Mutex::AwaitCommon(const Condition& condition, KernelTimeout timeout) {
  static constinit Original<bool(Mutex*, const Condition&, KernelTimeout)> original(
      "_ZN" IN_ABSL("5Mutex11AwaitCommonERKNS0_9ConditionENS0_24synchronization_internal"
                    "13KernelTimeoutE"));
  const Waiting waiting(this);
  return original(this, condition, timeout);
}

// Wait and its variants. A signal orders nothing that the mutex does not.
bool CondVar::WaitCommon(Mutex* mutex, KernelTimeout timeout) {
  static constinit Original<bool(CondVar*, Mutex*, KernelTimeout)> original(
      "_ZN" IN_ABSL("7CondVar10WaitCommonEPNS0_5MutexENS0_24synchronization_internal"
                    "13KernelTimeoutE"));
  const Waiting waiting(mutex);
  return original(this, mutex, timeout);
}

// HasBeenNotified is in the header, and an acquire of the flag: so this must be a release of it.
void Notification::Notify() {
  static constinit Original<void(Notification*)> original("_ZN" IN_ABSL("12Notification6NotifyEv"));
  __tsan_release(AddressOf(notified_yet_));
  original(this);
}

void Notification::WaitForNotification() const {
  static constinit Original<void(const Notification*)> original(
      "_ZNK" IN_ABSL("12Notification19WaitForNotificationEv"));
  original(this);
  __tsan_acquire(AddressOf(notified_yet_));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static constinit Original<bool(const Notification*, Duration)> original(
      "_ZNK" IN_ABSL("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE"));
  const bool is_notified = original(this, timeout);
  if (is_notified) __tsan_acquire(AddressOf(notified_yet_));
  return is_notified;
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  static constinit Original<bool(const Notification*, Time)> original(
      "_ZNK" IN_ABSL("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE"));
  const bool is_notified = original(this, deadline);
  if (is_notified) __tsan_acquire(AddressOf(notified_yet_));
  return is_notified;
}

ABSL_NAMESPACE_END
}  // namespace absl
