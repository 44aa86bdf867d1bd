#!/bin/sh
# Compresses the licence texts again and again, with the tools of the base system: a program that knows
# nothing of pipefill. Each pass begins with another text, so no two passes are equal.
#
#   compress.sh RESULT [PASSES]
#
# Leaves RESULT.gz, and RESULT with its SHA-256 as one line of JSON, complete or not at all. The same
# machine gives the same bytes, however often it was stopped.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: compress.sh RESULT [PASSES]" >&2
  exit 2
fi
result=$1
passes=${2:-20}
folder=/usr/share/common-licenses

texts=$(find "$folder" -maxdepth 1 -type f | LC_ALL=C sort)
if [ -z "$texts" ]; then
  echo "no licence texts: folder=$folder; install Debian's package base-files" >&2
  exit 1
fi

# The first text goes to the end.
turn() {
  first=$1
  shift
  printf '%s\n' "$@" "$first"
}

: >"$result.gz.new"
pass=0
while [ "$pass" -lt "$passes" ]; do
  # One process a text, and one that compresses what they say.
  for text in $texts; do cat "$text"; done | gzip -9 -n >>"$result.gz.new"
  # shellcheck disable=SC2086 # one word per text
  texts=$(turn $texts)
  pass=$((pass + 1))
done
mv "$result.gz.new" "$result.gz"
sum=$(sha256sum "$result.gz" | cut -d' ' -f1)
printf '{"passes": %d, "sha256": "%s"}\n' "$passes" "$sum" >"$result.new"
mv "$result.new" "$result"
echo "passes=$passes sha256=$sum"
