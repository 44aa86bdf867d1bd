#!/bin/bash
# How fast latest starts follow a bubble that changes, in virtual time. See adapt_bench.cc.
set -euo pipefail
exec bazel-bin/tests/benchmarks/adapt_bench
