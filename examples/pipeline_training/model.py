"""A small GPT: token and position embedding, pre-norm transformer blocks, projection to the
vocabulary; built as a whole or as the part of it that one pipeline stage holds.

Each part draws its first weights from a seed of its own. The model is therefore the same, bit for
bit, no matter into how many stages it is cut.
"""

import math
from typing import List

import torch
from torch import nn
from torch.nn import functional

from model_size import ModelSize, part_costs, split_layers


class Block(nn.Module):
    """Pre-norm transformer block with causal attention."""

    def __init__(self, size: ModelSize):
        super().__init__()
        self._heads = size.heads
        self.attention_norm = nn.LayerNorm(size.width)
        self.query_key_value = nn.Linear(size.width, 3 * size.width)
        self.attention_output = nn.Linear(size.width, size.width)
        self.feed_norm = nn.LayerNorm(size.width)
        self.feed_input = nn.Linear(size.width, 4 * size.width)
        self.feed_output = nn.Linear(4 * size.width, size.width)
        # Added to the scores: -inf where a token would look at a later one.
        mask = torch.full((size.length, size.length), float("-inf")).triu(diagonal=1)
        self.register_buffer("mask", mask, persistent=False)
        _draw_weights(self, residual_layers=size.layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self._attend(self.attention_norm(x))
        hidden = functional.gelu(self.feed_input(self.feed_norm(x)))
        return x + self.feed_output(hidden)

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        split = (samples, length, 3, self._heads, width // self._heads)
        query, key, value = self.query_key_value(x).view(split).permute(2, 0, 3, 1, 4)
        query = query / math.sqrt(width // self._heads)
        scores = query @ key.transpose(-2, -1) + self.mask[:length, :length]
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.attention_output(mixed.transpose(1, 2).reshape(samples, length, width))


class Embedding(nn.Module):
    def __init__(self, size: ModelSize):
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = nn.Embedding(size.length, size.width)
        _draw_weights(self, residual_layers=size.layers)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.token(tokens) + self.position.weight[:tokens.shape[1]]


class Projection(nn.Module):
    """From the last block's output to one score for each symbol of the vocabulary."""

    def __init__(self, size: ModelSize):
        super().__init__()
        self.norm = nn.LayerNorm(size.width)
        self.scores = nn.Linear(size.width, size.vocabulary)
        _draw_weights(self, residual_layers=size.layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scores(self.norm(x))


def build_stage(size: ModelSize, stage: int, stages: int, seed: int) -> nn.Sequential:
    """The part of the model that `stage` of `stages` holds: the first one has the embedding, the
    last one the projection. build_stage(size, 0, 1, seed) is the whole model."""
    parts: List[nn.Module] = []
    if stage == 0:
        torch.manual_seed(_part_seed(seed, 0))
        parts.append(Embedding(size))
    for layer in split_layers(part_costs(size), stages)[stage]:
        torch.manual_seed(_part_seed(seed, 1 + layer))
        parts.append(Block(size))
    if stage == stages - 1:
        torch.manual_seed(_part_seed(seed, 1 + size.layers))
        parts.append(Projection(size))
    return nn.Sequential(*parts)


def language_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy, nats per token."""
    return functional.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))


def _part_seed(seed: int, part: int) -> int:
    return seed * 10_007 + part


def _draw_weights(module: nn.Module, residual_layers: int) -> None:
    """Normal weights; those that write into the residual stream are scaled down by its depth."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif "norm" not in name:
            is_residual = "_output" in name
            scale = math.sqrt(2 * residual_layers) if is_residual else 1.0
            nn.init.normal_(parameter, std=0.05 / scale)
