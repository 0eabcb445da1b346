#!/usr/bin/env bash
# Measures what connections cost a server: memory, churn, small and large messages. All flags, workloads and
# contenders: bench/conns.sh -h
#
#   bench/conns.sh [-r ROUNDS] [-d SECONDS] [-s "CONTENDER…"] [-json FILE] [-quick] [workload…]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in go taskset flock; do
	command -v "$tool" >/dev/null || { echo "bench/conns.sh: $tool is not installed" >&2; exit 2; }
done
exec 9<"$root/bench/http.sh" # whose lock it is: the two must not run at once
flock -n 9 || { echo "bench/conns.sh: waiting for another comparison on these CPUs to end" >&2; flock 9; }

conns=$(mktemp)
trap 'rm -f "$conns"' EXIT
(cd "$root/bench/peers" && GOWORK=off go build -o "$conns" ./cmd/conns)
"$conns" "$@" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' INT TERM
status=0
wait "$pid" || status=$?
wait "$pid" || status=$? # a signal ends the first wait before conns has stopped its children
exit "$status"
