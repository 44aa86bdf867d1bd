#include "scheduler/journal/store_tools.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/status.h"
#include "scheduler/journal/high_water_mark.h"
#include "scheduler/journal/journal.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/sqlite_journal.h"
#include "scheduler/journal/wal.h"

namespace pipefill::scheduler {
namespace {

namespace fs = std::filesystem;

// The store is believed, whatever limits it was written under.
ClusterLimits NoLimits() {
  ClusterLimits limits;
  limits.jobs_max = INT64_MAX;
  limits.main_jobs_max = SIZE_MAX;
  return limits;
}

std::string CountsText(const ClusterState& state) {
  const JobCounts counts = state.counts();
  return absl::StrCat(counts.pending, " pending, ", counts.running, " running, ", counts.ended,
                      " ended");
}

// Into `state`, which is empty.
absl::Status ReadSnapshot(const FileSnapshotStore& snapshots, int64_t sequence, Instant now,
                          ClusterState* state) {
  SnapshotDecoder decoder(now, state);
  RETURN_IF_ERROR(
      snapshots.Read(sequence, [&](absl::string_view piece) { return decoder.Take(piece); }));
  return decoder.Finish();
}

absl::Status FileError(const std::error_code& error, absl::string_view what) {
  return ErrnoStatus(error.value(), what);
}

absl::StatusOr<std::vector<fs::directory_entry>> EntriesOf(const std::string& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    entries.push_back(*entry);
  }
  if (error) return FileError(error, absl::StrCat("read folder ", folder));
  return entries;
}

// Copies the files of the folder, not its folders, and makes the copies durable.
absl::Status CopyFiles(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, EntriesOf(from));
  std::error_code error;
  fs::create_directory(to, error);
  for (const fs::directory_entry& entry : entries) {
    if (error) break;
    if (!entry.is_regular_file(error) || entry.path().filename() == "reserve") continue;
    const fs::path copy = fs::path(to) / entry.path().filename();
    fs::copy_file(entry.path(), copy, error);
    if (error) break;
    const FileDescriptor file(open(copy.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open() || fsync(file.get()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("sync ", copy.string()));
    }
  }
  if (error) {
    return FileError(error, absl::StrCat("copy ", from, " to ", to, ", before any change"));
  }
  RETURN_IF_ERROR(SyncFolder(to));
  return SyncFolder(from);
}

// Ids and fences that may have been given and forgotten are not given again.
absl::Status JumpCounters(ClusterState* state, JobId seen) {
  const DurableState durable = state->Durable();
  const int64_t last = std::max(durable.next_job_id.value(), seen.value());
  const absl::Status jumped =
      state->RestoreCounters(JobId(last + kIdJump), Fence(durable.last_fence.value() + kFenceJump));
  return WithContext(jumped, absl::StrCat("ids cannot go up by ", kIdJump, " from ", last));
}

absl::Status WriteState(const std::string& folder, ClusterState* state,
                        const SnapshotStamp& stamp) {
  FileSnapshotStore snapshots(folder);
  return snapshots.Write(FrameWriter(SnapshotEncoder(state->Durable(), stamp)),
                         std::atomic<bool>(false));
}

void TellCounters(ClusterState& state, std::ostream& out) {
  const DurableState durable = state.Durable();
  out << "state: " << CountsText(state) << "; the next job gets id " << durable.next_job_id.value()
      << ", the next attempt fence " << durable.last_fence.value() + 1 << "\n";
}

// That of a folder which was restored and never started.
class NoJournal : public Journal {
 public:
  explicit NoJournal(const std::string& folder) : high_water_(HighWaterMark(folder).value()) {}

  absl::Status ForEachRecord(int64_t, const RecordVisitor&) override { return absl::OkStatus(); }
  absl::Status Append(const std::vector<std::string>&) override {
    return absl::FailedPreconditionError("there is no journal");
  }
  absl::StatusOr<bool> RemoveUpTo(int64_t, int64_t) override { return true; }
  int64_t first_sequence() const override { return 1; }
  int64_t last_sequence() const override { return 0; }
  int64_t high_water() const override { return high_water_; }
  void SkipTo(int64_t) override {}

 private:
  const int64_t high_water_;
};

// What can be kept of a damaged store.
struct Kept {
  std::optional<ClusterState> state;
  int64_t reached = 0;  // the last record in it
  absl::Status damage;  // what ended it
};

class Repair {
 public:
  Repair(std::string folder, const Clock& clock, std::ostream& out)
      : folder_(std::move(folder)), clock_(clock), out_(out), snapshots_(folder_) {}

  absl::Status Run() {
    absl::StatusOr<std::unique_ptr<SqliteJournal>> opened = SqliteJournal::OpenToRead(folder_);
    if (opened.ok()) journal_ = *std::move(opened);
    const absl::StatusCode code = opened.status().code();
    if (!opened.ok() && code != absl::StatusCode::kDataLoss &&
        code != absl::StatusCode::kNotFound) {
      return opened.status();
    }
    ASSIGN_OR_RETURN(sequences_, snapshots_.List());
    if (journal_ == nullptr && sequences_.empty()) return opened.status();
    is_never_started_ = code == absl::StatusCode::kNotFound;
    if (journal_ == nullptr) out_ << "journal: " << opened.status().message() << "\n";
    Kept kept = FindBest();
    if (!kept.state.has_value()) {
      return absl::DataLossError(
          "no snapshot can be read and the first records are removed, so nothing can be kept; use "
          "`schedulerd restore` with a backup");
    }
    const int64_t end = End(kept.reached);
    ASSIGN_OR_RETURN(const WalReport log, InspectWal(folder_ + "/journal.db-wal"));
    if (kept.damage.ok() && end == kept.reached && !log.is_damaged && are_snapshots_good_) {
      out_ << "nothing is damaged; nothing was changed\n";
      return absl::OkStatus();
    }
    return Replace(std::move(kept), end);
  }

 private:
  // The base from which most records can be replayed.
  Kept FindBest() {
    std::vector<int64_t> bases = sequences_;
    bases.push_back(0);
    Kept best;
    for (int64_t base : bases) {
      Kept kept = KeepFrom(base);
      if (kept.state.has_value() && (!best.state.has_value() || kept.reached > best.reached)) {
        best.state.emplace(*std::move(kept.state));
        best.reached = kept.reached;
        best.damage = kept.damage;
      }
      if (best.state.has_value() && best.damage.ok()) break;
    }
    return best;
  }

  Kept KeepFrom(int64_t base) {
    Kept kept;
    kept.reached = base;
    const Instant now = clock_.Now();
    kept.state.emplace(NoLimits());
    const absl::Status read =
        base == 0 ? absl::OkStatus() : ReadSnapshot(snapshots_, base, now, &*kept.state);
    const bool is_base = base > 0 || (journal_ != nullptr && journal_->first_sequence() == 1);
    if (!read.ok()) out_ << read.message() << "\n";
    are_snapshots_good_ = are_snapshots_good_ && read.ok();
    if (!read.ok() || !is_base) {
      kept.state.reset();
      return kept;
    }
    if (journal_ != nullptr) {
      kept.damage = ReplayAfter(*journal_, base, now, &*kept.state, &kept.reached);
    } else if (!is_never_started_) {
      kept.damage = absl::DataLossError("the journal cannot be read");
    }
    return kept;
  }

  // The last record that ever was, as far as anything tells.
  int64_t End(int64_t reached) const {
    int64_t end = std::max(reached, HighWaterMark(folder_).value());
    if (journal_ != nullptr) end = std::max(end, journal_->last_sequence());
    if (!sequences_.empty()) end = std::max(end, sequences_.front());
    return end;
  }

  absl::Status Replace(Kept kept, int64_t end) {
    const std::string copy =
        absl::StrCat(folder_, "/damaged-", absl::ToUnixSeconds(clock_.WallNow()));
    RETURN_IF_ERROR(CopyFiles(folder_, copy));
    out_ << "the folder as it was: " << copy << "\n";
    const JobId seen = TellLost(kept, end);
    RETURN_IF_ERROR(JumpCounters(&*kept.state, seen));
    journal_ = nullptr;
    // From here on the new snapshot counts, and what is older is behind it.
    RETURN_IF_ERROR(
        WriteState(folder_, &*kept.state, {.sequence = end + 1, .wall = clock_.WallNow()}));
    for (const char* name : {"journal.db", "journal.db-wal", "journal.db-shm", "journal.mark"}) {
      std::error_code error;
      fs::remove(fs::path(folder_) / name, error);
      if (error) return FileError(error, absl::StrCat("remove ", folder_, "/", name));
    }
    RETURN_IF_ERROR(snapshots_.RemoveOlder(1));
    TellCounters(*kept.state, out_);
    return absl::OkStatus();
  }

  // Returns the largest id of a job that can still be read behind the damage.
  JobId TellLost(const Kept& kept, int64_t end) {
    JobId seen;
    if (!kept.damage.ok()) out_ << "damage: " << kept.damage.message() << "\n";
    if (end == kept.reached) return seen;
    out_ << "lost: records " << kept.reached + 1 << " to " << end << "\n";
    if (journal_ == nullptr) return seen;
    std::string jobs;
    for (int64_t at = kept.reached + 1; at <= journal_->last_sequence(); ++at) {
      // Whatever is damaged itself, or missing, says nothing.
      journal_
          ->ForEachRecord(at - 1,
                          [&](int64_t sequence, absl::string_view record) {
                            at = sequence;
                            const auto decoded = DecodeRecord(record);
                            if (!decoded.ok()) return absl::OkStatus();
                            const auto* job = std::get_if<JobSubmitted>(&decoded->event);
                            if (job == nullptr) return absl::OkStatus();
                            seen = std::max(seen, job->job);
                            absl::StrAppend(&jobs, jobs.empty() ? "" : ", ", job->job.value());
                            return absl::OkStatus();
                          })
          .IgnoreError();
    }
    if (!jobs.empty())
      out_ << "lost: jobs submitted in them that can still be read: " << jobs << "\n";
    return seen;
  }

  const std::string folder_;
  const Clock& clock_;
  std::ostream& out_;
  FileSnapshotStore snapshots_;
  std::unique_ptr<SqliteJournal> journal_;
  std::vector<int64_t> sequences_;
  bool are_snapshots_good_ = true;
  // As far as it tells: there is no journal. The mark says if there was one.
  bool is_never_started_ = false;
};

}  // namespace

absl::Status CheckStore(const std::string& state_folder, const Clock& clock, std::ostream& out) {
  absl::StatusOr<std::unique_ptr<SqliteJournal>> opened = SqliteJournal::OpenToRead(state_folder);
  if (!opened.ok() && opened.status().code() != absl::StatusCode::kNotFound) {
    return opened.status();
  }
  const FileSnapshotStore snapshots(state_folder);
  ASSIGN_OR_RETURN(const std::vector<int64_t> sequences, snapshots.List());
  if (!opened.ok() && sequences.empty()) return opened.status();
  FileDescriptor lock;
  std::unique_ptr<Journal> journal;
  if (opened.ok()) {
    for (const std::string& warning : (*opened)->warnings()) out << "warning: " << warning << "\n";
    journal = *std::move(opened);
  } else {
    ASSIGN_OR_RETURN(lock, LockFolder(state_folder));
    journal = std::make_unique<NoJournal>(state_folder);
  }
  absl::Status damage;
  for (int64_t sequence : sequences) {
    ClusterState state{NoLimits()};
    const absl::Status read = ReadSnapshot(snapshots, sequence, clock.Now(), &state);
    out << "snapshot " << sequence << ": " << (read.ok() ? CountsText(state) : read.message())
        << "\n";
    if (damage.ok()) damage = read;
  }
  const int64_t last = journal->last_sequence();
  if (last == 0) {
    out << "journal: no records\n";
  } else {
    out << "journal: records " << journal->first_sequence() << " to " << last << "\n";
  }
  absl::StatusOr<Recovered> recovered = RecoverStore(*journal, snapshots, NoLimits(), clock.Now());
  if (!recovered.ok()) return recovered.status();
  TellCounters(recovered->state, out);
  return damage;
}

absl::Status RepairStore(const std::string& state_folder, const Clock& clock, std::ostream& out) {
  return Repair(state_folder, clock, out).Run();
}

absl::Status RestoreStore(const std::string& state_folder, const std::string& file,
                          const Clock& clock, std::ostream& out) {
  ClusterState state{NoLimits()};
  SnapshotDecoder decoder(clock.Now(), &state);
  RETURN_IF_ERROR(
      ReadSnapshotFile(file, [&](absl::string_view piece) { return decoder.Take(piece); }));
  RETURN_IF_ERROR(WithContext(decoder.Finish(), file));
  RETURN_IF_ERROR(MakeWritableFolder(state_folder));
  ASSIGN_OR_RETURN(const FileDescriptor lock, LockFolder(state_folder));
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, EntriesOf(state_folder));
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, "journal.") && !absl::StartsWith(name, "snapshot-")) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("state folder ", state_folder, " holds a store already (", name,
                     "); move it aside, or choose another folder"));
  }
  RETURN_IF_ERROR(JumpCounters(&state, JobId()));
  // Larger than 0, which stands for no snapshot.
  const int64_t sequence = std::max<int64_t>(decoder.stamp().sequence, 1);
  RETURN_IF_ERROR(
      WriteState(state_folder, &state, {.sequence = sequence, .wall = decoder.stamp().wall}));
  out << "restored as of " << absl::FormatTime(decoder.stamp().wall, absl::UTCTimeZone()) << "\n";
  TellCounters(state, out);
  return absl::OkStatus();
}

}  // namespace pipefill::scheduler
