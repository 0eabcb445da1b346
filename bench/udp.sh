#!/usr/bin/env bash
# Measures what a datagram costs a UDP echo server. Flags and contenders: bench/udp.sh -h
#
#   bench/udp.sh [-r ROUNDS] [-d SECONDS] [-server CPU] [-load CPU] [contender…]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in go taskset flock; do
	command -v "$tool" >/dev/null || { echo "bench/udp.sh: $tool is not installed" >&2; exit 2; }
done
exec 9<"$root/bench/http.sh" # whose lock it is: the two must not run at once
flock -n 9 || { echo "bench/udp.sh: waiting for another comparison on these CPUs to end" >&2; flock 9; }

udp=$(mktemp)
trap 'rm -f "$udp"' EXIT
(cd "$root/bench/peers" && GOWORK=off go build -o "$udp" ./cmd/udp)
"$udp" "$@"
