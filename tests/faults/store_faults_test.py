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


    def test_error_in_the_answer(self):
        self.assertEqual(self.findings("", "error no such call"), ["violations"])


class DiskError(unittest.TestCase):
    def findings(self, error, was_hit=True, has_served=True, status=None, text="try a\njob a 1"):
        tally = faults.Tally()
        faults.check_disk_error(error, was_hit, has_served, status, told(text), tally, "here")
        return tally.texts

    def test_eio_that_ends_it(self):
        self.assertEqual(self.findings("EIO", status=1), [])

    def test_eio_that_was_not_reached(self):
        self.assertEqual(self.findings("EIO", was_hit=False), [])

    def test_eio_that_it_survives_or_hides(self):
        self.assertEqual(self.findings("EIO"),
                         ["violations: here: the journal failed, and it goes on"])
        self.assertEqual(self.findings("EIO", status=0),
                         ["violations: here: the journal failed, and it ended with status 0"])

    def test_enospc_that_it_survives(self):
        self.assertEqual(self.findings("ENOSPC"), [])

    def test_enospc_at_the_start(self):
        self.assertEqual(self.findings("ENOSPC", has_served=False, status=7, text="try a"), [])

    def test_enospc_that_ends_it(self):
        self.assertEqual(self.findings("ENOSPC", status=1),
                         ["violations: here: it ended with status 1"])

    def test_enospc_after_which_nothing_is_answered(self):
        self.assertEqual(self.findings("ENOSPC", text="try a\njob a 1\ntry b"),
                         ["violations: here: only 1 answers to 2 jobs"])


class Result(unittest.TestCase):
    def test_errors_of_clients_are_findings_but_the_expected_ones(self):
        tally = faults.Tally()
        tally.blame_errors("here", told("error the disk is full\nerror what"), but="is full")
        self.assertEqual(tally.texts, ["violations: here: what"])

    def test_parts_that_did_not_run_are_named(self):
        tally = faults.Tally(skipped=["small disk"])
        self.assertEqual(tally.result()["skipped"], ["small disk"])
        self.assertEqual(tally.texts, [])


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

    def test_key_without_an_answer(self):
        self.assertEqual(self.findings("try a\ntry b", "job a 1\njob fresh-2 2"), ["violations"])

    def test_keys_of_more_than_one_client(self):
        count = 2 * faults.KEYS_PER_CLIENT
        tally = faults.Tally()
        asked = []

        def answer(_what, _address, keys, again):
            asked.append(len(keys))
            again.read("\n".join(f"job {key} {key.rpartition('-')[2]}9" for key in keys))

        text = "\n".join(f"try k-{i}\njob k-{i} {i}9" for i in range(count))
        with mock.patch.object(faults, "run_client", side_effect=answer):
            faults.check_resubmission(told(text), "address", tally, "here")
        self.assertEqual(tally.texts, [])
        self.assertEqual(asked, [faults.KEYS_PER_CLIENT, faults.KEYS_PER_CLIENT, 1])

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
