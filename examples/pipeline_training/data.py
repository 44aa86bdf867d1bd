"""Training data: bytes of the licence texts, split into training and validation text.

A batch is a function of (seed, iteration) alone. Every stage of the pipeline can therefore make the
part it needs, the first one the tokens and the last one the targets, without sending any of it.
"""

from typing import NamedTuple, Sequence

import torch

VOCABULARY = 256  # a token is a byte
_BLOCK_BYTES = 2048
_VALIDATION_EVERY = 10  # each tenth block is kept for validation
_VALIDATION_SEED = 0x7A11DA7E


class Batch(NamedTuple):
    tokens: torch.Tensor  # int64 [samples, length]
    targets: torch.Tensor  # int64 [samples, length]: the token that follows each of `tokens`


class Split(NamedTuple):
    training: bytes
    validation: bytes


def split_text(text: bytes) -> Split:
    """Every tenth block of 2 KiB goes to validation, so that both halves see every licence."""
    blocks = [text[i:i + _BLOCK_BYTES] for i in range(0, len(text), _BLOCK_BYTES)]
    is_validation = [i % _VALIDATION_EVERY == _VALIDATION_EVERY - 1 for i in range(len(blocks))]
    return Split(
        training=b"".join(b for b, held in zip(blocks, is_validation) if not held),
        validation=b"".join(b for b, held in zip(blocks, is_validation) if held))


class Corpus:
    """Cuts random windows out of the text. Thread-compatible."""

    def __init__(self, texts: Sequence[bytes], length: int, seed: int):
        """`length`: tokens of one sample. Raises ValueError if the texts are too short for it."""
        split = split_text(b"".join(texts))
        if min(len(split.training), len(split.validation)) <= length + 1:
            raise ValueError(f"text too short for samples of {length} tokens")
        self._training = torch.tensor(list(split.training), dtype=torch.int64)
        self._validation = torch.tensor(list(split.validation), dtype=torch.int64)
        self._length = length
        self._seed = seed

    def training_batch(self, iteration: int, samples: int) -> Batch:
        return self._cut(self._training, self._seed * 1_000_003 + iteration, samples)

    def validation_batch(self, number: int, samples: int) -> Batch:
        """The same for every seed, so that runs can be compared."""
        return self._cut(self._validation, _VALIDATION_SEED + number, samples)

    def _cut(self, text: torch.Tensor, seed: int, samples: int) -> Batch:
        generator = torch.Generator().manual_seed(seed)
        starts = torch.randint(len(text) - self._length - 1, (samples, 1), generator=generator)
        positions = starts + torch.arange(self._length + 1)
        windows = text[positions]
        return Batch(windows[:, :-1].contiguous(), windows[:, 1:].contiguous())
