#include "cli/nodes.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct NodeRow {
  int devices = 0;
  int resident = 0;
  int resident_limit = 0;
  std::string state = "connected";
};

std::map<std::string, NodeRow> RowsOf(const v1::GetStatusResponse& status,
                                      const v1::ListDevicesResponse& devices) {
  std::map<std::string, NodeRow> rows;
  for (const std::string& node : status.nodes()) rows[node];
  for (const v1::Device& device : devices.devices()) {
    NodeRow& row = rows[device.node()];
    ++row.devices;
    row.resident += device.resident();
    row.resident_limit += device.resident_limit();
  }
  for (const v1::NodeQuarantine& quarantine : status.quarantines()) {
    rows[quarantine.node()].state = absl::StrCat(
        "given no jobs for ", pipefill::FormatDuration(absl::Nanoseconds(quarantine.left_ns())),
        ": ", quarantine.text());
  }
  return rows;
}

void PrintNodes(const std::map<std::string, NodeRow>& rows, CommandContext& context) {
  if (rows.empty()) {
    context.err << "pipefill: no agent is connected; start agentd on the nodes with scheduler \""
                << context.scheduler << "\" in its configuration\n";
    return;
  }
  Table table({{"NODE"}, {"DEVICES", Align::kRight}, {"TASKS", Align::kRight}, {"STATE"}});
  for (const auto& [node, row] : rows) {
    table.AddRow({node, absl::StrCat(row.devices),
                  absl::StrCat(row.resident, "/", row.resident_limit), OneLine(row.state)});
  }
  context.out << table.Text();
}

absl::StatusOr<ExitCode> RunNodes(OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  const std::map<std::string, NodeRow> rows = RowsOf(status, devices);
  if (format != OutputFormat::kJson) {
    PrintNodes(rows, context);
    return kExitOk;
  }
  Json json;
  json["nodes"] = Json::array();
  for (const auto& [node, row] : rows) {
    json["nodes"].push_back({{"node", node},
                             {"devices", row.devices},
                             {"resident", row.resident},
                             {"resident_limit", row.resident_limit},
                             {"state", row.state}});
  }
  context.out << JsonText(json);
  return kExitOk;
}

// "3", "3/8".
std::string OfAtMost(int64_t count, int64_t limit) {
  return limit == 0 ? absl::StrCat(count) : absl::StrCat(count, "/", limit);
}

std::string TenantsText(const v1::GetStatusResponse& status) {
  Table table({{"TENANT", Align::kLeft, /*can_shrink=*/true},
               {"WEIGHT", Align::kRight},
               {"USED", Align::kRight},
               {"TASKS", Align::kRight},
               {"WAITING", Align::kRight},
               {"BORROWS"}});
  for (const v1::TenantStatus& tenant : status.tenants()) {
    table.AddRow({tenant.name(), absl::StrFormat("%.3g", tenant.weight()),
                  pipefill::FormatDuration(absl::Seconds(tenant.used_seconds())),
                  OfAtMost(tenant.resident(), tenant.resident_max()),
                  OfAtMost(tenant.pending(), tenant.pending_max()),
                  tenant.borrow() ? "yes" : "no"});
  }
  return table.Text();
}

absl::StatusOr<ExitCode> RunTenants(OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
  if (format == OutputFormat::kJson) {
    context.out << JsonText({{"tenants", StatusJson(status)["tenants"]}});
  } else if (status.tenants().empty()) {
    context.err << "pipefill: no tenant has a job or a limit yet\n";
  } else {
    context.out << TenantsText(status);
  }
  return kExitOk;
}

}  // namespace

void AddNodesCommand(CLI::App& parent, CommandSet& commands) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  CLI::App* command = parent.add_subcommand("nodes", "Nodes, and why some are given no jobs");
  AddOutputOption(*command, /*with_name=*/false, format.get());
  commands.Add({command, [format](CommandContext& context) { return RunNodes(*format, context); }});
}

void AddTenantsCommand(CLI::App& parent, CommandSet& commands) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  CLI::App* command = parent.add_subcommand("tenants", "Tenants: limits, tasks and use");
  AddOutputOption(*command, /*with_name=*/false, format.get());
  command->footer(
      "USED: device time of their units inside bubbles, the older the less.\n"
      "TASKS, WAITING: how many, of at most.\n"
      "BORROWS: may have more tasks where nobody else wants the place.");
  commands.Add(
      {command, [format](CommandContext& context) { return RunTenants(*format, context); }});
}

}  // namespace pipefill
