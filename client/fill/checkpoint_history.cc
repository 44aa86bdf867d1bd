#include "client/fill/checkpoint_history.h"

#include <algorithm>

namespace pipefill::sdk {

std::vector<Writer> CheckpointHistory::TakeNames(const std::vector<std::string>& names) {
  std::vector<Writer> with_base;
  for (const std::string& name : names) {
    if (const auto claim = ParseClaim(name)) claims.insert(*claim);
    if (const auto save = ParseSave(name)) saves.insert(*save);
    if (const auto base = ParseBase(name)) with_base.push_back(*base);
  }
  return with_base;
}

bool CheckpointHistory::IsStale(const Writer& writer) const {
  return !claims.empty() && *claims.rbegin() > writer;
}

bool CheckpointHistory::Counts(const SaveName& save) const {
  if (!claims.contains(save.writer)) return false;
  return std::all_of(bases.upper_bound(save.writer), bases.end(), [&](const auto& entry) {
    return entry.second.has_value() && save <= *entry.second;
  });
}

std::vector<SaveName> CheckpointHistory::NewestFirst() const {
  std::vector<SaveName> counting;
  for (auto save = saves.rbegin(); save != saves.rend(); ++save) {
    if (Counts(*save)) counting.push_back(*save);
  }
  return counting;
}

std::vector<std::string> CheckpointHistory::Prunable(size_t kept) const {
  std::vector<SaveName> keep = NewestFirst();
  if (keep.empty()) return {};
  keep.resize(std::min(keep.size(), kept));
  std::vector<std::string> names;
  for (const SaveName& save : saves) {
    if (std::find(keep.begin(), keep.end(), save) == keep.end()) names.push_back(SaveText(save));
  }
  std::set<Writer> writers = claims;
  for (const auto& [writer, base] : bases) writers.insert(writer);
  // Oldest first, and a claim before the base: while a writer's claim is there, so are the bases
  // of all later ones.
  for (const Writer& writer : writers) {
    if (writer >= keep.back().writer) break;
    names.push_back(ClaimText(writer));
    names.push_back(BaseText(writer));
  }
  return names;
}

}  // namespace pipefill::sdk
