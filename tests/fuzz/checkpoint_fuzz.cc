// The folder of a job's checkpoints, to which its tasks may write anything: names, and blobs.
#include <algorithm>

#include "client/fill/checkpoint_format.h"
#include "client/fill/checkpoint_history.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

constexpr size_t kKept = 2;

void CheckName(const std::string& name) {
  if (const auto claim = sdk::ParseClaim(name)) CHECK(sdk::ClaimText(*claim) == name);
  if (const auto base = sdk::ParseBase(name)) CHECK(sdk::BaseText(*base) == name);
  if (const auto save = sdk::ParseSave(name)) CHECK(sdk::SaveText(*save) == name);
}

// What the saves that count are does not change with what may go.
void CheckHistory(const std::vector<std::string>& names, absl::string_view base_blob) {
  sdk::CheckpointHistory history;
  for (const sdk::Writer& writer : history.TakeNames(names)) {
    history.bases[writer] = sdk::ParseSave(std::string_view(base_blob.data(), base_blob.size()));
  }
  std::vector<sdk::SaveName> kept = history.NewestFirst();
  CHECK(std::is_sorted(kept.rbegin(), kept.rend()));
  for (const sdk::SaveName& save : kept) CHECK(history.Counts(save));
  kept.resize(std::min(kept.size(), kKept));
  std::vector<std::string> left = names;
  for (const std::string& gone : history.Prunable(kKept)) std::erase(left, gone);
  sdk::CheckpointHistory after;
  for (const sdk::Writer& writer : after.TakeNames(left)) {
    after.bases[writer] = history.bases[writer];
  }
  CHECK(after.NewestFirst() == kept);
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const std::string blob(reader.TakePiece());
  const std::optional<sdk::BlobView> opened = sdk::OpenBlob(blob);
  if (opened.has_value()) {
    std::string sealed = blob;
    sdk::SealBlob(opened->useful_ns, &sealed);
    CHECK(sealed == blob);
  }
  const absl::string_view base = reader.TakePiece();
  std::vector<std::string> names;
  for (absl::string_view name : reader.TakePieces()) names.emplace_back(name);
  for (const std::string& name : names) CheckName(name);
  CheckHistory(names, base);
  return opened.has_value();
}

std::vector<std::string> Seeds() {
  const sdk::Writer first = {.fence = 3, .start = 1};
  const sdk::Writer second = {.fence = 9, .start = 1};
  const sdk::SaveName save = {.writer = first, .number = 2};
  InputWriter seed;
  seed.PutPiece(sdk::MakeBlob("weights")).PutPiece(sdk::SaveText(save));
  seed.PutPiece(sdk::ClaimText(first)).PutPiece(sdk::BaseText(first));
  seed.PutPiece(sdk::SaveText({.writer = first, .number = 1})).PutPiece(sdk::SaveText(save));
  seed.PutPiece(sdk::ClaimText(second)).PutPiece(sdk::BaseText(second));
  seed.PutPiece(sdk::SaveText({.writer = second, .number = 1}));
  return {seed.Take()};
}

}  // namespace pipefill
