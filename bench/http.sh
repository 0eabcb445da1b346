#!/usr/bin/env bash
# Compares Suiro with its peers over HTTP on one server CPU. Flags and contenders: bench/http.sh -h
#
#   bench/http.sh [-r ROUNDS] [-d SECONDS] [-c "50 500"] [-json FILE] [-quick] [contender…]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in go gcc wrk taskset flock; do
	command -v "$tool" >/dev/null || { echo "bench/http.sh: $tool is not installed" >&2; exit 2; }
done
exec 9<"$root/bench/http.sh"
flock -n 9 || { echo "bench/http.sh: waiting for another comparison on these CPUs to end" >&2; flock 9; }
ulimit -n "$(ulimit -Hn)" # thousands of connections need as many descriptors, in wrk too

compare=$(mktemp)
trap 'rm -f "$compare"' EXIT
(cd "$root/bench/peers" && GOWORK=off go build -o "$compare" ./cmd/compare)
"$compare" -root "$root" "$@" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' INT TERM
status=0
wait "$pid" || status=$?
wait "$pid" || status=$? # a signal ends the first wait before compare has stopped its server
exit "$status"
