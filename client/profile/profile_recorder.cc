#include "client/profile/profile_recorder.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace pipefill::sdk {

ProfileRecorder::ProfileRecorder(const Clock& clock, std::string path)
    : clock_(clock), path_(std::move(path)), written_at_ns_(clock.NowNs()) {}

ProfileRecorder::~ProfileRecorder() { Write(); }

void ProfileRecorder::OnStats(const pf_task_stats& stats) {
  const uint64_t units = stats.units - units_;
  // What other programs took away shows in the one, further threads in the other.
  const uint64_t time_ns = std::min(stats.unit_wall_ns - wall_ns_, stats.unit_cpu_ns - cpu_ns_);
  units_ = stats.units;
  wall_ns_ = stats.unit_wall_ns;
  cpu_ns_ = stats.unit_cpu_ns;
  if (units == 0) return;
  const bool is_known = times_.size() < kKindsMax || times_.count(kind_) > 0;
  if (is_known) Add(time_ns / units);
  const uint64_t now_ns = clock_.NowNs();
  if (now_ns - written_at_ns_ < kWriteNs) return;
  written_at_ns_ = now_ns;
  Write();
}

void ProfileRecorder::Add(uint64_t time_ns) {
  const auto [known, is_first] = times_.try_emplace(kind_);
  // The first one warms up caches and libraries; it counts only as long as it is alone.
  if (!is_first && warm_.insert(kind_).second) known->second = UnitTimes();
  known->second.Add(time_ns);
}

void ProfileRecorder::Begin(uint32_t label, uint32_t size) { kind_ = {label, size}; }

uint32_t ProfileRecorder::ChooseSize(uint32_t n_min, uint32_t n_max) {
  uint64_t size = n_min;
  for (uint32_t i = 0; i < step_ && size < n_max; ++i) size *= 2;
  step_ = size < n_max ? step_ + 1 : 0;
  return size < n_max ? static_cast<uint32_t>(size) : n_max;
}

std::string ProfileRecorder::Text() const {
  std::string text = "pipefill-units 1\n";
  for (const auto& [kind, times] : times_) {
    text += "unit label=" + std::to_string(kind.first) + " size=" + std::to_string(kind.second) +
            " count=" + std::to_string(times.count()) +
            " total_ns=" + std::to_string(times.total_ns()) +
            " p50_ns=" + std::to_string(times.QuantileNs(0.5)) +
            " p90_ns=" + std::to_string(times.QuantileNs(0.9)) +
            " max_ns=" + std::to_string(times.max_ns()) + "\n";
  }
  return text;
}

void ProfileRecorder::Write() const {
  const std::string fresh = path_ + ".new";
  std::FILE* file = std::fopen(fresh.c_str(), "we");
  if (file == nullptr) return;
  const std::string text = Text();
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_closed = std::fclose(file) == 0;
  if (is_whole && is_closed) {
    std::rename(fresh.c_str(), path_.c_str());
  } else {
    std::remove(fresh.c_str());
  }
}

}  // namespace pipefill::sdk
