#include "client/platform/fork_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "client/platform/descriptor.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

Descriptor OpenSomething() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool IsOpen(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

// What `check` says in a forked child.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(ForkGuardTest, ClosesItsDescriptorInTheChildOnly) {
  Descriptor guarded = OpenSomething();
  Descriptor other = OpenSomething();
  ForkGuard guard(guarded.get());

  EXPECT_TRUE(HoldsInChild([&] { return !IsOpen(guarded.get()) && IsOpen(other.get()); }));
  EXPECT_TRUE(IsOpen(guarded.get()));
}

TEST(ForkGuardTest, OwnsInTheParentButNotInTheChild) {
  Descriptor guarded = OpenSomething();
  ForkGuard guard(guarded.get());

  EXPECT_TRUE(HoldsInChild([&] { return !guard.is_owner(); }));
  EXPECT_TRUE(guard.is_owner());
}

TEST(ForkGuardTest, GuardMadeInTheChildIsTheChilds) {
  Descriptor guarded = OpenSomething();
  EXPECT_TRUE(HoldsInChild([&] { return ForkGuard(guarded.get()).is_owner(); }));
}

TEST(ForkGuardTest, LeavesADescriptorAloneOnceDisarmed) {
  Descriptor guarded = OpenSomething();
  ForkGuard guard(guarded.get());
  guard.Disarm();

  EXPECT_TRUE(HoldsInChild([&] { return IsOpen(guarded.get()); }));
  EXPECT_TRUE(guard.is_owner());
}

TEST(ForkGuardTest, StillKnowsTheOwnerWhenItsTableIsFull) {
  std::vector<std::unique_ptr<ForkGuard>> guards;
  Descriptor guarded = OpenSomething();
  for (size_t i = 0; i < ForkGuard::kDescriptorsMax + 1; ++i) {
    guards.push_back(std::make_unique<ForkGuard>(guarded.get()));
  }

  EXPECT_TRUE(guards.back()->is_owner());
  EXPECT_TRUE(HoldsInChild([&] { return !guards.back()->is_owner(); }));
}

}  // namespace
}  // namespace pipefill::sdk
