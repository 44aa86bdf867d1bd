#!/bin/bash
# How fast plans and forecasts are made. See planner_bench.cc.
set -euo pipefail
exec bazel-bin/tests/benchmarks/planner_bench "$@"
