#!/bin/bash
# Runs one of the Python test files with Debian's Python, which has torch, against the SDK just built.
# usage: python_test.sh FILE
set -eu
export PYTHONPATH="$PWD/client/python/site" PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 "examples/$1" -v
