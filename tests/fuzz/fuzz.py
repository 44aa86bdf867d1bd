"""Fuzzing of every decoder: `./run fuzz`, or some by name.

Each target runs under libFuzzer for its part of the time, from its kept corpus and from what earlier
runs have reached. An input that ends the target is copied to the folder of findings, and printed as the
command that shows it again. The last line on stdout is one JSON object; the status is 0 if nothing was
found.

    fuzz.py BINARIES [NAME...] [--minutes N] [--keep]

With --keep, inputs that reach code which the kept corpus does not are added to it, as found-HASH.
"""

import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).parent / "corpus"
# An input may take this long, in seconds, and this much memory, in MiB.
TIMEOUT = 20
MEMORY_MAX = 2048
# Larger inputs explain less, and are not kept.
INPUT_MAX = 16384
KEPT_MAX = 2048
COVERAGE = re.compile(r"#\d+\s+\w+\s+cov: (\d+) ft: (\d+)")
RUNS = re.compile(r"Done (\d+) runs")


def say(text):
    print(text, file=sys.stderr, flush=True)


def names():
    return sorted(path.name[:-len("_fuzz.cc")] for path in CORPUS.parent.glob("*_fuzz.cc"))


def libfuzzer(binary, folders, options):
    """Runs it; returns its status and what it said."""
    command = [str(binary), *options, f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY_MAX}",
               *map(str, folders)]
    result = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            errors="replace")
    return result.returncode, result.stderr


def fuzz(name, binary, seconds, cache):
    """One target. Returns what the last line says of it."""
    reached = cache / "corpus" / name
    found = cache / "findings" / name
    reached.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    status, said = libfuzzer(binary, [reached, CORPUS / name],
                             [f"-max_total_time={seconds}", f"-max_len={INPUT_MAX}",
                              f"-artifact_prefix={found}/", "-print_final_stats=1"])
    findings = sorted(set(found.iterdir()) - before)
    for path in findings:
        say(f"fuzz: {name}: found {path}")
        say(f"fuzz: {name}: to see it again: {binary} {path}")
    if findings or status != 0:
        say("\n".join(said.splitlines()[-60:]))
    coverage = COVERAGE.findall(said)
    runs = RUNS.search(said)
    result = {"runs": int(runs.group(1)) if runs else 0,
              "edges": int(coverage[-1][0]) if coverage else 0,
              "features": int(coverage[-1][1]) if coverage else 0,
              "findings": len(findings) if findings or status == 0 else 1}
    say(f"fuzz: {name}: {json.dumps(result)}")
    return result


def keep(name, binary, cache):
    """Adds to the kept corpus what reaches code that it does not; how often does not count."""
    with tempfile.TemporaryDirectory(prefix="pipefill-fuzz-") as folder:
        # Merging goes by size: what is in the first folder stays.
        merged = pathlib.Path(folder) / "merged"
        shutil.copytree(CORPUS / name, merged)
        kept = {path.name for path in merged.iterdir()}
        libfuzzer(binary, [merged, cache / "corpus" / name], ["-merge=1", "-use_counters=0", f"-max_len={KEPT_MAX}"])
        fresh = [path for path in merged.iterdir() if path.name not in kept]
        for path in fresh:
            text = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            shutil.copyfile(path, CORPUS / name / f"found-{text}")
    say(f"fuzz: {name}: {len(fresh)} inputs added to the kept corpus")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=pathlib.Path, help="folder of the built targets")
    parser.add_argument("names", nargs="*", help="targets; default: all")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="what lasts between runs")
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together")
    parser.add_argument("--keep", action="store_true", help="add to the kept corpus")
    arguments = parser.parse_args()
    chosen = arguments.names or names()
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        parser.error(f"no such target: {unknown[0]}; there are: {' '.join(names())}")
    seconds = max(1, int(arguments.minutes * 60 / len(chosen)))
    results = {}
    for name in chosen:
        binary = arguments.binaries / f"{name}_fuzz"
        results[name] = fuzz(name, binary, seconds, arguments.cache)
        if arguments.keep:
            keep(name, binary, arguments.cache)
    findings = sum(result["findings"] for result in results.values())
    print(json.dumps({"seconds_each": seconds, "findings": findings, "targets": results}))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
