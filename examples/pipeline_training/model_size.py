"""How large the models are, and how their layers are cut into stages.

Pure, and without torch, so that the command line can check its options at once.
"""

import itertools
import math
from typing import List, NamedTuple, Sequence


class ModelSize(NamedTuple):
    layers: int
    width: int
    heads: int
    length: int  # tokens of one sample
    vocabulary: int


SIZES = {
    "tiny": ModelSize(layers=4, width=32, heads=2, length=32, vocabulary=256),
    "small": ModelSize(layers=8, width=96, heads=4, length=128, vocabulary=256),
    "medium": ModelSize(layers=12, width=256, heads=8, length=256, vocabulary=256),
}


def split_layers(costs: Sequence[float], stages: int) -> List[range]:
    """Cuts the parts 0..n-1, in order, into `stages` runs so that the dearest run is as cheap as it
    can be. REQUIRES: 1 <= stages <= n."""
    if not 1 <= stages <= len(costs):
        raise ValueError(f"{len(costs)} layers cannot be cut into {stages} stages")
    best: List[range] = []
    best_cost = math.inf
    for cuts in itertools.combinations(range(1, len(costs)), stages - 1):
        edges = [0, *cuts, len(costs)]
        runs = [range(a, b) for a, b in zip(edges, edges[1:])]
        dearest = max(sum(costs[i] for i in run) for run in runs)
        if dearest < best_cost:
            best, best_cost = runs, dearest
    return best


def part_costs(size: ModelSize) -> List[float]:
    """Cost of each block, by its multiplications; the last one carries the projection too."""
    block = 12 * size.width**2 + 2 * size.length * size.width
    costs = [1.0] * size.layers
    costs[-1] += size.vocabulary * size.width / block
    return costs
