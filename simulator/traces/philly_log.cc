#include "simulator/traces/philly_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "simulator/traces/field.h"

namespace pipefill::simulator {
namespace {

using Json = nlohmann::json;

struct Attempt {
  std::string start;
  std::string end;
  int64_t gpus = 0;
};

// Collects one job's fields, then the next one's.
struct Job {
  std::string submitted;
  std::string user;
  std::string status;
  absl::Duration device_time;
  int64_t gpus = 0;
  std::optional<absl::Duration> first_start;
  bool has_attempt = false;
  bool is_broken = false;
  bool ends_before_start = false;
};

// Called by the parser for each token. Depths: 1 the list, 2 a job, 3 its attempts, 4 an attempt,
// 5 its details, 6 one of them, 7 its GPUs.
class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(const PhillyKeys& keys, absl::TimeZone zone, TraceBuilder& builder)
      : keys_(keys), zone_(zone), builder_(builder) {}

  bool null() override { return Scalar(""); }
  bool boolean(bool) override { return Scalar(""); }
  bool number_integer(number_integer_t value) override { return Scalar(absl::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(absl::StrCat(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Scalar(text); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override { return Scalar(value); }

  bool key(string_t& value) override {
    if (depth_ < key_.size()) key_[depth_].swap(value);
    return true;
  }

  bool start_object(size_t) override {
    ++depth_;
    if (depth_ < key_.size()) key_[depth_].clear();
    if (depth_ == 1) return false;
    if (depth_ == 2) job_ = Job();
    if (IsInAttempt() && depth_ == 4) attempt_ = Attempt();
    return true;
  }

  bool end_object() override {
    if (IsInAttempt() && depth_ == 4) TakeAttempt();
    --depth_;
    return depth_ != 1 || AddJob();
  }

  bool start_array(size_t) override {
    ++depth_;
    if (depth_ < key_.size()) key_[depth_].clear();
    is_list_ = true;
    return depth_ != 2 || AddBroken();
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    // "... parse error at line 7, column 3: ..."
    const std::string what = error.what();
    const size_t at = what.find("line ");
    if (at != std::string::npos) line_ = std::strtoll(what.c_str() + at + 5, nullptr, 10);
    return false;
  }

  bool is_list() const { return is_list_; }
  int64_t line() const { return line_; }
  const absl::Status& status() const { return status_; }

 private:
  bool IsInAttempt() const { return depth_ >= 4 && key_[2] == "attempts"; }

  bool Scalar(const std::string& text) {
    if (depth_ == 0) return false;
    if (depth_ == 1) return AddBroken();
    if (depth_ == 2) {
      const std::string& key = key_[2];
      if (key == keys_.submit) job_.submitted = text;
      if (key == keys_.user) job_.user = text;
      if (key == keys_.status) job_.status = text;
    } else if (depth_ == 4 && IsInAttempt()) {
      if (key_[4] == "start_time") attempt_.start = text;
      if (key_[4] == "end_time") attempt_.end = text;
    } else if (depth_ == 7 && IsInAttempt()) {
      if (key_[4] == "detail" && key_[6] == "gpus") ++attempt_.gpus;
    }
    return true;
  }

  void TakeAttempt() {
    job_.has_attempt = true;
    job_.gpus = std::max(job_.gpus, attempt_.gpus);
    const Field<absl::Duration> start = ParseTraceTime(attempt_.start, zone_);
    const Field<absl::Duration> end = ParseTraceTime(attempt_.end, zone_);
    job_.is_broken |= start.state == FieldState::kBroken || end.state == FieldState::kBroken;
    if (start.state != FieldState::kGood) return;
    if (!job_.first_start.has_value()) job_.first_start = start.value;
    if (end.state != FieldState::kGood) return;
    if (end.value < start.value) {
      job_.ends_before_start = true;
    } else {
      job_.device_time += (end.value - start.value) * attempt_.gpus;
    }
  }

  // Fills in `job`, or says why not.
  std::optional<SkipReason> Read(TraceJob& job) {
    const Field<absl::Duration> submitted = ParseTraceTime(job_.submitted, zone_);
    if (job_.is_broken || submitted.state == FieldState::kBroken) return SkipReason::kBroken;
    if (!job_.has_attempt) return SkipReason::kNoRun;
    if (job_.gpus == 0) return SkipReason::kNoGpu;
    const bool is_told = submitted.state == FieldState::kGood;
    if (!is_told && !job_.first_start.has_value()) return SkipReason::kNoSubmission;
    if (job_.device_time <= absl::ZeroDuration()) {
      return job_.ends_before_start ? SkipReason::kEndsBeforeStart : SkipReason::kNoRun;
    }
    job.submitted = is_told ? submitted.value : *job_.first_start;
    job.device_time = job_.device_time;
    job.gpus = static_cast<double>(job_.gpus);
    job.user = builder_.NameOf(job_.user);
    job.status = builder_.NameOf(job_.status);
    return std::nullopt;
  }

  bool AddJob() {
    TraceJob job;
    const std::optional<SkipReason> skipped = Read(job);
    status_ = builder_.AddRow(builder_.rows() + 1, skipped, job);
    return status_.ok();
  }

  bool AddBroken() {
    status_ = builder_.AddRow(builder_.rows() + 1, SkipReason::kBroken, TraceJob());
    return status_.ok();
  }

  const PhillyKeys& keys_;
  const absl::TimeZone zone_;
  TraceBuilder& builder_;
  size_t depth_ = 0;
  std::array<std::string, 8> key_;  // the last one at each depth
  bool is_list_ = false;
  Job job_;
  Attempt attempt_;
  int64_t line_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status ReadPhillyLog(std::istream& in, const PhillyKeys& keys, absl::TimeZone zone,
                           TraceBuilder& builder) {
  Handler handler(keys, zone, builder);
  if (Json::sax_parse(in, &handler)) return absl::OkStatus();
  if (!handler.status().ok()) return handler.status();
  const std::string& source = builder.source();
  if (!handler.is_list()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": no list of jobs in JSON; give cluster_job_log"));
  }
  const bool is_at_end = in.eof() || in.peek() == std::istream::traits_type::eof();
  return absl::InvalidArgumentError(absl::StrCat(source, ":", handler.line(), ": ",
                                                 is_at_end ? "cut off" : "no JSON", " after ",
                                                 builder.rows(), " jobs; copy it again"));
}

}  // namespace pipefill::simulator
