"""In which order a stage runs the chunks of one iteration.

Pure. A chunk is one microbatch's forward or backward on one stage. Both schedules run the forwards
in order and the backwards in order, hence gradients add up in the same order and the loss curve is
the same, bit for bit, whichever schedule is used.

      GPipe, 2 stages, 4 microbatches               1F1B
      stage 0  F0 F1 F2 F3 .. .. B0 B1 B2 B3        F0 F1 .. B0 F2 B1 F3 B2 .. B3
      stage 1  .. F0 F1 F2 F3 B0 B1 B2 B3 ..        .. F0 B0 F1 B1 F2 B2 F3 B3 ..      .. = bubble
"""

import enum
from typing import List, NamedTuple


class ChunkKind(enum.Enum):
    FORWARD = "F"
    BACKWARD = "B"


class Chunk(NamedTuple):
    kind: ChunkKind
    microbatch: int

    def __str__(self) -> str:
        return f"{self.kind.value}{self.microbatch}"


def gpipe(microbatches: int) -> List[Chunk]:
    """All forwards, then all backwards; the same order on every stage."""
    return ([Chunk(ChunkKind.FORWARD, i) for i in range(microbatches)] +
            [Chunk(ChunkKind.BACKWARD, i) for i in range(microbatches)])


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> List[Chunk]:
    """As many forwards as there are stages from here to the end, then backward and forward in turn:
    a stage never keeps the activations of more than `stages - stage` microbatches."""
    ahead = min(stages - stage, microbatches)
    chunks = [Chunk(ChunkKind.FORWARD, i) for i in range(ahead)]
    for i in range(microbatches):
        chunks.append(Chunk(ChunkKind.BACKWARD, i))
        if ahead + i < microbatches:
            chunks.append(Chunk(ChunkKind.FORWARD, ahead + i))
    return chunks


def order_of(schedule: str, stage: int, stages: int, microbatches: int) -> List[Chunk]:
    """`schedule`: "gpipe" or "1f1b"."""
    if schedule == "gpipe":
        return gpipe(microbatches)
    if schedule == "1f1b":
        return one_forward_one_backward(stage, stages, microbatches)
    raise ValueError(f"unknown schedule {schedule!r}; known: gpipe, 1f1b")
