#include "scheduler/testing/scripted_agent.h"

#include <utility>

namespace pipefill::scheduler {

void SetTestDeadline(grpc::ClientContext* context) {
  context->set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
}

v1::Device FilledDevice(const std::string& name, int64_t memory_bytes) {
  v1::Device device;
  device.set_name(name);
  device.set_backend("cpu");
  device.set_memory_bytes(memory_bytes);
  device.set_memory_free_bytes(memory_bytes);
  device.set_resident_limit(1);
  device.mutable_main_rank()->set_main_job("gpt");
  device.mutable_main_rank()->set_mode(v1::FILL_MODE_FILL);
  return device;
}

ScriptedAgent::ScriptedAgent(const std::string& address, const Options& options)
    : options_(options),
      stub_(v1::AgentService::NewStub(
          grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))),
      stream_((SetTestDeadline(&context_), stub_->Session(&context_))) {
  v1::AgentMessage message;
  v1::AgentHello* hello = message.mutable_hello();
  hello->set_node(options_.node);
  hello->set_boot_id(options_.boot_id);
  hello->set_version("test");
  for (const v1::Device& device : options_.devices) *hello->add_devices() = device;
  for (const v1::AttemptKey& key : options_.live_attempts) *hello->add_live_attempts() = key;
  Send(message);
}

ScriptedAgent::~ScriptedAgent() { context_.TryCancel(); }

void ScriptedAgent::Send(const v1::AgentMessage& message) { stream_->Write(message); }

void ScriptedAgent::SendStarted(const v1::AttemptKey& key) {
  v1::AgentMessage message;
  *message.mutable_attempt_started()->mutable_key() = key;
  message.mutable_attempt_started()->set_pid(4711);
  Send(message);
}

void ScriptedAgent::SendExited(const v1::AttemptKey& key, int exit_code) {
  v1::AgentMessage message;
  v1::AttemptEnded* ended = message.mutable_attempt_ended();
  *ended->mutable_key() = key;
  ended->set_cause(v1::END_CAUSE_EXITED);
  ended->set_exit_code(exit_code);
  ended->mutable_progress()->set_units(12);
  Send(message);
}

void ScriptedAgent::SendReport() {
  v1::AgentMessage message;
  for (const v1::Device& device : options_.devices) {
    *message.mutable_report()->add_devices() = device;
  }
  Send(message);
}

std::optional<v1::AgentCommand> ScriptedAgent::NextCommand() {
  v1::AgentCommand command;
  if (!commands_.empty()) {
    command = std::move(commands_.front());
    commands_.pop_front();
    return command;
  }
  while (stream_->Read(&command)) {
    if (!command.has_welcome() && !command.has_keep_alive()) return command;
  }
  return std::nullopt;
}

bool ScriptedAgent::Settle() {
  // The end of an attempt that never was is acknowledged, after all that was said before.
  SendExited(v1::AttemptKey(), 0);
  v1::AgentCommand command;
  while (stream_->Read(&command)) {
    if (command.has_welcome() || command.has_keep_alive()) continue;
    if (command.has_end_acknowledged() && command.end_acknowledged().key().job_id() == 0) {
      return true;
    }
    commands_.push_back(command);
  }
  return false;
}

grpc::Status ScriptedAgent::WaitForEnd() {
  v1::AgentCommand command;
  while (stream_->Read(&command)) {
  }
  return stream_->Finish();
}

}  // namespace pipefill::scheduler
