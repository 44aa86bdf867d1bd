"""Trains a small GPT on the licence texts of this machine, in one process for each pipeline stage.

    python3 examples/pipeline_training/train.py --stages 2 --iterations 200

It is a plain training run, with real bubbles. If agentd listens on PIPEFILL_SOCKET, the bubbles are
reported to it and can be filled; if not, or with --no-pipefill, nothing changes. Equal options give
equal loss curves, bit for bit: compare two --loss-file.
"""

import argparse
import importlib.util
import os
import pathlib
import sys
from typing import List, Optional

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "examples"), str(_ROOT / "bazel-bin" / "client" / "python" / "site")]

import launcher  # noqa: E402
from model_size import SIZES  # noqa: E402


def parse_options(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stages", type=_positive, default=2, help="processes = pipeline stages")
    parser.add_argument("--schedule", choices=("gpipe", "1f1b"), default="1f1b")
    parser.add_argument("--microbatches", type=_positive, default=4, help="of one iteration")
    parser.add_argument("--samples", type=_positive, default=2, help="of one microbatch")
    parser.add_argument("--iterations", type=_positive, default=200)
    parser.add_argument("--size", choices=tuple(SIZES), default="small", help="of the model")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loss-file", metavar="FILE", help="loss curve, JSON lines, hex floats")
    parser.add_argument("--summary-file", metavar="FILE", help="times of every stage, JSON")
    parser.add_argument("--print-every", type=_positive, default=10, metavar="N")
    parser.add_argument("--pin-cores", type=_core_list, metavar="0,1",
                        help="core of each stage; default: the first cores this process may use; "
                        "'none' leaves the stages unpinned")
    parser.add_argument("--name", default="gpt", help="of the main job, for pipefill")
    parser.add_argument("--free-memory", action="store_true",
                        help="free what is not needed in bubbles, as far as that costs nothing")
    parser.add_argument("--no-pipefill", action="store_true", help="do not attach to pipefill")
    options = parser.parse_args(arguments)
    layers = SIZES[options.size].layers
    if options.stages > layers:
        parser.error(f"--stages: the {layers} layers of size {options.size} cannot be cut into "
                     f"{options.stages} stages")
    if not options.no_pipefill and importlib.util.find_spec("pipefill") is None:
        parser.error("package pipefill not found; bazel build //client/python:site makes it, and "
                     "PYTHONPATH can name its folder; or train with --no-pipefill")
    if options.pin_cores is None:
        options.pin_cores = _first_cores(options.stages)
    elif not options.pin_cores:
        options.pin_cores = [None] * options.stages
    if len(options.pin_cores) != options.stages:
        parser.error(f"--pin-cores: {len(options.pin_cores)} cores for {options.stages} stages")
    allowed = os.sched_getaffinity(0) | {None}
    if "PIPELINE_STAGE" not in os.environ and not set(options.pin_cores) <= allowed:
        parser.error(f"--pin-cores: not all of {options.pin_cores} can be used here")
    return options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _core_list(text: str) -> List[int]:
    return [] if text == "none" else [int(core) for core in text.split(",")]


def _first_cores(stages: int) -> List[Optional[int]]:
    """Fewer cores than stages: they take turns."""
    usable = sorted(os.sched_getaffinity(0))
    return [usable[i % len(usable)] for i in range(stages)]


def main(arguments: List[str]) -> int:
    options = parse_options(arguments)
    stage = os.environ.get(launcher.STAGE_VARIABLE)
    if stage is None:
        return launcher.run_stages([sys.executable, __file__, *arguments], options.pin_cores)
    import train_stage
    code = train_stage.train(options, int(stage))
    sys.stdout.flush()
    os._exit(code)  # without waiting for gloo's threads, whose peers may be gone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
