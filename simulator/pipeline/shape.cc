#include "simulator/pipeline/shape.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace pipefill::simulator {
namespace {

std::string KnownWords() {
  return absl::StrJoin(AllSchedules(), ", ", [](std::string* out, Schedule schedule) {
    absl::StrAppend(out, Word(schedule));
  });
}

absl::StatusOr<Schedule> ParseSchedule(absl::string_view text) {
  for (const Schedule schedule : AllSchedules()) {
    if (Word(schedule) == text) return schedule;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no such schedule: ", text, "; there are ", KnownWords()));
}

absl::Status CheckNumber(const char* what, int value, int max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bad number of ", what, ": ", value, "; it goes from 1 to ", max));
}

absl::Status CheckChunks(const PipelineShape& shape) {
  const bool wants_two = shape.schedule == Schedule::kZeroBubbleV;
  const bool wants_one =
      shape.schedule != Schedule::kZeroBubbleV && shape.schedule != Schedule::kInterleaved;
  if ((wants_two && shape.chunks != 2) || (wants_one && shape.chunks != 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bad number of chunks: ", shape.chunks, "; ", Word(shape.schedule), " has ",
        wants_two ? "two chunks a stage" : "one chunk a stage, interleaved takes more"));
  }
  if (shape.schedule == Schedule::kInterleaved && shape.microbatches % shape.stages != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bad number of microbatches: ", shape.microbatches,
                     "; interleaved needs a multiple of its ", shape.stages, " stages"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Schedule>& AllSchedules() {
  static const std::vector<Schedule>& schedules = *new std::vector<Schedule>{
      Schedule::kGpipe, Schedule::kOneForwardOneBackward, Schedule::kInterleaved,
      Schedule::kZeroBubbleH1, Schedule::kZeroBubbleV};
  return schedules;
}

std::string Word(Schedule schedule) {
  switch (schedule) {
    case Schedule::kGpipe:
      return "gpipe";
    case Schedule::kOneForwardOneBackward:
      return "1f1b";
    case Schedule::kInterleaved:
      return "interleaved";
    case Schedule::kZeroBubbleH1:
      return "zb-h1";
    case Schedule::kZeroBubbleV:
      break;
  }
  return "zb-v";
}

absl::Status CheckShape(const PipelineShape& shape) {
  const absl::Status numbers[] = {CheckNumber("stages", shape.stages, kStagesMax),
                                  CheckNumber("microbatches", shape.microbatches, kMicrobatchesMax),
                                  CheckNumber("chunks", shape.chunks, kChunksMax)};
  for (const absl::Status& status : numbers) {
    if (!status.ok()) return status;
  }
  const int64_t parts = int64_t{shape.stages} * shape.microbatches * shape.chunks;
  if (parts > kPartsMax) {
    return absl::InvalidArgumentError(absl::StrCat("too large: ", parts,
                                                   " forwards in an iteration; the model takes ",
                                                   kPartsMax, " at most"));
  }
  return CheckChunks(shape);
}

absl::StatusOr<PipelineShape> ParsePipeline(absl::string_view text, int chunks) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('@', 1));
  const std::pair<absl::string_view, absl::string_view> numbers =
      absl::StrSplit(halves.first, absl::MaxSplits('x', 1));
  PipelineShape shape;
  if (!absl::SimpleAtoi(numbers.first, &shape.stages) ||
      !absl::SimpleAtoi(numbers.second, &shape.microbatches) || halves.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not a pipeline: ", text,
        "; write STAGESxMICROBATCHES@SCHEDULE, as 16x8@1f1b; schedules: ", KnownWords()));
  }
  const absl::StatusOr<Schedule> schedule = ParseSchedule(halves.second);
  if (!schedule.ok()) return schedule.status();
  shape.schedule = *schedule;
  const bool has_two = *schedule == Schedule::kInterleaved || *schedule == Schedule::kZeroBubbleV;
  shape.chunks = chunks != 0 ? chunks : has_two ? 2 : 1;
  if (absl::Status status = CheckShape(shape); !status.ok()) return status;
  return shape;
}

bool SplitsBackward(Schedule schedule) {
  return schedule == Schedule::kZeroBubbleH1 || schedule == Schedule::kZeroBubbleV;
}

int VirtualStage(const PipelineShape& shape, int stage, int chunk) {
  const bool comes_back = shape.schedule == Schedule::kZeroBubbleV && chunk == 1;
  return comes_back ? 2 * shape.stages - 1 - stage : chunk * shape.stages + stage;
}

ChunkPlace PlaceOf(const PipelineShape& shape, int virtual_stage) {
  const int chunk = virtual_stage / shape.stages;
  const int stage = virtual_stage % shape.stages;
  const bool comes_back = shape.schedule == Schedule::kZeroBubbleV && chunk == 1;
  return {.stage = comes_back ? shape.stages - 1 - stage : stage, .chunk = chunk};
}

}  // namespace pipefill::simulator
