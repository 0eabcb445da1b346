-- Pipelines for wrk:
--
--   wrk -t1 -c50 -d5 -s bench/pipeline.lua http://127.0.0.1:8080/plaintext -- 16
--
-- That many requests (default 16) leave in one write, then their responses are awaited. The batch is built once: wrk
-- runs no Lua per request, since neither request() nor response() is defined.

function init(args)
  local depth = tonumber(args[1]) or 16
  local one = wrk.format()
  wrk.format = function() return string.rep(one, depth) end
end
