#include "scheduler/journal/snapshot_frame.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/journal/checksum.h"

namespace pipefill::scheduler {
namespace {

constexpr absl::string_view kMagic = "pfsnap1\n";
constexpr size_t kFrameHead = 8;
// Pieces are far smaller; a length that is damaged must not ask for gigabytes.
constexpr uint32_t kPieceMax = uint32_t{16} << 20;

void AppendNumber(uint32_t number, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

uint32_t ReadNumber(absl::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return number;
}

absl::Status Damaged(int64_t frame, absl::string_view text) {
  return absl::DataLossError(
      absl::StrCat("the snapshot is damaged: its piece ", frame + 1, " ", text));
}

}  // namespace

std::optional<std::string> FrameWriter::Next() {
  if (!status_.ok()) return std::nullopt;
  const std::optional<std::string> piece = encoder_.Next();
  if (!piece.has_value()) return std::nullopt;
  if (piece->size() > kPieceMax) {
    status_ =
        absl::OutOfRangeError(absl::StrCat("piece ", frames_ + 1, " of the snapshot has ",
                                           piece->size(), " bytes, and may have ", kPieceMax));
    return std::nullopt;
  }
  std::string block = frames_ == 0 ? std::string(kMagic) : std::string();
  AppendNumber(static_cast<uint32_t>(piece->size()), &block);
  AppendNumber(ChecksumOf(frames_, *piece), &block);
  block += *piece;
  ++frames_;
  return block;
}

absl::Status FrameReader::Take(absl::string_view bytes, const PieceVisitor& visit) {
  rest_.append(bytes.data(), bytes.size());
  absl::string_view left = rest_;
  if (!has_magic_) {
    if (left.size() < kMagic.size()) return absl::OkStatus();
    if (!absl::StartsWith(left, kMagic)) {
      return absl::DataLossError("the file is no snapshot: it does not begin like one");
    }
    has_magic_ = true;
    left.remove_prefix(kMagic.size());
  }
  size_t used = 0;
  do {
    RETURN_IF_ERROR(TakeFrame(left, visit, &used));
    left.remove_prefix(used);
  } while (used > 0);
  rest_.erase(0, rest_.size() - left.size());
  return absl::OkStatus();
}

absl::Status FrameReader::TakeFrame(absl::string_view bytes, const PieceVisitor& visit,
                                    size_t* used) {
  *used = 0;
  if (bytes.size() < kFrameHead) return absl::OkStatus();
  const uint32_t length = ReadNumber(bytes);
  if (length > kPieceMax) return Damaged(frames_, "has a length that cannot be");
  if (bytes.size() < kFrameHead + length) return absl::OkStatus();
  const absl::string_view piece = bytes.substr(kFrameHead, length);
  if (ReadNumber(bytes.substr(4)) != ChecksumOf(frames_, piece)) {
    return Damaged(frames_, "does not match its checksum");
  }
  RETURN_IF_ERROR(visit(piece));
  ++frames_;
  *used = kFrameHead + length;
  return absl::OkStatus();
}

absl::Status FrameReader::Finish() const {
  if (has_magic_ && rest_.empty()) return absl::OkStatus();
  return Damaged(frames_, "is cut off");
}

}  // namespace pipefill::scheduler
