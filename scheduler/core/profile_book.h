// Which profile a job has that is submitted without one: that of an earlier job with the same
// content (command, environment, way), or else of one with the same name and program.
//
//   submitted with configurations --------> given ---+
//   attempt ended that had none -----------> learned -+--> newest of that content, of that name
//
// Made of durable events alone, so that replay gives the same book.
//
// Thread-compatible: belongs to one loop. Profiles that were handed out never change.
#ifndef SCHEDULER_CORE_PROFILE_BOOK_H_
#define SCHEDULER_CORE_PROFILE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

// What lets a job go by the other one's profile, the first one before the other.
bool HasSameContent(const JobSpec& a, const JobSpec& b);
// A name that somebody has chosen, of the same program.
bool HasSameName(const JobSpec& a, const JobSpec& b);

class ProfileBook {
 public:
  // At most `entries_max` contents and as many names are kept; the oldest go first. REQUIRES: > 0.
  explicit ProfileBook(size_t entries_max = 10'000)
      : by_content_(entries_max), by_name_(entries_max) {}

  // What the job goes by: its own profile, or a known one with the job's own samples_total, if it
  // names one.
  JobProfile ProfileFor(const JobSpec& spec) const;

  // The job was submitted with configurations of its own. REQUIRES: it has some.
  void OnGiven(const Job& job);
  // The last attempt of the job has ended, which goes by no profile but perhaps a learned one.
  void OnLearned(const Job& job);

  struct Entry {
    std::shared_ptr<const FillProfile> profile;
    JobId job;
    bool is_learned = false;
  };
  // An entry as it is kept.
  struct Record {
    bool is_by_name = false;
    std::string key;
    Entry entry;

    friend bool operator==(const Record& a, const Record& b) {
      return a.is_by_name == b.is_by_name && a.key == b.key &&
             *a.entry.profile == *b.entry.profile && a.entry.job == b.entry.job &&
             a.entry.is_learned == b.entry.is_learned;
    }
  };
  bool empty() const { return by_content_.keys().empty(); }
  // All entries, in an order in which Restore makes the same book of them.
  std::vector<Record> Records() const;
  void Restore(const Record& record);

 private:
  // Entries by a key, the oldest of which goes when there are too many.
  class Table {
   public:
    explicit Table(size_t entries_max) : entries_max_(entries_max) {}
    const Entry* Find(const std::string& key) const;
    void Put(const std::string& key, const Entry& entry);
    // The oldest first.
    const std::deque<std::string>& keys() const { return order_; }

   private:
    size_t entries_max_;
    absl::flat_hash_map<std::string, Entry> entries_;
    std::deque<std::string> order_;  // of first entry
  };

  void Put(const JobSpec& spec, const Entry& entry);

  Table by_content_;
  Table by_name_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_PROFILE_BOOK_H_
