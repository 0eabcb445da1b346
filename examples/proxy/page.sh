#!/usr/bin/env bash
# Looks at the status page with headless Chromium: the page must show what goes through the proxy, must have refreshed
# itself, and must have nothing to complain of. A picture of it goes to the file that is named.
#
#	examples/proxy/page.sh [picture.png]
#
# Needs Debian's chromium, curl and python3. It takes some ten seconds, so the gate leaves it out.
set -euo pipefail
cd "$(dirname "$0")/../.."
picture=$(realpath -m "${1:-/dev/null}")
for tool in chromium curl python3; do command -v "$tool" >/dev/null || { echo "page.sh: $tool is not installed" >&2; exit 2; }; done
work=$(mktemp -d)
pids=()
finish() {
	kill "${pids[@]}" 2>/dev/null || true
	wait || true
	rm -rf "$work"
}
trap finish EXIT
go build -o "$work/proxy" ./examples/proxy
go build -o "$work/http" ./examples/http
"$work/http" -addr 127.0.0.1:0 >"$work/http.out" & pids+=($!)
for _ in $(seq 50); do [ ! -s "$work/http.out" ] || break; sleep 0.1; done
web=$(awk '{ print $3 }' "$work/http.out")
cat >"$work/proxy.toml" <<END
admin = "127.0.0.1:0"
[[route]]
name = "web"
listen = ["http://127.0.0.1:0"]
balance = "least_connections"
upstream = [{ address = "tcp://$web" }, { address = "tcp://127.0.0.1:1" }]
health = { interval = "200ms", path = "/plaintext", fails = 1 }
[[route]]
name = "database"
listen = ["tcp://127.0.0.1:0"]
upstream = [{ address = "tcp://$web" }]
END
"$work/proxy" -config "$work/proxy.toml" >"$work/proxy.out" 2>"$work/proxy.err" & pids+=($!)
for _ in $(seq 50); do ! grep -q '^status on' "$work/proxy.out" || break; sleep 0.1; done
status=$(awk '/^status on/{ print $3 }' "$work/proxy.out")
at=$(awk '/^listening on http/{ sub("http://", "", $3); print $3 }' "$work/proxy.out")
tcp=$(awk '/^listening on tcp/{ sub("tcp://", "", $3); print $3 }' "$work/proxy.out")
(while :; do curl -sS "http://$at/plaintext?[1-200]" "http://$tcp/plaintext?[1-50]"; done) >/dev/null 2>&1 & pids+=($!)
sleep 1

browser=(chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/profile" --virtual-time-budget=4000 --enable-logging=stderr --hide-scrollbars)
timeout 60 "${browser[@]}" --dump-dom "$status" >"$work/dom" 2>"$work/dom.err"
fail() { echo "FAILED: $1" >&2; cat "$work/dom" >&2; grep CONSOLE "$work/dom.err" >&2 || true; exit 1; }
for text in web database "tcp://$web" "least connections" 'class="good"' 'class="bad"' 'connection refused' 'requests'; do
	grep -qF "$text" "$work/dom" || fail "the page does not show $text"
done
grep -qE '[0-9.]+k? *· *[0-9.]+k?/s' "$work/dom" || fail "the page shows no rates, so it has not refreshed itself"
if grep -q 'CONSOLE.*\(Error\|Refused\)' "$work/dom.err"; then fail "the browser complains"; fi
if [ "$picture" != /dev/null ]; then
	timeout 60 "${browser[@]}" --window-size=1100,760 --screenshot="$picture" "$status" 2>/dev/null
fi
echo "the page shows two routes, a healthy and an unhealthy upstream, and rates"
