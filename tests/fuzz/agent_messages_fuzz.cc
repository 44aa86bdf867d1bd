// What agents say over their stream: what is taken can be applied, and what the journal keeps of it
// can be read again.
#include "common/check.h"
#include "proto/agent.pb.h"
#include "scheduler/journal/record.h"
#include "scheduler/service/agent_convert.h"
#include "scheduler/testing/builders.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {
namespace {

constexpr scheduler::SessionId kSession{1};

// With the same checks as in the loop.
class Cluster {
 public:
  bool Take(const v1::AgentMessage& message) {
    if (message.has_hello()) {
      const auto hello = scheduler::ReadHello(message.hello(), kSession);
      if (!hello.ok()) return false;
      node_ = hello->node;
      return Apply(*hello);
    }
    if (message.has_report()) {
      const auto report = scheduler::ReadReport(message.report(), node_, kSession);
      return report.ok() && Apply(*report);
    }
    if (message.has_attempt_ended()) {
      const scheduler::AttemptEnded ended = scheduler::ReadEnded(message.attempt_ended());
      const auto decoded = scheduler::DecodeRecord(scheduler::EncodeRecord(ended, absl::Time()));
      CHECK(decoded.ok());
      CHECK(std::get<scheduler::AttemptEnded>(decoded->event).end == ended.end);
      return Apply(ended);
    }
    return false;
  }

  void CheckDurable() {
    state_.Snapshot({scheduler::kNow, scheduler::TimeAt(3).wall});
    scheduler::CheckSnapshotOf(state_);
  }

 private:
  bool Apply(const scheduler::Event& event) {
    if (!state_.Check(event, scheduler::kNow).ok()) return false;
    state_.Apply(event, {scheduler::kNow, scheduler::TimeAt(3).wall});
    return true;
  }

  scheduler::ClusterState state_ = scheduler::SomeState();
  std::string node_;
};

}  // namespace

bool TakeInput(absl::string_view input) {
  Cluster cluster;
  bool is_taken = false;
  for (absl::string_view bytes : InputReader(input).TakePieces()) {
    v1::AgentMessage message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) continue;
    if (cluster.Take(message)) is_taken = true;
  }
  cluster.CheckDurable();
  return is_taken;
}

std::vector<std::string> Seeds() {
  v1::AgentMessage hello;
  hello.mutable_hello()->set_node("a");
  hello.mutable_hello()->set_boot_id("boot-1");
  v1::Device& device = *hello.mutable_hello()->add_devices();
  device.set_name("cpu0");
  device.set_memory_bytes(1 << 30);
  device.set_resident_limit(2);
  v1::AttemptKey& live = *hello.mutable_hello()->add_live_attempts();
  live.set_job_id(4);
  live.set_attempt(1);
  live.set_fence(3);
  v1::AgentMessage report;
  *report.mutable_report()->add_devices() = device;
  v1::AttemptProgress& progress = *report.mutable_report()->add_progress();
  *progress.mutable_key() = live;
  progress.mutable_progress()->set_units(100);
  progress.mutable_progress()->set_unit_cpu_ns(5'000'000);
  progress.mutable_progress()->set_unit_estimate_ns(50'000);
  v1::AgentMessage ended;
  *ended.mutable_attempt_ended()->mutable_key() = live;
  ended.mutable_attempt_ended()->set_cause(v1::END_CAUSE_EXITED);
  ended.mutable_attempt_ended()->set_exit_code(1);
  // The text is cut, not in the middle of a character.
  std::string text = "x";
  for (int i = 0; i < 600; ++i) text += "\xc3\xa9";
  ended.mutable_attempt_ended()->set_text(text);
  InputWriter seed;
  for (const v1::AgentMessage* message : {&hello, &report, &ended}) {
    seed.PutPiece(message->SerializeAsString());
  }
  return {seed.Take()};
}

}  // namespace pipefill
