"""A small transformer encoder with fixed weights, and the windows of text that it embeds."""

import math

import torch
from torch import nn

WIDTH = 64
_HEADS = 4
_LAYERS = 2
LENGTH = 64  # bytes of one window
_STRIDE = 64  # between the windows of one pass
_SHIFT = 7  # between the same window in two passes: each pass embeds new windows


class EncoderLayer(nn.Module):

    def __init__(self) -> None:
        super().__init__()
        self.mix_norm = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix_output = nn.Linear(WIDTH, WIDTH)
        self.feed_norm = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(),
                                  nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        projected = self.query_key_value(self.mix_norm(x))
        split = projected.view(samples, length, 3, _HEADS, width // _HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(width // _HEADS), dim=-1)
        mixed = (weights @ value).transpose(1, 2).reshape(samples, length, width)
        x = x + self.mix_output(mixed)
        return x + self.feed(self.feed_norm(x))


class Encoder(nn.Module):
    """From windows, int64 [n, LENGTH], to embeddings of length one, float32 [n, WIDTH]."""

    def __init__(self, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.symbol = nn.Embedding(256, WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*[EncoderLayer() for _ in range(_LAYERS)])
        self.eval()
        for parameter in self.parameters():
            parameter.requires_grad_(False)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        x = self.layers(self.symbol(windows) + self.position.weight)
        return nn.functional.normalize(x.mean(dim=1), dim=-1)


class WindowBatches:
    """Batches of windows, int64 [samples, LENGTH], over the text: again in each pass, a little
    later in it. A sequence. Thread-compatible."""

    def __init__(self, text: bytes, passes: int, samples: int):
        """REQUIRES: the text is longer than two windows."""
        self._text = torch.tensor(list(text), dtype=torch.uint8)
        self._passes = passes
        self._samples = samples
        # The same number in each pass, though later passes start later.
        windows = (len(text) - LENGTH - _STRIDE) // _STRIDE
        self._batches = windows // samples  # of one pass

    def __len__(self) -> int:
        return self._passes * self._batches

    def __getitem__(self, number: int) -> torch.Tensor:
        if not 0 <= number < len(self):
            raise IndexError(number)
        number_of_pass, batch = divmod(number, self._batches)
        shift = number_of_pass * _SHIFT % _STRIDE
        windows = torch.arange(batch * self._samples, (batch + 1) * self._samples)
        starts = windows * _STRIDE + shift
        return self._text[starts[:, None] + torch.arange(LENGTH)].to(torch.int64)
