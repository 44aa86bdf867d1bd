// The words that commands print for the enums of proto/: lower case, with underscores, equal in
// tables and in JSON; and short phrases made from them. An unknown value of an enum gives
// "unspecified".
//
// Pure.
#ifndef CLI_WORDS_H_
#define CLI_WORDS_H_

#include <string>

#include "client/pages/signal_page.h"
#include "common/exit_code.h"
#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

std::string Word(v1::JobState state);      // "pending"
std::string Word(v1::AttemptState state);  // "starting"
std::string Word(v1::EndCause cause);      // "out_of_memory"
std::string Word(v1::DependencyCondition condition);
std::string Word(v1::PendingReasonCode reason);  // "no_main_job"
std::string Word(v1::FillMode mode);             // "report"
std::string Word(v1::BubbleClass bubble_class);  // "middle"
std::string Word(BubbleClass bubble_class);
std::string Word(v1::FillState state);         // "backed_off"
std::string Word(v1::BubbleOffer offer);       // "too_few"
std::string Word(v1::FillState state);         // "backed_off"
std::string Word(v1::BubbleOffer offer);       // "too_few"
std::string Word(v1::JobStepKind kind);        // "attempt_ended"
std::string Word(v1::JobActor actor);          // "scheduler"
std::string Word(v1::JobOutcomeCode outcome);  // "unchanged"

// What it means for the main job: "filling", "measured only, never filled"; "" if unspecified.
std::string Phrase(v1::FillState state);
// Why no unit may start in a bubble: "seen too few times"; "" if units may, or if unspecified.
std::string Phrase(v1::BubbleOffer offer);

bool IsTerminal(v1::JobState state);
// The attempt that runs or ran last; null if there was none.
const v1::Attempt* LastAttempt(const v1::Job& job);
// Name of the job, or of its program if it has none.
std::string JobName(const v1::Job& job);
// "node1/cpu0".
// "12", or "12_7" for a task of an array: what commands take for it.
std::string JobLabel(const v1::Job& job);
std::string DeviceName(const std::string& node, const std::string& device);
// Why the job is in its state, in a few words for a column of a table; "" if the state says it all.
std::string ShortDetail(const v1::Job& job);
// The same as one whole line with numbers.
std::string LongDetail(const v1::Job& job);
// What `wait` returns for a terminal job.
ExitCode ExitCodeOf(const v1::Job& job);

}  // namespace pipefill

#endif  // CLI_WORDS_H_
