#!/usr/bin/env bash
# What passing on costs: examples/proxy, haproxy (TCP mode, splice on) and nginx stream, each with one worker, before the
# same server, by the same load, in turn, so that what the machine does besides goes to all of them.
#
#	bench/proxy.sh [seconds of a measurement, 3] [rounds, 3]
#
# A line for each round: the proxy's CPU for a message (64 B echo on 50 connections; each message passes it twice), bytes per CPU-second
# (1 MiB at a time), and the latency of 5,000 connections.
set -euo pipefail
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
seconds=${1:-3} rounds=${2:-3}
PATH=$PATH:/usr/sbin
work=$(mktemp -d)
pids=()
finish() {
	kill "${pids[@]}" 2>/dev/null || true
	wait || true
	rm -rf "$work"
}
trap finish EXIT
go build -o "$work/proxy" ./examples/proxy
go build -o "$work/load" ./bench/proxyload

"$work/load" -serve >"$work/origin" &
pids+=($!)
for _ in $(seq 100); do [ ! -s "$work/origin" ] || break; sleep 0.1; done
origin=$(cat "$work/origin")

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
declare -A port pid
names=(suiro)
port[suiro]=$(free)
"$work/proxy" -workers 1 -listen "tcp://127.0.0.1:${port[suiro]}" -upstream "tcp://$origin" >"$work/suiro.out" &
pid[suiro]=$! pids+=($!)

if command -v haproxy >/dev/null; then
	names+=(haproxy) port[haproxy]=$(free)
	cat >"$work/haproxy.cfg" <<END
global
	nbthread 1
	maxconn 5200
defaults
	mode tcp
	option splice-auto
	timeout connect 5s
	timeout client 600s
	timeout server 600s
listen l
	bind 127.0.0.1:${port[haproxy]}
	server s $origin
END
	haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.out" 2>&1 &
	pid[haproxy]=$! pids+=($!)
fi
if command -v nginx >/dev/null; then
	names+=(nginx) port[nginx]=$(free)
	cat >"$work/nginx.conf" <<END
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/nginx.err;
$([ ! -e /usr/lib/nginx/modules/ngx_stream_module.so ] || echo 'load_module /usr/lib/nginx/modules/ngx_stream_module.so;')
events { worker_connections 18000; }
stream {
	server {
		listen 127.0.0.1:${port[nginx]} backlog=8192;
		proxy_pass $origin;
		proxy_timeout 600s;
	}
}
END
	nginx -c "$work/nginx.conf" >"$work/nginx.out" 2>&1 &
	pid[nginx]=$! pids+=($!)
fi
for n in "${names[@]}"; do
	for _ in $(seq 50); do (exec 3<>"/dev/tcp/127.0.0.1/${port[$n]}") 2>/dev/null && break; sleep 0.1; done
	kill -0 "${pid[$n]}" || { cat "$work/$n".*; exit 1; }
done
for round in $(seq "$rounds"); do
	for n in "${names[@]}"; do
		printf '%d %-8s' "$round" "$n"
		for what in echo bulk many; do
			"$work/load" -to "127.0.0.1:${port[$n]}" -pid "${pid[$n]}" -for "${seconds}s" "-$what"
		done
		echo
	done
done | tee "$work/results"
echo
awk '{ if (!(($2) in n)) order[++k] = $2; n[$2]++; e[$2] = e[$2] " " $3; b[$2] = b[$2] " " $5; p[$2] = p[$2] " " $10 }
	function median(list, a, m, i, j, t) { m = split(list, a, " "); for (i = 1; i <= m; i++) for (j = i + 1; j <= m; j++) if (a[j] + 0 < a[i] + 0) { t = a[i]; a[i] = a[j]; a[j] = t } return a[int((m + 1) / 2)] }
	END { for (i = 1; i <= k; i++) { x = order[i]; printf "%-8s %6.2f µs CPU a message  %6.2f GB a CPU-second  p99 of 5,000 %8.2f ms\n", x, median(e[x]), median(b[x]), median(p[x]) }
		if (k > 1) { ee = 1e9; bb = 0; pp = 1e9; for (i = 2; i <= k; i++) { x = order[i]; if (median(e[x]) < ee) ee = median(e[x]); if (median(b[x]) > bb) bb = median(b[x]); if (median(p[x]) < pp) pp = median(p[x]) }
			printf "suiro to the best of the others: %.2f of the CPU a message, %.2f of the bytes a CPU-second, %.2f of the p99\n", median(e["suiro"]) / ee, median(b["suiro"]) / bb, median(p["suiro"]) / pp } }' "$work/results"
