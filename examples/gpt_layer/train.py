"""Fill job: an ordinary training script of a small GPT on the licence texts of this machine. Two lines of it
are pipefill's; they make every layer wait for a bubble.

    pipefill submit --name gpt -- python3 examples/gpt_layer/train.py --result r.json

Writes its losses and the checksum of the trained weights to a file. Without agentd it runs alone and
gives the same file, bit for bit.
"""

import argparse
import hashlib
import json
import os
import pathlib
import sys
from typing import Dict

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "examples"), str(_ROOT / "examples" / "pipeline_training"),
             str(_ROOT / "bazel-bin" / "client" / "python" / "site")]

import arithmetic  # noqa: E402

arithmetic.prepare(os.environ)  # before torch is loaded

import pipefill  # noqa: E402
import pipefill.torch  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import job_result  # noqa: E402
import licence_texts  # noqa: E402
from data import VOCABULARY, Corpus  # noqa: E402
from model import Block, build_stage  # noqa: E402
from model_size import ModelSize  # noqa: E402

_SIZE = ModelSize(layers=4, width=64, heads=4, length=64, vocabulary=VOCABULARY)
_VALIDATION_BATCHES = 8


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    job_result.add_file_options(parser)
    parser.add_argument("--steps", type=int, default=1000, help="of the optimizer: amount of work")
    parser.add_argument("--samples", type=int, default=4, help="of one step, 64 tokens each")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recompute", action="store_true", help="activations of a block in the backward pass, which "
                        "saves memory; also if the chosen configuration says so")
    return parser.parse_args()


class Recomputed(nn.Module):
    """A block that keeps no activations: its forward runs again in the backward pass, with the same result."""

    def __init__(self, block: nn.Module):
        super().__init__()
        self._block = block

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self._block, x, use_reentrant=False)


def recompute_blocks(model: nn.Sequential) -> nn.Sequential:
    return nn.Sequential(*(Recomputed(part) if isinstance(part, Block) else part for part in model))


def is_recomputing(options: argparse.Namespace) -> bool:
    return options.recompute or pipefill.task_config().get("memory_saving") == "checkpointing"


def line(value: Dict[str, object]) -> bytes:
    return (json.dumps(value) + "\n").encode("ascii")


def checksum(model: nn.Module) -> str:
    """Of all weights."""
    digest = hashlib.sha256()
    for weights in model.state_dict().values():
        digest.update(weights.numpy().tobytes())
    return digest.hexdigest()


def main() -> int:
    options = parse_options()
    torch.use_deterministic_algorithms(True)
    corpus = Corpus([t.content for t in licence_texts.read_texts()], _SIZE.length, options.seed)
    model = build_stage(_SIZE, 0, 1, options.seed)
    if is_recomputing(options):
        model = recompute_blocks(model)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate, foreach=True)

    layers = pipefill.torch.attach(model, optimizer, loss_of)

    with job_result.Output(job_result.output_path(options, ".losses")) as output:
        for step in range(options.steps):
            batch = corpus.training_batch(step, options.samples)
            loss = loss_of(model(batch.tokens).flatten(0, 1), batch.targets.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            output.write(line({"step": step, "loss": loss.item().hex()}))
        model.eval()
        total = 0.0
        with torch.no_grad():
            for number in range(_VALIDATION_BATCHES):
                batch = corpus.validation_batch(number, options.samples)
                total += loss_of(model(batch.tokens).flatten(0, 1), batch.targets.flatten()).item()
        validation = total / _VALIDATION_BATCHES
        output.write(line({"validation": validation.hex(), "weights": checksum(model)}))
    print(f"loss on held-out text: {validation:.3f} nats per token")
    return job_result.finish(layers.task, options.result, output)


if __name__ == "__main__":
    sys.exit(main())
