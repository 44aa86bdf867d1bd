#include "client/main_job/main_job.h"

#include <string.h>

#include <string>
#include <utility>

namespace pipefill::sdk {
namespace {

constexpr uint64_t kAttachTimeoutNs = 200'000'000;

Error BadField(const std::string& field, const std::string& rule) {
  return {PF_BAD_ARGUMENT, "attach refused: " + field + "; " + rule};
}

template <size_t kSize>
bool CopyText(const std::string& text, char (&field)[kSize]) {
  if (text.size() >= kSize) return false;
  memcpy(field, text.data(), text.size());
  field[text.size()] = '\0';
  return true;
}

Error ChooseMode(int32_t asked, const Environment& environment, uint32_t* mode) {
  if (asked < PF_MODE_DEFAULT || asked > PF_MODE_FILL) {
    return BadField("mode=" + std::to_string(asked), "it must be one of PF_MODE_*");
  }
  *mode = static_cast<uint32_t>(asked == PF_MODE_DEFAULT ? PF_MODE_FILL : asked);
  if (asked != PF_MODE_DEFAULT) return {};
  const std::string text = environment.Get(kModeVariable);
  if (text == "off") {
    *mode = PF_MODE_OFF;
  } else if (text == "report") {
    *mode = PF_MODE_REPORT;
  } else if (!text.empty() && text != "fill") {
    return BadField(std::string(kModeVariable) + "=" + text, "it must be off, report or fill");
  }
  return {};
}

}  // namespace

Error MakeRankRequest(const pf_attach_options& options, const Environment& environment,
                      AttachRankRequest* request) {
  *request = {};
  if (options.main_job == nullptr || options.main_job[0] == '\0' ||
      !CopyText(options.main_job, request->main_job)) {
    return BadField("main_job", "it needs a name of 1 to 127 bytes");
  }
  if (options.rank < 0 || options.rank >= options.ranks) {
    return BadField("rank=" + std::to_string(options.rank),
                    "it must be in [0, ranks), ranks=" + std::to_string(options.ranks));
  }
  if (options.stage < 0 || options.stage >= options.stages) {
    return BadField("stage=" + std::to_string(options.stage),
                    "it must be in [0, stages), stages=" + std::to_string(options.stages));
  }
  const std::string device =
      options.device != nullptr ? options.device : environment.Get(kDeviceVariable);
  if (!CopyText(device, request->device)) {
    return BadField("device", "it must have at most 63 bytes");
  }
  request->rank = options.rank;
  request->ranks = options.ranks;
  request->stage = options.stage;
  request->stages = options.stages;
  request->budget_ppm = options.budget_ppm;
  return ChooseMode(options.mode, environment, &request->mode);
}

Error MainJob::Attach(const pf_attach_options& options, const Environment& environment) {
  AttachRankRequest request;
  Error error = MakeRankRequest(options, environment, &request);
  if (!error.ok()) return error;
  AgentAddress address = {.socket = "", .timeout_ns = kAttachTimeoutNs};
  address.socket = options.socket != nullptr ? options.socket : environment.Get(kSocketVariable);
  if (address.socket.empty()) address.socket = kDefaultSocket;
  error = AttachRank(request, address, clock_, &pages_);
  if (!error.ok()) return error;
  redial_.emplace(request, address.socket, clock_);
  recorder_.emplace(pages_.signal.As<SignalPage>(), pages_.window.As<const WindowPage>(), clock_,
                    futex_);
  return {};
}

bool MainJob::IsAttached() const {
  if (!recorder_.has_value() || !pages_.connection.is_owner()) return false;
  return is_agent_alive(clock_.NowNs());
}

bool MainJob::is_agent_alive(uint64_t now_ns) const {
  const uint64_t heartbeat_ns =
      pages_.window.As<const WindowPage>()->heartbeat_ns.load(std::memory_order_acquire);
  return now_ns <= heartbeat_ns || now_ns - heartbeat_ns <= kHeartbeatStaleNs;
}

void MainJob::IterationBegin(uint64_t iteration) {
  if (recorder() == nullptr) return;
  FollowAgent();
  recorder_->IterationBegin(iteration);
}

void MainJob::FollowAgent() {
  const uint64_t now_ns = clock_.NowNs();
  if (is_agent_alive(now_ns)) return redial_->Reset();
  RankPages fresh;
  if (!redial_->Step(now_ns, &fresh)) return;
  recorder_->MoveTo(fresh.signal.As<SignalPage>(), fresh.window.As<const WindowPage>());
  pages_ = std::move(fresh);
}

}  // namespace pipefill::sdk
