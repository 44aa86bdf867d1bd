#include "cli/waiting_text.h"

#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

std::string NearestText(const v1::PendingDetail& pending) {
  if (pending.nearest_node().empty()) return "none has a main job to fill";
  return DeviceName(pending.nearest_node(), pending.nearest_device());
}

}  // namespace

std::string WaitingFacts(const v1::Job& job) {
  const v1::PendingDetail& pending = job.pending();
  Facts facts;
  facts.AddProse("rule", pending.rule().empty() ? LongDetail(job) : pending.rule());
  if (!job.has_pending()) return facts.Text();
  facts.Add("need", FormatBytes(pending.need_bytes()));
  facts.Add("have", pending.have_bytes() == 0
                        ? "no device with a free seat"
                        : absl::StrCat(FormatBytes(pending.have_bytes()),
                                       " at most, on a device with a free seat"));
  facts.Add("nearest", NearestText(pending));
  facts.Add("in line", pending.place() == 0 ? "not yet: it waits for its next try"
                                            : absl::StrCat(FormatCount(pending.place()), " of ",
                                                           FormatCount(pending.waiting()),
                                                           ", priority ", job.spec().priority()));
  for (const std::string& line : pending.help()) facts.AddProse("would help", line);
  return facts.Text();
}

}  // namespace pipefill
