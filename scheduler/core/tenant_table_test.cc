#include "scheduler/core/tenant_table.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

absl::Time Wall(double seconds) { return TimeAt(seconds).wall; }

TEST(TenantTableTest, WithoutTenantsAnyNameWillDo) {
  const TenantTable table({}, absl::Hours(1));
  EXPECT_TRUE(table.CheckSubmission("anybody").ok());
}

TEST(TenantTableTest, OnlyNamedTenantsAndTheDefaultMaySubmit) {
  const TenantTable table({{.name = "speech"}, {.name = "vision"}}, absl::Hours(1));
  EXPECT_TRUE(table.CheckSubmission("vision").ok());
  EXPECT_TRUE(table.CheckSubmission("default").ok());
  EXPECT_EQ(table.CheckSubmission("visoin"),
            absl::InvalidArgumentError("spec.tenant: there is no tenant \"visoin\"; known: speech, "
                                       "vision, default"));
}

TEST(TenantTableTest, PendingLimitNamesItself) {
  TenantTable table({{.name = "vision", .pending_max = 2}}, absl::Hours(1));
  table.AddPending("vision", 2);
  EXPECT_EQ(table.CheckSubmission("vision"),
            absl::ResourceExhaustedError(
                "tenant vision has 2 jobs waiting, and may have 2; wait for some to start, or "
                "raise its pending_max in the configuration"));
  table.AddPending("vision", -1);
  EXPECT_TRUE(table.CheckSubmission("vision").ok());
  EXPECT_FALSE(table.CheckSubmission("vision", 2).ok());
}

TEST(TenantTableTest, UseCountsHalfAfterAHalfLifeAndLiveUseInFull) {
  TenantTable table({}, absl::Seconds(100));
  table.AddUse("a", 8'000'000'000, Wall(0));
  EXPECT_DOUBLE_EQ(table.Snapshot(Wall(0)).at("a").used_seconds, 8);
  EXPECT_DOUBLE_EQ(table.Snapshot(Wall(200)).at("a").used_seconds, 2);
  table.AddUse("a", 1'000'000'000, Wall(100));
  EXPECT_DOUBLE_EQ(table.Snapshot(Wall(100)).at("a").used_seconds, 5);
  table.AddLiveUse("a", 3'000'000'000);
  EXPECT_DOUBLE_EQ(table.Snapshot(Wall(200)).at("a").used_seconds, 5.5);
  // A clock that was set back makes nobody richer.
  EXPECT_DOUBLE_EQ(table.Snapshot(Wall(50)).at("a").used_seconds, 8);
}

// Snapshots leave it out, so nothing may hang on when it was.
TEST(TenantTableTest, WhoHasUsedNothingIsAsIfNeverSeen) {
  TenantTable table({}, absl::Seconds(100));
  table.AddUse("a", 0, Wall(1'000));
  EXPECT_TRUE(table.Used().empty());
  TenantTable restored({}, absl::Seconds(100));
  // The wall clock has been set back.
  for (TenantTable* each : {&table, &restored}) {
    each->AddUse("a", 4'000'000'000, Wall(0));
    each->AddUse("a", 0, Wall(100));
  }
  EXPECT_EQ(table.Used(), restored.Used());
}

TEST(TenantTableTest, SnapshotCarriesTheLimits) {
  TenantTable table({{.name = "a", .weight = 3, .resident_max = 4, .may_borrow = true}},
                    absl::Hours(1));
  table.AddResident("a", 2);
  const TenantSnapshot tenant = table.Snapshot(Wall(0)).at("a");
  EXPECT_EQ(tenant.weight, 3);
  EXPECT_EQ(tenant.resident, 2);
  EXPECT_EQ(tenant.resident_max, 4);
  EXPECT_TRUE(tenant.may_borrow);
}

}  // namespace
}  // namespace pipefill::scheduler
