-- wrk's load and its report for bench/peers/cmd/compare.
--
--   wrk ... -s bench/pipeline.lua http://ADDR/plaintext -- DEPTH
--
-- DEPTH requests (default 16) leave in one write, then their DEPTH responses are awaited. The batch is
-- built once: wrk runs no Lua per request, since neither request() nor response() is defined.

function init(args)
  local depth = tonumber(args[1]) or 16
  local one = wrk.format()
  wrk.format = function() return string.rep(one, depth) end
end

-- Exact counts, since wrk's own report rounds them. Times are in microseconds.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'wrk-json {"requests":%d,"micros":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,' ..
    '"status":%d,"p50":%d,"p99":%d,"max":%d}\n',
    summary.requests, summary.duration, summary.bytes, e.connect, e.read, e.write, e.timeout,
    e.status, latency:percentile(50), latency:percentile(99), latency.max))
end
