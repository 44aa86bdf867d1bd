"""The comparison of the fault tests finds what it is there to find."""

import unittest
from unittest import mock

import store_faults as faults

KNOWN = """attempt 1 1 5
seen 1 a JOB_STATE_SUCCEEDED 1 1 0
seen 2 b JOB_STATE_CANCELLED 0 0 0
seen 3 c JOB_STATE_PENDING 0 0 0
"""


def told(text):
    result = faults.Told()
    result.read(text)
    return result


class AfterRestart(unittest.TestCase):
    def findings(self, text, known=KNOWN):
        tally = faults.Tally()
        with mock.patch.object(faults, "run_client", return_value=known):
            faults.check_after_restart(told(text), "address", tally, "here")
        return [line.split(":")[0] for line in tally.texts]

    def test_what_is_as_it_was_told_is_fine(self):
        self.assertEqual(self.findings("job a 1\njob b 2\ncancelled 2\nlaunched 1 1 5\nended 1 1 5"), [])

    def test_answered_job_that_is_gone(self):
        self.assertEqual(self.findings("job x 4"), ["lost"])

    def test_id_that_is_of_another_job_now(self):
        self.assertEqual(self.findings("job x 3"), ["reused_ids"])

    def test_cancellation_that_is_gone(self):
        self.assertEqual(self.findings("job c 3\ncancelled 3"), ["violations"])

    def test_end_that_is_gone(self):
        self.assertEqual(self.findings("job c 3\nended 3 1 6"), ["lost"])

    def test_launched_attempt_that_is_unknown(self):
        self.assertEqual(self.findings("launched 3 1 6"), ["violations"])

    def test_one_key_and_two_jobs(self):
        self.assertEqual(told("job a 1\njob a 2").errors, ["key a is job 1 and job 2"])


class Resubmission(unittest.TestCase):
    def findings(self, before, answers):
        tally = faults.Tally()

        def answer(_what, _address, _words, again):
            again.read(answers)

        with mock.patch.object(faults, "run_client", side_effect=answer):
            faults.check_resubmission(told(before), "address", tally, "here")
        return [line.split(":")[0] for line in tally.texts]

    def test_same_job_again(self):
        self.assertEqual(self.findings("try a\njob a 1", "job a 1\njob fresh-1 2"), [])

    def test_second_job_for_a_key(self):
        self.assertEqual(self.findings("try a\njob a 1", "job a 2\njob fresh-1 3"), ["double"])

    def test_id_of_an_answered_job_given_again(self):
        self.assertEqual(self.findings("try a\njob a 1", "job a 1\njob fresh-1 1"), ["reused_ids"])


class ToTheEnd(unittest.TestCase):
    def findings(self, known, finish=""):
        tally = faults.Tally()

        def answer(what, _address, _words=(), finished=None):
            if what == "finish":
                finished.read(finish)
            return known

        with mock.patch.object(faults, "run_client", side_effect=answer):
            faults.check_to_the_end(told(""), "address", tally, "here")
        return [line.split(":")[0] for line in tally.texts]

    def test_two_successes_and_a_live_attempt(self):
        self.assertEqual(self.findings("seen 1 a JOB_STATE_SUCCEEDED 2 2 0"), ["double"])
        self.assertEqual(self.findings("seen 1 a JOB_STATE_RUNNING 1 0 1"), ["orphans", "violations"])

    def test_fence_of_two_attempts(self):
        self.assertEqual(self.findings("", "launched 1 1 7\nlaunched 2 1 7"), ["reused_ids"])


if __name__ == "__main__":
    unittest.main()
