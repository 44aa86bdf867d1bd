"""A small classifier that tells which licence 128 bytes of text come from, and its data."""

from typing import Iterator, List, NamedTuple, Sequence

import torch
from torch import nn

LENGTH = 128  # bytes of one window
_GROUPS = LENGTH - 2  # of three bytes, in one window
_PERIOD = 10 * LENGTH  # of which the last window is held out
_BUCKETS = 2048  # for hashed groups of three bytes
_WIDTH = 32


class Windows(NamedTuple):
    buckets: torch.Tensor  # int64 [samples, groups]: one for each group of three bytes
    labels: torch.Tensor  # int64 [samples]: index of the licence


class Classifier(nn.Module):
    """Mean of the embeddings of all groups of three bytes, then two layers."""

    def __init__(self, classes: int, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.groups = nn.EmbeddingBag(_BUCKETS, _WIDTH, mode="mean")
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(_WIDTH, _WIDTH), nn.ReLU(),
                                    nn.Linear(_WIDTH, classes))

    def forward(self, buckets: torch.Tensor) -> torch.Tensor:
        return self.layers(self.groups(buckets))


class LicenceWindows:
    """Random windows of the training part, and all windows of the held-out part, which is every
    tenth window of each text. Batch i is a function of (seed, i) alone. Thread-compatible."""

    def __init__(self, texts: Sequence[bytes], seed: int):
        """Texts with less than ten windows are left out."""
        usable = [text for text in texts if len(text) >= _PERIOD]
        self.classes = len(usable)
        self._training = [_hash_groups(_training_part(text)) for text in usable]
        self._held_out = [[_hash_groups(window) for window in _held_out_windows(text)]
                          for text in usable]
        self._seed = seed

    def training_batch(self, number: int, samples: int) -> Windows:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + number)
        labels = torch.randint(self.classes, (samples,), generator=generator)
        shares = torch.rand(samples, generator=generator).tolist()
        rows = []
        for label, share in zip(labels.tolist(), shares):
            buckets = self._training[label]
            start = int(share * (len(buckets) - _GROUPS))
            rows.append(buckets[start:start + _GROUPS])
        return Windows(torch.stack(rows), labels)

    def held_out_batches(self, samples: int) -> Iterator[Windows]:
        pairs = [(window, label) for label, windows in enumerate(self._held_out)
                 for window in windows]
        for first in range(0, len(pairs), samples):
            rows, labels = zip(*pairs[first:first + samples])
            yield Windows(torch.stack(rows), torch.tensor(labels))


def _hash_groups(text: bytes) -> torch.Tensor:
    """The bucket of each group of three bytes, int64 [len(text) - 2]."""
    symbols = torch.tensor(list(text), dtype=torch.int64)
    groups = symbols[:-2] * 65_536 + symbols[1:-1] * 256 + symbols[2:]
    return groups * 2_654_435_761 % 4_294_967_296 * _BUCKETS // 4_294_967_296


def _training_part(text: bytes) -> bytes:
    return b"".join(text[start:start + _PERIOD - LENGTH] for start in range(0, len(text), _PERIOD))


def _held_out_windows(text: bytes) -> List[bytes]:
    return [text[end - LENGTH:end] for end in range(_PERIOD, len(text) + 1, _PERIOD)]
