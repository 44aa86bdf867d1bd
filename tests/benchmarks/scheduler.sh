#!/bin/bash
# What accepting jobs durably costs, and how long a restart takes. See scheduler_bench.cc.
set -euo pipefail
exec bazel-bin/tests/benchmarks/scheduler_bench "$@"
