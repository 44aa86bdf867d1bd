#include "cli/plan/kineto_reader.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

using Json = nlohmann::json;

constexpr char kStepPrefix[] = "ProfilerStep#";
// Times beyond these are nonsense: some 120 years in us, more than there are since 1970, and 12
// years for one event. The distance of any two is an int64_t of nanoseconds.
constexpr double kTimeMaxUs = 4e15;
constexpr double kLengthMaxUs = 4e14;
// Nothing is numbered as high; up to here a double is exact.
constexpr double kNumberMax = 9e15;

std::optional<int64_t> NumberOf(double value) {
  if (!(std::abs(value) <= kNumberMax)) return std::nullopt;
  return static_cast<int64_t>(value);
}

// Collects one event's fields, then the next one's.
struct Event {
  std::string category;
  std::string name;
  std::string phase;
  std::optional<double> begin_us;
  std::optional<double> length_us;
  // Of GPU work: its device and stream again.
  std::optional<int64_t> process;
  std::optional<int64_t> thread;
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
};

// Called by the parser for each token. The events are a list at depth 1, or under "traceEvents" of
// the object at depth 1.
class Handler : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(const std::string& source) { trace_.source = source; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool binary(binary_t&) override { return true; }

  bool string(string_t& value) override {
    if (!IsInEvent()) return true;
    if (key_ == "cat") event_.category = value;
    if (key_ == "name") event_.name = value;
    if (key_ == "ph") event_.phase = value;
    return true;
  }

  bool key(string_t& value) override {
    if (depth_ == 1) root_key_ = value;
    if (IsInEvent() || IsInArguments() || IsInDistributed()) key_.swap(value);
    return true;
  }

  bool start_object(size_t) override {
    if (IsInEvent()) is_arguments_ = key_ == "args";
    ++depth_;
    if (IsInEvent()) {
      event_ = Event();
      key_.clear();
    }
    return true;
  }

  bool end_object() override {
    if (IsInEvent()) {
      ++trace_.events;
      TakeEvent();
    }
    --depth_;
    return work_count_ <= kGpuWorkMax;
  }

  bool start_array(size_t) override {
    const bool is_list = depth_ == 0 || (depth_ == 1 && root_key_ == "traceEvents");
    ++depth_;
    if (is_list) list_depth_ = depth_;
    return true;
  }

  bool end_array() override {
    if (depth_ == list_depth_) {
      list_depth_ = kNoList;
      has_list_ = true;
    }
    --depth_;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    error_position_ = position;
    return false;
  }

  const GpuTrace& trace() const { return trace_; }
  GpuTrace Take() { return std::move(trace_); }
  bool has_list() const { return has_list_; }
  bool is_too_much() const { return work_count_ > kGpuWorkMax; }
  size_t error_position() const { return error_position_; }

 private:
  static constexpr int kNoList = -1;

  bool IsInEvent() const { return list_depth_ != kNoList && depth_ == list_depth_ + 1; }
  bool IsInArguments() const {
    return list_depth_ != kNoList && depth_ == list_depth_ + 2 && is_arguments_;
  }
  bool IsInDistributed() const {
    return list_depth_ == kNoList && depth_ == 2 && root_key_ == "distributedInfo";
  }

  bool Number(double value) {
    if (IsInEvent()) {
      if (key_ == "ts") event_.begin_us = value;
      if (key_ == "dur") event_.length_us = value;
      if (key_ == "pid") event_.process = NumberOf(value);
      if (key_ == "tid") event_.thread = NumberOf(value);
    } else if (IsInArguments()) {
      if (key_ == "device") event_.device = NumberOf(value);
      if (key_ == "stream") event_.stream = NumberOf(value);
    } else if (IsInDistributed() && key_ == "rank") {
      trace_.rank = NumberOf(value);
    }
    return true;
  }

  bool HasTime() const {
    return event_.begin_us.has_value() && event_.length_us.has_value() && *event_.length_us >= 0 &&
           std::abs(*event_.begin_us) < kTimeMaxUs && *event_.length_us < kLengthMaxUs;
  }

  bool IsOf(absl::string_view category) const {
    return absl::EqualsIgnoreCase(event_.category, category);
  }

  // Categories were written in other cases, and shorter, before 2022.
  void TakeEvent() {
    if (event_.phase != "X") return;
    const bool is_kernel = IsOf("kernel");
    if (is_kernel || IsOf("gpu_memcpy") || IsOf("gpu_memset") || IsOf("memcpy") || IsOf("memset")) {
      return TakeWork(is_kernel);
    }
    const bool is_mark = IsOf("user_annotation") || IsOf("gpu_user_annotation");
    if (is_mark && absl::StartsWith(event_.name, kStepPrefix)) TakeStep();
  }

  void TakeWork(bool is_kernel) {
    const std::optional<int64_t> device =
        event_.device.has_value() ? event_.device : event_.process;
    const std::optional<int64_t> stream = event_.stream.has_value() ? event_.stream : event_.thread;
    if (!HasTime() || !device.has_value() || !stream.has_value()) {
      ++trace_.malformed;
      return;
    }
    ++work_count_;
    const auto [place, is_new] =
        name_numbers_.try_emplace(event_.name, static_cast<uint32_t>(trace_.names.size()));
    if (is_new) trace_.names.push_back(event_.name);
    trace_.devices[*device].push_back({.begin_ns = BeginNs(),
                                       .end_ns = BeginNs() + LengthNs(),
                                       .stream = *stream,
                                       .name = place->second,
                                       .is_kernel = is_kernel});
  }

  void TakeStep() {
    StepMark step;
    const std::string digits = event_.name.substr(sizeof(kStepPrefix) - 1);
    if (!HasTime() || !absl::SimpleAtoi(digits, &step.number)) return;
    step.begin_ns = BeginNs();
    step.end_ns = step.begin_ns + LengthNs();
    if (IsOf("gpu_user_annotation")) {
      step.device = event_.device.has_value() ? event_.device : event_.process;
    }
    trace_.steps.push_back(step);
  }

  int64_t BeginNs() const { return std::llround(*event_.begin_us * 1e3); }
  int64_t LengthNs() const { return std::llround(*event_.length_us * 1e3); }

  GpuTrace trace_;
  std::map<std::string, uint32_t> name_numbers_;
  Event event_;
  std::string root_key_;
  std::string key_;  // the last one of an event, of its arguments, or of distributedInfo
  int depth_ = 0;
  int list_depth_ = kNoList;
  bool has_list_ = false;
  bool is_arguments_ = false;
  int64_t work_count_ = 0;
  size_t error_position_ = 0;
};

absl::Status ErrorOf(const Handler& handler, std::istream& in, const std::string& source) {
  if (handler.is_too_much()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(source, ": more than ", kGpuWorkMax, " kernels; record fewer steps"));
  }
  const bool is_at_end = in.eof() || in.peek() == std::istream::traits_type::eof();
  if (is_at_end && handler.trace().events > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": cut off after ", handler.trace().events, " events, at byte ",
                     handler.error_position(), "; export or copy it again"));
  }
  return absl::InvalidArgumentError(absl::StrCat(source, ": no JSON from byte ",
                                                 handler.error_position(),
                                                 " on; give a trace of the PyTorch profiler"));
}

}  // namespace

absl::StatusOr<GpuTrace> ReadKineto(std::istream& in, const std::string& source) {
  Handler handler(source);
  const bool is_read = Json::sax_parse(in, &handler);
  if (!is_read) return ErrorOf(handler, in, source);
  if (!handler.has_list()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": JSON, but no trace: it has no list traceEvents; give what ",
                     "torch.profiler's export_chrome_trace wrote"));
  }
  return handler.Take();
}

}  // namespace pipefill
