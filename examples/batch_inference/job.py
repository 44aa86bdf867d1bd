"""Fill job: embeds the licence texts of this machine with a small transformer, as many windows at a
time as the rest of the bubble allows, and writes the embeddings to a file.

    pipefill submit --name embed -- python3 examples/batch_inference/job.py --result r.json

Without agentd it runs alone and gives the same file, bit for bit: the windows of one pass through
the model are always the same few, and a unit is a number of such passes. One pass over all windows
of a unit would be a little faster, and its last bits would depend on their number. For the same
reason the batch_size of a configuration that schedulerd has chosen bounds the batches of a unit,
and leaves the windows of a batch alone.

Killed or moved, it goes on where it was: how far it is and how long its file is are saved together.
"""

import argparse
import functools
import os
import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "examples"), str(_ROOT / "bazel-bin" / "client" / "python" / "site")]

import arithmetic  # noqa: E402

arithmetic.prepare(os.environ)  # before torch is loaded

import pipefill  # noqa: E402
import torch  # noqa: E402

import encoder  # noqa: E402
import job_result  # noqa: E402
import licence_texts  # noqa: E402


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    job_result.add_file_options(parser)
    parser.add_argument("--passes", type=int, default=4, help="over the text: amount of work")
    parser.add_argument("--samples", type=int, default=2, help="windows of one batch")
    parser.add_argument("--batches-max", type=int, help="batches of one unit, at most; default: "
                        "the chosen configuration's batch_size, or 32")
    parser.add_argument("--seed", type=int, default=1, help="of the model's weights")
    return parser.parse_args()


def batches_max(options: argparse.Namespace) -> int:
    return options.batches_max or pipefill.task_config().get("batch_size") or 32


def main() -> int:
    options = parse_options()
    torch.use_deterministic_algorithms(True)
    text = b"".join(t.content for t in licence_texts.read_texts())
    batches = encoder.WindowBatches(text, options.passes, options.samples)
    model = encoder.Encoder(options.seed)
    task = pipefill.FillTask()
    kept_file = functools.partial(pipefill.OutputFile, task=task)
    with job_result.Output(job_result.output_path(options, ".f32"), kept_file) as output:
        for begin, end in pipefill.elastic_range(len(batches), 1, batches_max(options), task=task):
            for number in range(begin, end):
                output.write(model(batches[number]).numpy().tobytes())
    return job_result.finish(task, options.result, output)


if __name__ == "__main__":
    sys.exit(main())
