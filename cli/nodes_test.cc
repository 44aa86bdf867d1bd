#include "cli/nodes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class NodesTest : public CommandFixture {
 protected:
  void AddNode(const std::string& name, int resident) {
    scheduler.status.add_nodes(name);
    v1::Device& device = *scheduler.devices.add_devices();
    device.set_node(name);
    device.set_name("cpu0");
    device.set_resident(resident);
    device.set_resident_limit(2);
  }
};

TEST_F(NodesTest, ShowsWhyANodeIsGivenNoJobs) {
  AddNode("a", 1);
  AddNode("b", 0);
  v1::NodeQuarantine& quarantine = *scheduler.status.add_quarantines();
  quarantine.set_node("b");
  quarantine.set_text("it refused 3 launches within 1m, the last one: disk full");
  quarantine.set_left_ns(42'000'000'000);

  EXPECT_EQ(Run({"nodes"}).out,
            "NODE  DEVICES  TASKS  STATE\n"
            "a           1    1/2  connected\n"
            "b           1    0/2  given no jobs for 42 s: it refused 3 launches within 1m, the "
            "last one: disk full\n");
  const auto json = nlohmann::json::parse(Run({"nodes", "-o", "json"}).out);
  EXPECT_EQ(json["nodes"][0]["state"], "connected");
  EXPECT_EQ(json["nodes"][1]["node"], "b");
}

TEST_F(NodesTest, WithoutAgentsSaysWhatToDo) {
  const Result result = Run({"nodes"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_NE(result.err.find("no agent is connected; start agentd"), std::string::npos);
}

TEST_F(NodesTest, TenantsShowLimitsAndUse) {
  v1::TenantStatus& vision = *scheduler.status.add_tenants();
  vision.set_name("vision");
  vision.set_weight(2);
  vision.set_used_seconds(90);
  vision.set_resident(3);
  vision.set_resident_max(4);
  vision.set_pending(12);
  vision.set_borrow(true);
  EXPECT_EQ(Run({"tenants"}).out,
            "TENANT  WEIGHT   USED  TASKS  WAITING  BORROWS\n"
            "vision       2  1m30s    3/4       12  yes\n");
  const auto json = nlohmann::json::parse(Run({"tenants", "-o", "json"}).out);
  EXPECT_EQ(json["tenants"][0]["resident_max"], 4);
  scheduler.status.clear_tenants();
  EXPECT_EQ(Run({"tenants"}).err, "pipefill: no tenant has a job or a limit yet\n");
}

TEST_F(NodesTest, StatusSaysThatThePolicyFailed) {
  scheduler.status.set_policy("lua:/etc/site.lua");
  scheduler.status.set_policy_error("/etc/site.lua:3: attempt to index a nil value");
  const std::string out = Run({"status"}).out;
  EXPECT_NE(out.find("policy failed  /etc/site.lua:3: attempt to index a nil value"),
            std::string::npos)
      << out;
}

}  // namespace
}  // namespace pipefill
