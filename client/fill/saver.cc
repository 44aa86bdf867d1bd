#include "client/fill/saver.h"

#include <charconv>
#include <cstdio>
#include <utility>

#include "client/pages/handshake.h"

namespace pipefill::sdk {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kLongestSeconds = 1e9;

void Say(const std::string& line) { std::fprintf(stderr, "pipefill: %s\n", line.c_str()); }

bool ParseSeconds(std::string_view text, uint64_t* ns) {
  double seconds = -1;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, seconds);
  if (failure != std::errc() || rest != end) return false;
  if (!(seconds >= 0 && seconds <= kLongestSeconds)) return false;
  *ns = static_cast<uint64_t>(seconds * kNsPerSecond);
  return true;
}

bool ParseBounds(std::string_view text, SaveBounds* bounds) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  SaveBounds parsed;
  const bool is_good = ParseSeconds(text.substr(0, colon), &parsed.min_ns) &&
                       ParseSeconds(text.substr(colon + 1), &parsed.max_ns) &&
                       parsed.min_ns <= parsed.max_ns;
  if (is_good) *bounds = parsed;
  return is_good;
}

}  // namespace

Error ReadSaveSettings(const Environment& environment, SaveSettings* settings) {
  settings->folder = environment.Get(kCheckpointDirVariable);
  const std::string fence = environment.Get(kFenceVariable);
  const char* end = fence.data() + fence.size();
  if (std::from_chars(fence.data(), end, settings->fence).ec != std::errc()) settings->fence = 0;
  const std::string every = environment.Get(kCheckpointEveryVariable);
  if (every.empty() || ParseBounds(every, &settings->bounds)) return {};
  return {PF_BAD_ARGUMENT,
          std::string(kCheckpointEveryVariable) + "=" + every +
              "; it must be the least and the longest time in seconds, as 0.5:600"};
}

Saver::Saver(const Clock& clock, const SaveSettings& settings, SaveHooks hooks,
             std::unique_ptr<CheckpointStore> store)
    : clock_(clock),
      store_(std::move(store)),
      hooks_(std::move(hooks)),
      interval_(settings.bounds) {
  if (store_ != nullptr) checkpoints_.emplace(*store_, settings.fence, Say);
}

Error Saver::Resume() {
  if (!checkpoints_.has_value()) return {};
  std::optional<Checkpoints::Latest> latest;
  const Error error = checkpoints_->Claim(&latest);
  if (!error.ok()) {
    OnFailure(error);
    return error;
  }
  is_able_ = true;
  if (!latest.has_value()) return {};
  if (!hooks_.load(latest->content())) {
    return {PF_BAD_ARGUMENT, "the program could not load its checkpoint " + SaveText(latest->name)};
  }
  numbers_.resumed_from = latest->name;
  numbers_.resumed_useful_ns = latest->useful_ns;
  numbers_.useful_ns = latest->useful_ns;
  return {};
}

void Saver::OnUnit(uint64_t cpu_ns) {
  interval_.OnUseful(cpu_ns);
  numbers_.useful_ns += cpu_ns;
}

bool Saver::Collect() {
  blob_.assign(kBlobHeaderBytes, '\0');
  if (!hooks_.save(&blob_)) {
    blob_.clear();
    return false;
  }
  SealBlob(numbers_.useful_ns, &blob_);
  return true;
}

Error Saver::Write(uint64_t collect_ns) {
  const uint64_t begin_ns = clock_.NowNs();
  Error error;
  if (blob_.empty()) {
    error = {PF_BAD_ARGUMENT, "the program's save hook has failed"};
  } else if (hooks_.sync != nullptr && !hooks_.sync()) {
    error = {PF_BAD_ARGUMENT, "the program's sync hook has failed"};
  } else {
    error = checkpoints_->Save(blob_);
  }
  blob_.clear();
  blob_.shrink_to_fit();
  numbers_.cost_ns = collect_ns + (clock_.NowNs() - begin_ns);
  interval_.OnSave(numbers_.cost_ns, error.ok());
  if (error.ok()) {
    ++numbers_.done;
    numbers_.end_ns = clock_.NowNs();
  } else {
    OnFailure(error);
  }
  return error;
}

void Saver::OnFailure(const Error& error) {
  Say("no checkpoint: " + error.text);
  ++numbers_.failed;
  if (error.code != PF_REFUSED) return;
  is_stale_ = true;
  is_able_ = false;
}

}  // namespace pipefill::sdk
