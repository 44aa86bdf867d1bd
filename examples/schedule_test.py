"""Rules of the pipeline schedules, checked by playing them through."""

import pathlib
import sys
import unittest
from typing import Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pipeline_training"))

from schedule import Chunk, ChunkKind, gpipe, one_forward_one_backward, order_of

SHAPES = [(stages, microbatches) for stages in (1, 2, 3, 4) for microbatches in (1, 2, 4, 7)]


def play(schedule: str, stages: int, microbatches: int) -> Dict[Tuple[int, Chunk], int]:
    """When each chunk ends if a forward takes 1, a backward 2, and sending nothing. Fails if no
    stage can go on."""
    queues = [order_of(schedule, stage, stages, microbatches) for stage in range(stages)]
    free_at = [0] * stages
    ends: Dict[Tuple[int, Chunk], int] = {}

    def needed(stage: int, chunk: Chunk) -> List[Tuple[int, Chunk]]:
        if chunk.kind is ChunkKind.FORWARD:
            return [(stage - 1, chunk)] if stage > 0 else []
        own = [(stage, Chunk(ChunkKind.FORWARD, chunk.microbatch))]
        return own + ([(stage + 1, chunk)] if stage < stages - 1 else [])

    while any(queues):
        went_on = False
        for stage, queue in enumerate(queues):
            if queue and all(n in ends for n in needed(stage, queue[0])):
                chunk = queue.pop(0)
                ready = max([free_at[stage]] + [ends[n] for n in needed(stage, chunk)])
                free_at[stage] = ready + (1 if chunk.kind is ChunkKind.FORWARD else 2)
                ends[stage, chunk] = free_at[stage]
                went_on = True
        if not went_on:
            raise AssertionError(f"deadlock: {schedule} {stages} {microbatches}: {queues}")
    return ends


class ScheduleTest(unittest.TestCase):

    def test_each_chunk_runs_once_and_each_kind_in_order(self):
        for schedule in ("gpipe", "1f1b"):
            for stages, microbatches in SHAPES:
                for stage in range(stages):
                    order = order_of(schedule, stage, stages, microbatches)
                    for kind in ChunkKind:
                        numbers = [c.microbatch for c in order if c.kind is kind]
                        self.assertEqual(numbers, list(range(microbatches)))

    def test_no_stage_waits_for_ever_and_bubbles_have_their_textbook_share(self):
        for schedule in ("gpipe", "1f1b"):
            for stages, microbatches in SHAPES:
                length = max(play(schedule, stages, microbatches).values())
                self.assertEqual(length, 3 * (microbatches + stages - 1), (schedule, stages))

    def test_gpipe_runs_all_forwards_first(self):
        self.assertEqual(" ".join(map(str, gpipe(3))), "F0 F1 F2 B0 B1 B2")

    def test_1f1b_alternates_after_its_warm_up(self):
        order = {s: " ".join(map(str, one_forward_one_backward(s, 2, 4))) for s in (0, 1)}
        self.assertEqual(order[0], "F0 F1 B0 F2 B1 F3 B2 B3")
        self.assertEqual(order[1], "F0 B0 F1 B1 F2 B2 F3 B3")

    def test_1f1b_keeps_no_more_activations_than_stages_from_here_to_the_end(self):
        for stages, microbatches in SHAPES:
            for stage in range(stages):
                kept = kept_max = 0
                for chunk in one_forward_one_backward(stage, stages, microbatches):
                    kept += 1 if chunk.kind is ChunkKind.FORWARD else -1
                    kept_max = max(kept_max, kept)
                self.assertEqual(kept_max, min(stages - stage, microbatches))

    def test_unknown_schedule_is_named(self):
        with self.assertRaisesRegex(ValueError, "zigzag"):
            order_of("zigzag", 0, 2, 4)


if __name__ == "__main__":
    unittest.main()
