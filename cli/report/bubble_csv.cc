#include "cli/report/bubble_csv.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/report/unit_ledger.h"

namespace pipefill {
namespace {

constexpr char kHeader[] =
    "node,main_job,rank,stage,device,iteration,held_out,iteration_begin_ns,iteration_end_ns,class,"
    "ordinal,begin_ns,end_ns,units,filled_ns,overrun_ns\n";

// Quoted where it has to be (RFC 4180).
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string ClassText(const BubbleName& name) {
  const std::string text = BubbleText(name);
  return text.substr(0, text.find(' '));
}

}  // namespace

std::string BubbleCsv(const Trace& trace) {
  const UnitLedger ledger(trace);
  std::string csv = kHeader;
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    const RankTrace& rank = trace.ranks[r];
    const AgentStart& start = trace.starts[rank.start];
    const std::string rank_fields =
        absl::StrCat(Field(start.node), ",", Field(rank.main_job), ",", rank.rank, ",", rank.stage,
                     ",", Field(rank.device));
    for (const Iteration& iteration : rank.iterations) {
      if (!iteration.is_whole) continue;
      const int is_held_out = IsHeldOut(start.hold_out, iteration.number) ? 1 : 0;
      for (size_t b = iteration.bubbles_begin; b < iteration.bubbles_end; ++b) {
        const Bubble& bubble = rank.bubbles[b];
        const BubbleName name = NameOfSlot(rank, bubble.slot);
        const BubbleEntry& entry = ledger.entry(r, b);
        absl::StrAppend(&csv, rank_fields, ",", iteration.number, ",", is_held_out, ",",
                        iteration.begin_ns, ",", iteration.end_ns, ",");
        absl::StrAppend(&csv, ClassText(name), ",", name.ordinal, ",", bubble.begin_ns, ",",
                        bubble.end_ns, ",");
        absl::StrAppend(&csv, entry.units, ",", entry.in_bubble_ns, ",", entry.overrun_ns, "\n");
      }
    }
  }
  return csv;
}

}  // namespace pipefill
