#!/bin/bash
# How fast jobs are placed at scale. See placement_bench.cc.
set -euo pipefail
exec bazel-bin/tests/benchmarks/placement_bench "$@"
