// Requests of users, as they come over the wire.
#include "common/check.h"
#include "proto/scheduler.pb.h"
#include "scheduler/convert/convert.h"
#include "scheduler/journal/record.h"
#include "scheduler/service/validate.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {
namespace {

enum Kind : uint8_t { kSubmit, kList, kMainJob, kContent, kKinds };

template <typename Message>
std::optional<Message> Parse(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return message;
}

// What is accepted is accepted again, and comes back from the journal.
bool TakeSubmission(v1::SubmitJobRequest request) {
  const scheduler::SpecLimits limits = {.spec_max_bytes = 1 << 30};
  const auto spec = scheduler::ReadSpec(request, limits);
  if (!spec.ok()) return false;
  *request.mutable_spec() = scheduler::ToProto(*spec);
  CHECK(scheduler::ReadSpec(request, limits).value() == *spec);
  const scheduler::JobSubmitted submitted = {JobId(1), request.key(), *spec};
  const auto decoded = scheduler::DecodeRecord(scheduler::EncodeRecord(submitted, absl::Time()));
  CHECK(decoded.ok());
  CHECK(std::get<scheduler::JobSubmitted>(decoded->event).spec == *spec);
  return true;
}

bool TakeList(const v1::ListJobsRequest& request) {
  const auto page = scheduler::ReadPageRequest(request, scheduler::Limits());
  if (page.ok()) CHECK(page->limit >= 1 && page->limit <= 1000);
  return page.ok();
}

bool TakeMainJob(const v1::UpdateMainJobRequest& request) {
  const auto change = scheduler::ReadMainJobChange(request);
  if (change.ok()) CHECK(!change->main_job.empty() && change->budget_ppm.value_or(0) <= 1'000'000);
  return change.ok();
}

bool TakeContent(const v1::ReadContentRequest& request) {
  const auto content = scheduler::ReadContentSpec(request);
  if (content.ok()) CHECK(content->limit() > 0 && content->offset() >= 0);
  return content.ok();
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const auto kind = static_cast<Kind>(reader.Take<uint8_t>() % kKinds);
  const absl::string_view bytes = reader.TakeRest();
  if (kind == kSubmit) {
    const auto request = Parse<v1::SubmitJobRequest>(bytes);
    return request.has_value() && TakeSubmission(*request);
  }
  if (kind == kList) {
    const auto request = Parse<v1::ListJobsRequest>(bytes);
    return request.has_value() && TakeList(*request);
  }
  if (kind == kMainJob) {
    const auto request = Parse<v1::UpdateMainJobRequest>(bytes);
    return request.has_value() && TakeMainJob(*request);
  }
  const auto request = Parse<v1::ReadContentRequest>(bytes);
  return request.has_value() && TakeContent(*request);
}

std::vector<std::string> Seeds() {
  const auto seed = [](Kind kind, const google::protobuf::Message& message) {
    return InputWriter().Put(kind).PutBytes(message.SerializeAsString()).Take();
  };
  v1::SubmitJobRequest submit;
  submit.set_key("k1");
  const scheduler::ClusterState state = scheduler::SomeState();
  *submit.mutable_spec() = scheduler::ToProto(*state.FindJob(JobId(1)).value()->spec);
  v1::ListJobsRequest list;
  list.set_limit(7);
  list.set_cursor(3);
  v1::UpdateMainJobRequest main_job;
  main_job.set_main_job("gpt");
  main_job.set_budget_ppm(10'000);
  main_job.set_mode(v1::FILL_MODE_REPORT);
  v1::ReadContentRequest content;
  content.set_kind(v1::CONTENT_KIND_STDOUT);
  content.set_job_id(3);
  return {seed(kSubmit, submit), seed(kList, list), seed(kMainJob, main_job),
          seed(kContent, content)};
}

}  // namespace pipefill
