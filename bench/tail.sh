#!/usr/bin/env bash
# Measures an echo server's latencies beside handlers that burn CPU. Flags and contenders: bench/tail.sh -h
#
#   bench/tail.sh [-r ROUNDS] [-d SECONDS] [-slow "1 8"] [-json FILE] [-quick] [contender…]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in go taskset flock; do
	command -v "$tool" >/dev/null || { echo "bench/tail.sh: $tool is not installed" >&2; exit 2; }
done
exec 9<"$root/bench/http.sh" # whose lock it is: the two must not run at once
flock -n 9 || { echo "bench/tail.sh: waiting for another comparison on these CPUs to end" >&2; flock 9; }

tail=$(mktemp)
trap 'rm -f "$tail"' EXIT
(cd "$root/bench/peers" && GOWORK=off go build -o "$tail" ./cmd/tail)
"$tail" "$@" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' INT TERM
status=0
wait "$pid" || status=$?
wait "$pid" || status=$? # a signal ends the first wait before tail has stopped its children
exit "$status"
