#include "simulator/faults/state_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/snapshot.pb.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/journal/snapshot_frame.h"

namespace pipefill::simulator {
namespace {

// Each line with the job that it is of.
std::vector<std::string> LinesOf(const std::string& bytes) {
  std::vector<std::string> lines;
  scheduler::FrameReader reader;
  reader
      .Take(bytes,
            [&](absl::string_view piece) {
              v1::SnapshotPiece parsed;
              parsed.ParseFromArray(piece.data(), static_cast<int>(piece.size()));
              std::string job;
              for (const absl::string_view line : absl::StrSplit(parsed.DebugString(), '\n')) {
                if (line.substr(0, 8) == "    id: ")
                  job = absl::StrCat("job ", line.substr(8), " ");
                lines.push_back(absl::StrCat(job, line));
              }
              return absl::OkStatus();
            })
      .IgnoreError();
  return lines;
}

}  // namespace

std::string StateBytes(scheduler::DurableState state) {
  // Without the stamp, which is when it was taken.
  scheduler::FrameWriter writer(scheduler::SnapshotEncoder(std::move(state), {}));
  std::string bytes;
  for (std::optional<std::string> block = writer.Next(); block.has_value(); block = writer.Next()) {
    bytes += *block;
  }
  return bytes;
}

std::string FirstDifference(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = LinesOf(a);
  const std::vector<std::string> right = LinesOf(b);
  const size_t common = std::min(left.size(), right.size());
  const size_t place = static_cast<size_t>(
      std::mismatch(left.begin(), left.begin() + static_cast<int64_t>(common), right.begin())
          .first -
      left.begin());
  const auto line = [place](const std::vector<std::string>& lines) {
    return place < lines.size() ? lines[place] : "(nothing more)";
  };
  return absl::StrCat("\"", line(left), "\" against \"", line(right), "\"");
}

}  // namespace pipefill::simulator
