#include "scheduler/core/profile_book.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace pipefill::scheduler {
namespace {

// Digest of words: FNV-1a, each word with its length. The same in every process.
class Digest {
 public:
  void Add(absl::string_view word) {
    AddBytes(absl::StrCat(word.size(), ":"));
    AddBytes(word);
  }
  std::string text() const { return absl::StrCat(absl::Hex(value_)); }

 private:
  void AddBytes(absl::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * uint64_t{1'099'511'628'211};
    }
  }

  uint64_t value_ = uint64_t{14'695'981'039'346'656'037U};
};

bool IsProcess(const JobSpec& spec) { return spec.way == FillWay::kProcess; }

std::string ContentKey(const JobSpec& spec) {
  Digest digest;
  digest.Add(IsProcess(spec) ? "process" : "sdk");
  for (const std::string& argument : spec.command) digest.Add(argument);
  digest.Add("");  // no argument is the name of a variable
  for (const auto& [name, value] : spec.env) {
    digest.Add(name);
    digest.Add(value);
  }
  return digest.text();
}

// Empty for a job whose name nobody has chosen: every Python script would be the same.
std::string NameKey(const JobSpec& spec) {
  if (spec.command.empty()) return "";
  const absl::string_view program = spec.command[0];
  const size_t slash = program.rfind('/');
  const absl::string_view default_name =
      slash == absl::string_view::npos ? program : program.substr(slash + 1);
  if (spec.name.empty() || spec.name == default_name) return "";
  return absl::StrCat(IsProcess(spec) ? "process " : "sdk ", spec.name, " ", program);
}

}  // namespace

bool HasSameContent(const JobSpec& a, const JobSpec& b) {
  return IsProcess(a) == IsProcess(b) && a.command == b.command && a.env == b.env;
}

bool HasSameName(const JobSpec& a, const JobSpec& b) {
  return a.name == b.name && !NameKey(a).empty() && NameKey(a) == NameKey(b);
}

JobProfile ProfileBook::ProfileFor(const JobSpec& spec) const {
  JobProfile own{.profile = std::make_shared<const FillProfile>(spec.profile)};
  if (!spec.profile.configurations.empty()) return own;
  const Entry* known = by_content_.Find(ContentKey(spec));
  const bool is_same = known != nullptr;
  const std::string name_key = NameKey(spec);
  if (!is_same && !name_key.empty()) known = by_name_.Find(name_key);
  if (known == nullptr) return own;
  FillProfile profile = *known->profile;
  // Other arguments may mean another amount of work.
  if (!is_same || spec.profile.samples_total > 0) {
    profile.samples_total = spec.profile.samples_total;
  }
  return {.profile = std::make_shared<const FillProfile>(std::move(profile)),
          .source = absl::StrCat(known->is_learned ? "learned by job " : "given with job ",
                                 known->job.value(), is_same ? "" : ", which has the same name"),
          .is_of_this_content = is_same,
          .is_learned = known->is_learned};
}

void ProfileBook::OnGiven(const Job& job) {
  CHECK(!job.spec->profile.configurations.empty());
  Put(*job.spec, {.profile = std::make_shared<const FillProfile>(job.spec->profile),
                  .job = job.id,
                  .is_learned = false});
}

void ProfileBook::OnLearned(const Job& job) {
  const Attempt& attempt = job.attempts.back();
  const FillProgress& progress = attempt.progress;
  if (progress.units < kUnitsToSettle) return;
  auto profile = std::make_shared<FillProfile>();
  profile->configurations = {
      LearnedConfiguration(progress.units, progress.unit_cpu_ns, progress.unit_estimate_ns)};
  // Of a job that was done in one attempt the amount of work is known too: a sample is a unit.
  const bool is_whole = job.phase == JobPhase::kSucceeded && job.attempts.size() == 1;
  profile->samples_total = is_whole ? progress.units : job.spec->profile.samples_total;
  Put(*job.spec, {.profile = std::move(profile), .job = job.id, .is_learned = true});
}

std::vector<ProfileBook::Record> ProfileBook::Records() const {
  std::vector<Record> records;
  for (const std::string& key : by_content_.keys()) {
    records.push_back({.is_by_name = false, .key = key, .entry = *by_content_.Find(key)});
  }
  for (const std::string& key : by_name_.keys()) {
    records.push_back({.is_by_name = true, .key = key, .entry = *by_name_.Find(key)});
  }
  return records;
}

void ProfileBook::Restore(const Record& record) {
  (record.is_by_name ? by_name_ : by_content_).Put(record.key, record.entry);
}

void ProfileBook::Put(const JobSpec& spec, const Entry& entry) {
  by_content_.Put(ContentKey(spec), entry);
  const std::string name_key = NameKey(spec);
  if (!name_key.empty()) by_name_.Put(name_key, entry);
}

const ProfileBook::Entry* ProfileBook::Table::Find(const std::string& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

void ProfileBook::Table::Put(const std::string& key, const Entry& entry) {
  const bool is_new = entries_.insert_or_assign(key, entry).second;
  if (!is_new) return;
  order_.push_back(key);
  if (order_.size() <= entries_max_) return;
  entries_.erase(order_.front());
  order_.pop_front();
}

}  // namespace pipefill::scheduler
