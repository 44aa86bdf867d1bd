"""The comparisons of the fault tests of nodes find what they are there to find."""

import pathlib
import tempfile
import types
import unittest

import node_faults as nodes
import partition_faults
import store_faults as faults


def unit(job, attempt, start, end, node="a"):
    return nodes.Unit(job, attempt, node, start, end)


def kinds(tally):
    return [text.split(":")[0] for text in tally.texts]


class Records(unittest.TestCase):
    def test_units_and_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "records"
            path.write_text("unit 3 1 /x/a/sock 1000000000 2000000000\nend 3 1 /x/a/sock 0\n")
            self.assertEqual(nodes.read_records(path), ([unit(3, 1, 1, 2)], [(3, 1)]))
            self.assertEqual(nodes.read_records(path.with_name("none")), ([], []))


class Exclusive(unittest.TestCase):
    def findings(self, *units):
        tally = faults.Tally()
        nodes.check_exclusive(units, tally, "here")
        return tally.texts

    def test_one_after_the_other(self):
        self.assertEqual(self.findings(unit(1, 1, 0, 1), unit(1, 1, 2, 3), unit(1, 2, 3, 4)), [])

    def test_attempts_of_different_jobs(self):
        self.assertEqual(self.findings(unit(1, 1, 0, 9), unit(2, 2, 3, 4)), [])

    def test_both_at_the_same_time(self):
        self.assertEqual(self.findings(unit(1, 1, 0, 1), unit(1, 2, 2, 3), unit(1, 1, 4, 5)),
                         ["violations: here: job 1: attempt 1 worked until 3.000 s after the begin of "
                          "attempt 2"])


class Ends(unittest.TestCase):
    def findings(self, seen, ends, is_forgetting=False):
        tally = faults.Tally()
        nodes.check_ends({1: faults.Seen("a", *seen)}, ends, tally, "here", is_forgetting)
        return kinds(tally)

    def test_one_success(self):
        self.assertEqual(self.findings(("JOB_STATE_SUCCEEDED", 1, 1, 0), [(1, 1)]), [])

    def test_job_that_is_not_over(self):
        self.assertEqual(self.findings(("JOB_STATE_PENDING", 1, 0, 0), []), ["lost"])

    def test_two_successes_and_a_live_attempt(self):
        self.assertEqual(self.findings(("JOB_STATE_SUCCEEDED", 3, 2, 1), [(1, 1)]),
                         ["double", "orphans"])

    def test_success_that_never_was(self):
        self.assertEqual(self.findings(("JOB_STATE_SUCCEEDED", 1, 1, 0), []), ["violations"])

    def test_end_that_was_forgotten(self):
        twice = [(1, 1), (1, 2)]
        self.assertEqual(self.findings(("JOB_STATE_SUCCEEDED", 2, 1, 0), twice), ["lost"])
        self.assertEqual(self.findings(("JOB_STATE_SUCCEEDED", 2, 1, 0), twice, True), [])


class Parked(unittest.TestCase):
    def findings(self, *units):
        this = types.SimpleNamespace(tally=faults.Tally(), where="here")
        working = [unit(1, 1, 99, 99.9, node) for node in ("both", "up", "down")]
        partition_faults.check_parked(working + list(units), (100, 120), this)
        return this.tally.texts

    def test_work_within_the_lease_and_after_the_cut(self):
        self.assertEqual(self.findings(unit(1, 1, 102, 103, "up"), unit(1, 1, 120, 121, "up")), [])

    def test_work_after_the_lease(self):
        self.assertEqual(self.findings(unit(1, 1, 104, 105, "down")),
                         ["violations: here: node down still worked 5.000 s after it was cut off, with "
                          "a lease of 3 s"])

    def test_node_without_work(self):
        this = types.SimpleNamespace(tally=faults.Tally(), where="here")
        partition_faults.check_parked([], (100, 120), this)
        self.assertEqual(kinds(this.tally), ["violations"] * 3)


class Adding(unittest.TestCase):
    def test_counts_of_another_process(self):
        tally = faults.Tally(kill_points=2)
        other = faults.Tally(kill_points=3, skipped=["x"])
        other.blame("lost", "job")
        tally.add(other.result(), other.texts)
        self.assertEqual((tally.kill_points, tally.lost, tally.skipped, tally.texts),
                         (5, 1, ["x"], ["lost: job"]))


if __name__ == "__main__":
    unittest.main()
