#!/bin/bash
# What the hot path costs: edges, hand-over, and a gRPC call beside it. See signal_bench.cc.
set -euo pipefail
exec bazel-bin/tests/benchmarks/signal_bench
