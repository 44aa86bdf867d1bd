"""Cuts the work of a script into units, at places where it may wait: the part of pipefill.torch that
needs no torch.

A *place* is a point of the script where a unit may begin, say the begin of a module's forward. The
stretch from a place to the next one is often far shorter than a unit should be, so a unit takes in as
many stretches as fit: the task says how much fits, and the places have learned how long theirs are.

                  enter, reach                     leave the last scope
    outside ---------------------> in a unit ------------------------------> outside
                                    |     ^
                                    +-----+  reach: the stretch still fits, or the next unit begins

Work outside of all scopes belongs to no unit: there the script reads data, or waits for people.
"""

import threading
import time

# Labels of units, see FillTask. All units of known length share one estimate, since one of few units would
# follow each slow one of them; so do those of unknown length, among which slow ones are common.
KNOWN, UNKNOWN = 0, 1

# The size of a unit is given to the task in steps of this length.
STEP_NS = 20_000
# How long a unit becomes where nothing ends soon.
UNIT_MAX_NS = 2_000_000
# First visits tell little: memory is new, libraries set themselves up.
_VISITS_UNTIL_KNOWN = 2
# How much longer than planned a unit may take before no stretch is added to it any more.
_PATIENCE = 1.5


class Stopped(SystemExit):
    """The task was told to stop: save, and leave. Raised where a unit would have begun, so never while
    parameters are written. Not caught, it ends the script with exit code 3."""

    def __init__(self):
        super().__init__(3)


class Place:
    """Where a unit may begin. Learns how long the stretch up to the next place lasts: the least of the
    first visits, from then on a running median, which a few interrupted stretches do not move."""

    __slots__ = ("expected_ns", "_least_ns", "_visits")

    def __init__(self):
        self.expected_ns = None  # while it is not known
        self._least_ns = 0
        self._visits = 0

    def learn(self, stretch_ns):
        expected_ns = self.expected_ns
        if expected_ns is None:
            self._least_ns = min(stretch_ns, self._least_ns) if self._visits else stretch_ns
            self._visits += 1
            if self._visits == _VISITS_UNTIL_KNOWN:
                self.expected_ns = self._least_ns
            return
        step_ns = max(1, expected_ns // 16)
        self.expected_ns = expected_ns + max(-step_ns, min(stretch_ns - expected_ns, step_ns))


class Chain:
    """The units of one task. Thread-safe: calls from several threads come one after the other, as the
    calls of a task must. Their work is then one chain, as if it came from one thread."""

    def __init__(self, task, clock_ns=time.monotonic_ns, wait_for_device=None):
        """wait_for_device: returns when all that the script has asked its device for is done; None
        where that is so anyway."""
        self._task = task
        self._clock_ns = clock_ns
        self._wait_for_device = wait_for_device
        # Reentrant: a scope may be left by the garbage collector, in any call.
        self._lock = threading.RLock()
        self._is_on = True
        self._scopes = []
        self._place = None  # whose stretch is in progress; None: no unit is
        self._begin_ns = 0  # of the stretch
        self._left_ns = 0  # of the unit, for stretches to come
        self._until_ns = 0  # no stretch is added after it
        self._steppers = set()
        self._stepped = set()  # those that have since the last save could be made
        self._holds_saves = False

    def enter(self, scope, place=None):
        """What follows, up to leave(scope), is work of the device; begins at `place` if given."""
        with self._lock:
            self._scopes.append(scope)
            try:
                if place is not None and self._is_on:
                    self._reach(place)
            except BaseException:
                self.leave(scope)
                raise

    def leave(self, scope):
        """Also leaves what was entered since. Ends the unit if nothing is left."""
        with self._lock:
            for i in range(len(self._scopes) - 1, -1, -1):
                if self._scopes[i] is scope:
                    del self._scopes[i:]
                    break
            if not self._scopes:
                self._end_unit()

    def add_stepper(self, stepper):
        """Saves wait from now on, from the first unit of a training step until all steppers, say its
        optimizers, have stepped: in between, what a program would save is of no step."""
        with self._lock:
            self._steppers.add(stepper)

    def remove_stepper(self, stepper):
        with self._lock:
            self._steppers.discard(stepper)
            self._release_saves()

    def stepped(self, stepper):
        with self._lock:
            self._stepped.add(stepper)
            self._release_saves()

    def leave_all(self):
        """For scopes of whose end nobody was told, because of a KeyboardInterrupt for instance."""
        with self._lock:
            self._scopes.clear()
            self._end_unit()

    def reach(self, place):
        """The work of `place` is about to begin. Waits for a bubble if a unit is to begin here; raises
        Stopped if none ever will."""
        with self._lock:
            if self._is_on:
                self._reach(place)

    def forget(self):
        """In a forked child: its work is no unit, and whoever held the lock is not here."""
        self._is_on = False
        self._lock = threading.RLock()
        self._place = None

    def _reach(self, place):
        now_ns = self._end_stretch()
        expected_ns = place.expected_ns
        if (self._place is not None and expected_ns is not None and expected_ns <= self._left_ns
                and now_ns + expected_ns <= self._until_ns):
            self._left_ns -= expected_ns
            self._begin_ns = now_ns
        else:
            self._begin_unit(place)
            self._begin_ns = self._clock_ns()
        self._place = place

    def _release_saves(self):
        if not self._stepped >= self._steppers:
            return
        self._stepped.clear()
        if self._holds_saves:
            self._holds_saves = False
            self._task.hold_saves(False)

    def _end_stretch(self):
        """Returns the time."""
        if self._place is None:
            return self._clock_ns()
        if self._wait_for_device is not None:
            self._wait_for_device()
        now_ns = self._clock_ns()
        self._place.learn(now_ns - self._begin_ns)
        return now_ns

    def _begin_unit(self, place):
        self._place = None
        expected_ns = place.expected_ns
        if expected_ns is None:
            unit_ns = expected_ns = 0
            is_started = self._task.next_unit(UNKNOWN)
        else:
            least = max(1, -(-expected_ns // STEP_NS))
            size = self._task.next_elastic(least, max(least, UNIT_MAX_NS // STEP_NS), KNOWN)
            unit_ns = size * STEP_NS
            is_started = size > 0
        if not is_started:
            raise Stopped
        if self._steppers and not self._holds_saves:
            self._holds_saves = True
            self._task.hold_saves(True)
        self._left_ns = unit_ns - expected_ns
        self._until_ns = self._clock_ns() + round(unit_ns * _PATIENCE)

    def _end_unit(self):
        if self._place is not None:
            self._end_stretch()
            self._place = None
            self._task.end_unit()
