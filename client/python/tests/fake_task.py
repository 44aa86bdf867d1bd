"""A fill task for tests: starts every unit at once, unless told otherwise, and remembers all calls."""

import threading


class FakeTask:
    """log: the label of a unit of fixed size, (label, least, most) for an elastic one, "end" for the end of
    one that nothing followed."""

    def __init__(self, pieces=None, stop_after=None):
        """pieces: size of every elastic unit that may be so large; default the largest. stop_after: units."""
        self.log = []
        self.in_unit = False
        self.stopped = False
        self.units = 0
        self.overlaps = 0  # calls during another call
        self.saves_are_held = False
        self.savable = []  # units before each of which something could have been saved
        self._pieces = pieces
        self._stop_after = stop_after
        self._busy = threading.Lock()

    def next_unit(self, label=0):
        return self._start(label)

    def next_elastic(self, n_min, n_max, label=0):
        if not self._start((label, n_min, n_max)):
            return 0
        return n_max if self._pieces is None else min(n_max, max(n_min, self._pieces))

    def end_unit(self):
        if self.in_unit:
            self.log.append("end")
        self.in_unit = False

    def hold_saves(self, are_held):
        self.saves_are_held = are_held

    def _start(self, unit):
        if not self._busy.acquire(blocking=False):
            self.overlaps += 1
            return True
        try:
            self.in_unit = False
            self.stopped = self.stopped or self.units == self._stop_after
            if not self.stopped:
                if not self.saves_are_held:
                    self.savable.append(self.units)
                self.units += 1
                self.in_unit = True
                self.log.append(unit)
            return self.in_unit
        finally:
            self._busy.release()
