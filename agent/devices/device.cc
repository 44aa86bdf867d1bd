#include "agent/devices/device.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pipefill {
namespace {

std::string ListDevices(const DeviceList& devices) {
  return absl::StrJoin(devices, ", ", [](std::string* out, const std::unique_ptr<Device>& device) {
    const DeviceDescription& description = device->description();
    absl::StrAppend(out, description.name, " (", description.detail, ")");
  });
}

}  // namespace

absl::StatusOr<size_t> FindRankDevice(const DeviceList& devices, absl::string_view name,
                                      pid_t rank_pid) {
  std::vector<size_t> places;
  for (size_t i = 0; i < devices.size(); ++i) {
    const bool fits =
        name.empty() ? devices[i]->IsPlaceOf(rank_pid) : devices[i]->description().name == name;
    if (fits) places.push_back(i);
  }
  if (places.size() == 1) return places.front();
  if (!name.empty()) {
    return absl::NotFoundError(
        absl::StrCat("device not found: name=", name, "; this node has ", ListDevices(devices)));
  }
  return absl::NotFoundError(
      absl::StrCat("cannot tell the device of process ", rank_pid,
                   ": name it, or pin the process to cores of one device; this node has ",
                   ListDevices(devices)));
}

}  // namespace pipefill
