#include "common/owner_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>

namespace pipefill {
namespace {

TEST(OwnerThreadTest, DestructorWaitsForTheBody) {
  bool is_done = false;  // not atomic: the join orders it
  {
    const OwnerThread thread("body", [&] { is_done = true; });
  }
  EXPECT_TRUE(is_done);
}

TEST(OwnerThreadTest, BodySeesItsName) {
  std::array<char, 16> name{};
  {
    const OwnerThread thread("pipefill-loop",
                             [&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  }
  EXPECT_STREQ(name.data(), "pipefill-loop");
}

}  // namespace
}  // namespace pipefill
