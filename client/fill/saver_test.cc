#include "client/fill/saver.h"

#include <map>
#include <memory>
#include <string>

#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

SaveSettings Read(const std::map<std::string, std::string>& variables, int expected_code = PF_OK) {
  FakeEnvironment environment;
  environment.variables = variables;
  SaveSettings settings;
  const Error error = ReadSaveSettings(environment, &settings);
  EXPECT_EQ(error.code, expected_code) << error.text;
  return settings;
}

TEST(SaveSettingsTest, AreThoseOfTheEnvironment) {
  const SaveSettings settings = Read({{"PIPEFILL_CHECKPOINT_DIR", "/var/checkpoints/job-4"},
                                      {"PIPEFILL_FENCE", "18446744073709551615"},
                                      {"PIPEFILL_CHECKPOINT_EVERY", "0.5:60"}});
  EXPECT_EQ(settings.folder, "/var/checkpoints/job-4");
  EXPECT_EQ(settings.fence, UINT64_MAX);
  EXPECT_EQ(settings.bounds.min_ns, kSecond / 2);
  EXPECT_EQ(settings.bounds.max_ns, 60 * kSecond);
}

TEST(SaveSettingsTest, NothingIsSavedWhereNothingIsSet) {
  const SaveSettings settings = Read({});
  EXPECT_EQ(settings.folder, "");
  EXPECT_EQ(settings.fence, 0u);
  EXPECT_EQ(settings.bounds.min_ns, 10 * kSecond);
}

TEST(SaveSettingsTest, WhatMakesNoSenseIsNamedAndTheDefaultHolds) {
  for (const char* every : {"1", "1:", ":1", "2:1", "-1:1", "a:b", "1:1s", "nan:nan", "1:inf"}) {
    const SaveSettings settings = Read({{"PIPEFILL_CHECKPOINT_EVERY", every}}, PF_BAD_ARGUMENT);
    EXPECT_EQ(settings.bounds.min_ns, 10 * kSecond) << every;
  }
}

TEST(SaverTest, WithoutAStoreNothingIsEverDue) {
  const FakeClock clock;
  Saver saver(
      clock, {.folder = "", .fence = 1, .bounds = {.min_ns = 1, .max_ns = 1}},
      {.save = [](std::string*) { return true; }, .load = [](std::string_view) { return true; }},
      nullptr);
  EXPECT_TRUE(saver.Resume().ok());
  saver.OnUnit(kSecond);
  EXPECT_FALSE(saver.is_due());
  EXPECT_FALSE(saver.has_unsaved());
}

}  // namespace
}  // namespace pipefill::sdk
