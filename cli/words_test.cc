#include "cli/words.h"

#include <gtest/gtest.h>

#include <set>

namespace pipefill {
namespace {

TEST(WordTest, IsTheEnumsNameWithoutItsPrefix) {
  EXPECT_EQ(Word(v1::JOB_STATE_PENDING), "pending");
  EXPECT_EQ(Word(v1::ATTEMPT_STATE_STARTING), "starting");
  EXPECT_EQ(Word(v1::END_CAUSE_OUT_OF_MEMORY), "out_of_memory");
  EXPECT_EQ(Word(v1::PENDING_REASON_NO_MAIN_JOB), "no_main_job");
  EXPECT_EQ(Word(v1::FILL_MODE_REPORT), "report");
  EXPECT_EQ(Word(v1::BUBBLE_CLASS_MIDDLE), "middle");
  EXPECT_EQ(Word(v1::FILL_STATE_BACKED_OFF), "backed_off");
  EXPECT_EQ(Word(v1::BUBBLE_OFFER_TOO_FEW), "too_few");
}

TEST(WordTest, ValueOfANewerVersionIsUnspecified) {
  EXPECT_EQ(Word(static_cast<v1::JobState>(99)), "unspecified");
}

TEST(PhraseTest, EveryStateOfAMainJobHasOne) {
  std::set<std::string> phrases;
  for (int value = 1; value <= v1::FillState_MAX; ++value) {
    const std::string phrase = Phrase(static_cast<v1::FillState>(value));
    EXPECT_NE(phrase, "") << value;
    EXPECT_TRUE(phrases.insert(phrase).second) << value;
  }
  EXPECT_EQ(Phrase(static_cast<v1::FillState>(99)), "");
}

TEST(PhraseTest, SaysWhyABubbleIsNotOffered) {
  std::set<std::string> phrases;
  for (int value = v1::BUBBLE_OFFER_YES + 1; value <= v1::BubbleOffer_MAX; ++value) {
    const std::string phrase = Phrase(static_cast<v1::BubbleOffer>(value));
    EXPECT_NE(phrase, "") << value;
    EXPECT_TRUE(phrases.insert(phrase).second) << value;
  }
  EXPECT_EQ(Phrase(v1::BUBBLE_OFFER_YES), "");
}

TEST(ShortDetailTest, EveryPendingReasonHasAPhrase) {
  std::set<std::string> phrases;
  v1::Job job;
  job.set_state(v1::JOB_STATE_PENDING);
  for (int value = 1; value <= v1::PendingReasonCode_MAX; ++value) {
    if (!v1::PendingReasonCode_IsValid(value)) continue;
    job.set_pending_reason(static_cast<v1::PendingReasonCode>(value));
    EXPECT_NE(ShortDetail(job), "") << value;
    EXPECT_TRUE(phrases.insert(ShortDetail(job)).second) << value;
  }
}

TEST(ShortDetailTest, RunningJobSaysWhatIsSpecial) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_RUNNING);
  v1::Attempt& attempt = *job.add_attempts();
  attempt.set_number(1);
  attempt.set_state(v1::ATTEMPT_STATE_STARTING);
  EXPECT_EQ(ShortDetail(job), "starting");
  attempt.set_state(v1::ATTEMPT_STATE_RUNNING);
  EXPECT_EQ(ShortDetail(job), "");
  attempt.set_number(2);
  EXPECT_EQ(ShortDetail(job), "attempt 2");
  job.set_cancel_requested(true);
  EXPECT_EQ(ShortDetail(job), "cancel requested");
}

TEST(LongDetailTest, PrefersTheTextWithNumbers) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_PENDING);
  job.set_pending_reason(v1::PENDING_REASON_MEMORY);
  EXPECT_EQ(LongDetail(job), "not enough free memory");
  job.set_pending_text("needs 512 MiB, best has 312 MiB");
  EXPECT_EQ(LongDetail(job), "needs 512 MiB, best has 312 MiB");
}

TEST(JobNameTest, IsTheProgramsNameIfItHasNone) {
  v1::Job job;
  EXPECT_EQ(JobName(job), "");
  job.mutable_spec()->add_command("/usr/bin/python3");
  EXPECT_EQ(JobName(job), "python3");
  job.mutable_spec()->set_name("embed");
  EXPECT_EQ(JobName(job), "embed");
}

TEST(ExitCodeOfTest, FollowsTheStateAndTheLastAttempt) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ExitCodeOf(job), kExitOk);
  job.set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(ExitCodeOf(job), kExitJobCancelled);
  job.set_state(v1::JOB_STATE_FAILED);
  EXPECT_EQ(ExitCodeOf(job), kExitJobFailed);
  job.add_attempts()->set_end_cause(v1::END_CAUSE_LOST);
  EXPECT_EQ(ExitCodeOf(job), kExitJobLost);
  job.add_attempts()->set_end_cause(v1::END_CAUSE_EXITED);
  EXPECT_EQ(ExitCodeOf(job), kExitJobFailed);
  job.set_end_cause(v1::END_CAUSE_NOT_STARTED);
  EXPECT_EQ(ExitCodeOf(job), kExitJobLimit);
  job.set_state(v1::JOB_STATE_RUNNING);
  EXPECT_EQ(ExitCodeOf(job), kExitTimedOut);
}

}  // namespace
}  // namespace pipefill
