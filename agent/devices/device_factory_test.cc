#include "agent/devices/device_factory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "agent/devices/cpu_device.h"

namespace pipefill {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

class MakeDevicesTest : public testing::Test {
 protected:
  MakeDevicesTest() {
    Add("a", "0");
    Add("b", "1");
  }

  v1::DeviceConfig& Add(const std::string& name, const std::string& cores) {
    v1::DeviceConfig& device = *config_.add_devices();
    device.set_name(name);
    device.set_cores(cores);
    return device;
  }
  v1::DeviceConfig& second() { return *config_.mutable_devices(1); }

  // The text of the refusal.
  std::string Refusal() {
    const absl::StatusOr<DeviceList> devices = MakeDevices(config_, node_);
    EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(devices.status().message());
  }

  v1::AgentConfig config_;
  const NodeResources node_ = {.cores = {0, 1}, .memory_bytes = 8 * kGiB};
};

TEST_F(MakeDevicesTest, MakesThemInOrderWithTheDefaults) {
  const absl::StatusOr<DeviceList> devices = MakeDevices(config_, node_);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 2u);
  const DeviceDescription& description = (*devices)[1]->description();
  EXPECT_EQ(description.name, "b");
  EXPECT_EQ(description.backend, "cpu");
  EXPECT_EQ(description.detail, "core 1");
  EXPECT_EQ(description.memory_bytes, 4 * kGiB);
  EXPECT_EQ(description.resident_limit, 2);
}

TEST_F(MakeDevicesTest, TakesWhatIsSet) {
  second().set_backend("cpu");
  second().set_memory("2GiB");
  second().set_resident_limit(3);
  second().set_priority("normal");
  const absl::StatusOr<DeviceList> devices = MakeDevices(config_, node_);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ((*devices)[1]->description().memory_bytes, 2 * kGiB);
  EXPECT_EQ((*devices)[1]->description().resident_limit, 3);
}

TEST_F(MakeDevicesTest, NeedsADevice) {
  config_.clear_devices();
  EXPECT_EQ(Refusal(),
            "devices: at least one is needed, such as {\"name\": \"cpu0\", \"cores\": \"0\"}");
}

TEST_F(MakeDevicesTest, RefusesCoresThatDoNotExist) {
  second().set_cores("1,64");
  EXPECT_EQ(Refusal(), "devices[1].cores: core 64 does not exist; this node has 0-1");
}

TEST_F(MakeDevicesTest, RefusesACoreInTwoDevices) {
  second().set_cores("0-1");
  EXPECT_EQ(
      Refusal(),
      "devices[1].cores: core 0 belongs to device \"a\" already; a core can be in one device");
}

TEST_F(MakeDevicesTest, RefusesMissingAndMalformedCores) {
  second().clear_cores();
  EXPECT_EQ(Refusal(), "devices[1].cores: name at least one, such as \"0-3\"");
  second().set_cores("1-x");
  EXPECT_EQ(Refusal().find("devices[1].cores: "), 0u);
}

TEST_F(MakeDevicesTest, RefusesBadAndRepeatedNames) {
  second().set_name("a");
  EXPECT_EQ(Refusal(), "devices[1].name: \"a\" is the name of another device too");
  for (const char* name : {"", "x y", "a/b", "ä", "123456789012345678901234567890123"}) {
    second().set_name(name);
    EXPECT_EQ(Refusal(), "devices[1].name: \"" + std::string(name) +
                             "\" is no name; use 1 to 32 of the characters A-Z a-z 0-9 . _ -");
  }
}

TEST_F(MakeDevicesTest, RefusesOtherBackEnds) {
  second().set_backend("cuda");
  EXPECT_EQ(Refusal(),
            "devices[1].backend: there is no back end \"cuda\" in this version; use \"cpu\"");
}

TEST_F(MakeDevicesTest, RefusesMemoryThatTheNodeDoesNotHave) {
  second().set_memory("9GiB");
  EXPECT_EQ(Refusal(), "devices[1].memory: 9 GiB is more than this node has (8 GiB)");
  second().set_memory("0");
  EXPECT_EQ(Refusal(), "devices[1].memory: must be more than 0");
  second().set_memory("lots");
  EXPECT_EQ(Refusal().find("devices[1].memory: "), 0u);
}

TEST_F(MakeDevicesTest, RefusesUnknownPriorityAndLimit) {
  second().set_priority("high");
  EXPECT_EQ(Refusal(), "devices[1].priority: \"high\" is unknown; use \"idle\" or \"normal\"");
  second().clear_priority();
  second().set_resident_limit(-1);
  EXPECT_EQ(Refusal(), "devices[1].resident_limit: -1 is not in 1..8; absent means 2");
  second().set_resident_limit(9);
  EXPECT_EQ(Refusal(), "devices[1].resident_limit: 9 is not in 1..8; absent means 2");
}

}  // namespace
}  // namespace pipefill
