// Records of the journal: what is taken comes back from its own encoding.
#include <google/protobuf/util/message_differencer.h>

#include "common/check.h"
#include "proto/journal.pb.h"
#include "scheduler/journal/record.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  const auto decoded = scheduler::DecodeRecord(input);
  if (!decoded.ok()) return false;
  const std::string once = scheduler::EncodeRecord(decoded->event, decoded->wall);
  const auto again = scheduler::DecodeRecord(once);
  CHECK(again.ok());
  CHECK(again->wall == decoded->wall);
  CHECK(again->event.index() == decoded->event.index());
  CHECK(scheduler::IsSame<v1::JournalRecord>(once,
                                             scheduler::EncodeRecord(again->event, again->wall)));
  return true;
}

std::vector<std::string> Seeds() { return scheduler::SomeRecords(); }

}  // namespace pipefill
