"""Does the model of a training run say what a real one leaves idle? ./run bench plan

For each schedule one real 2-stage training run (examples/pipeline_training) in report mode under a real
agentd: nothing is filled. `pipefill plan --trace` takes bubbles and mean stage times from what agentd
recorded; `pipefill plan --pipeline` is fed with those times, once as they are and once with their spread as
jitter, and with nothing else of the run. The shares stand side by side, with the error of the model as a share of
the measured one.

Prints its progress to stderr; the last line on stdout is one JSON object.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "e2e"))

import cluster  # noqa: E402

SCHEDULES = ("gpipe", "1f1b")


def say(text):
    print(f"plan: {text}", file=sys.stderr, flush=True)


def cli_json(*arguments):
    done = subprocess.run([cluster.CLI, *arguments, "-o", "json"], env=cluster.environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pipefill {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def record(schedule, options, pipefill):
    """Trains once; returns the plan of what agentd recorded."""
    pipefill.start_agent()
    subprocess.run(
        [cluster.PYTHON, cluster.TRAIN, "--stages", "2", "--pin-cores", ",".join(cluster.cores()),
         "--schedule", schedule, "--microbatches", str(options.microbatches), "--size", options.size,
         "--samples", str(options.samples), "--iterations", str(options.iterations), "--print-every", "1000"],
        env=cluster.environment(PIPEFILL_SOCKET=pipefill.socket, PIPEFILL_MODE="report"), check=True,
        stdout=subprocess.DEVNULL)
    pipefill.stop("agentd", 15)
    return cli_json("plan", "--trace", os.path.join(pipefill.path("agentd"), "trace"))


def stage_times(measured):
    """The stages file: what one microbatch takes on each stage, and the end of an iteration."""
    names = {"forward": "forward", "backward": "backward", "other": "reduction", "optimizer": "tail"}
    stages = {}
    for work in measured["mean_work"]:
        stages.setdefault(work["stage"], {})[names[work["kind"]]] = f"{round(work['mean_ns'])}ns"
    return {"stages": [stages[stage] for stage in sorted(stages)]}


def spread(measured):
    """Of forwards and backwards, weighted by their time."""
    works = [work for work in measured["mean_work"] if work["kind"] in ("forward", "backward")]
    return sum(work["spread"] * work["mean_ns"] for work in works) / sum(work["mean_ns"] for work in works)


def outcome(plan):
    return {"iteration_ms": plan["iteration_ns"] / 1e6, "bubble_share": plan["bubble_share"],
            "by_stage": [device["bubble_share"] for device in plan["devices"]]}


def compare(schedule, options):
    with cluster.Cluster() as pipefill:
        say(f"{schedule}: training for {options.iterations} iterations")
        measured = record(schedule, options, pipefill)
        times = stage_times(measured)
        pipeline = f"2x{options.microbatches}@{schedule}"
        model = ["plan", "--pipeline", pipeline, "--stages-file", pipefill.write_config("stages.json", times)]
        jitter = max(0.0001, min(1, spread(measured)))
        plans = {"measured": measured, "model": cli_json(*model),
                 "model_with_jitter": cli_json(*model, "--jitter", f"{jitter:.4f}")}
    result = {"iterations": measured["iterations"] // 2, "stages": times["stages"], "jitter": jitter}
    result.update({name: outcome(plan) for name, plan in plans.items()})
    for name in ("model", "model_with_jitter"):
        for figure in ("bubble_share", "iteration_ms"):
            result[name][figure + "_error"] = result[name][figure] / result["measured"][figure] - 1
        say(f"{schedule}: measured {result['measured']['bubble_share']:.1%} idle, {name} "
            f"{result[name]['bubble_share']:.1%}, off by {result[name]['bubble_share_error']:+.1%} of it")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--size", default="small")
    options = parser.parse_args()
    print(json.dumps({"benchmark": "plan",
                      "schedules": {schedule: compare(schedule, options) for schedule in SCHEDULES}}))


if __name__ == "__main__":
    main()
