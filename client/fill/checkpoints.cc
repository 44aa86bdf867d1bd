#include "client/fill/checkpoints.h"

#include <algorithm>
#include <utility>

namespace pipefill::sdk {
namespace {

Error Broken(const std::string& what) { return {.code = PF_SYSTEM, .text = what}; }

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Error Checkpoints::Refused(const Writer& newest) const {
  return {.code = PF_REFUSED,
          .text = "checkpoints refused: another process has taken over this job: fence=" +
                  std::to_string(newest.fence) + " start=" + std::to_string(newest.start) +
                  ", this one has fence=" + std::to_string(writer_.fence) +
                  " start=" + std::to_string(writer_.start)};
}

Error Checkpoints::Claim(std::optional<Latest>* latest) {
  latest->reset();
  Error error = PutClaim();
  if (!error.ok()) return error;
  CheckpointHistory history;
  error = ReadHistory(&history);
  if (!error.ok()) return error;
  if (history.IsStale(writer_)) return Refused(*history.claims.rbegin());
  std::optional<Latest> newest = ReadNewest(history);
  error = PutBase(newest);
  if (error.ok()) error = Look();
  if (error.ok()) *latest = std::move(newest);
  return error;
}

Error Checkpoints::PutClaim() {
  for (int i = 0; i < kClaimTries; ++i) {
    std::vector<std::string> names;
    Error error = store_.List(&names);
    if (!error.ok()) return error;
    CheckpointHistory history;
    history.TakeNames(names);
    const Writer last_of_attempt = {.fence = writer_.fence, .start = UINT32_MAX};
    if (history.IsStale(last_of_attempt)) return Refused(*history.claims.rbegin());
    const bool is_first = history.claims.empty() || history.claims.rbegin()->fence != writer_.fence;
    writer_.start = is_first ? 1 : history.claims.rbegin()->start + 1;
    bool is_new = false;
    error = store_.PutIfAbsent(ClaimText(writer_), MakeBlob(""), &is_new);
    if (!error.ok() || is_new) return error;
  }
  return Broken("claim checkpoints: other processes of the same attempt were always faster");
}

Error Checkpoints::PutBase(const std::optional<Latest>& latest) {
  bases_[writer_] = latest.has_value() ? std::optional(latest->name) : std::nullopt;
  bool is_new = false;
  const std::string base = latest.has_value() ? SaveText(latest->name) : "";
  const Error error = store_.PutIfAbsent(BaseText(writer_), MakeBlob(base), &is_new);
  if (!error.ok() || is_new) return error;
  return Broken("claim checkpoints: " + BaseText(writer_) + " is there already");
}

Error Checkpoints::Look() {
  std::vector<std::string> names;
  const Error error = store_.List(&names);
  if (!error.ok()) return error;
  CheckpointHistory history;
  history.TakeNames(names);
  return history.IsStale(writer_) ? Refused(*history.claims.rbegin()) : Error();
}

Error Checkpoints::ReadHistory(CheckpointHistory* history) {
  for (int i = 0; i < kReadTries; ++i) {
    std::vector<std::string> names;
    Error error = store_.List(&names);
    if (!error.ok()) return error;
    *history = {};
    bool is_complete = true;
    for (const Writer& writer : history->TakeNames(names)) {
      is_complete = is_complete && ReadBase(writer, &error);
      if (!error.ok()) return error;
      if (is_complete) history->bases[writer] = bases_[writer];
    }
    if (is_complete) return {};
  }
  return Broken("read checkpoints: they change all the time");
}

bool Checkpoints::ReadBase(const Writer& writer, Error* error) {
  if (bases_.contains(writer)) return true;
  std::string blob;
  *error = store_.Get(BaseText(writer), &blob);
  if (error->ok()) {
    const std::optional<BlobView> view = OpenBlob(blob);
    // Of a base that cannot be read nothing may count: rather lose work than do it twice.
    bases_[writer] = view.has_value() ? ParseSave(view->content) : std::nullopt;
    if (!view.has_value()) report_("checkpoint " + BaseText(writer) + " is damaged");
    return true;
  }
  std::vector<std::string> names;
  const Error listed = store_.List(&names);
  if (!listed.ok() || Holds(names, BaseText(writer))) return false;
  *error = {};
  return false;
}

std::optional<Checkpoints::Latest> Checkpoints::ReadNewest(const CheckpointHistory& history) {
  for (const SaveName& save : history.NewestFirst()) {
    Latest latest = {.name = save, .useful_ns = 0, .blob = {}};
    Error error = store_.Get(SaveText(save), &latest.blob);
    // Work would be lost for good to a hiccup of a shared disk.
    if (!error.ok()) error = store_.Get(SaveText(save), &latest.blob);
    const std::optional<BlobView> view = error.ok() ? OpenBlob(latest.blob) : std::nullopt;
    if (view.has_value()) {
      latest.useful_ns = view->useful_ns;
      return latest;
    }
    report_("checkpoint skipped: " + (error.ok() ? SaveText(save) + " is damaged" : error.text) +
            "; using the one before");
  }
  return std::nullopt;
}

Error Checkpoints::Save(std::string_view blob) {
  Error error = Look();
  if (!error.ok()) return error;
  ++number_;
  bool is_new = false;
  const SaveName name = {.writer = writer_, .number = number_};
  error = store_.PutIfAbsent(SaveText(name), blob, &is_new);
  if (!error.ok()) return error;
  if (!is_new) return Broken("save checkpoint: " + SaveText(name) + " is there already");
  error = Look();
  if (error.ok()) Prune();
  return error;
}

void Checkpoints::Prune() {
  CheckpointHistory history;
  if (!ReadHistory(&history).ok()) return;
  for (const std::string& name : history.Prunable(kKept)) {
    if (!store_.Remove(name).ok()) return;  // in order, or not at all
  }
}

}  // namespace pipefill::sdk
