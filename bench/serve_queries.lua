-- wrk's script for bench/serve.sh. Environment: CASE = one | slider | fresh | plain.
--   one     the same question again and again
--   slider  ten architectures, contexts 2^4 .. 2^24 and precisions as the page's sliders give them: 1,890 questions
--   fresh   no question twice: every context is another number
--   plain   what a peer serves at /
local case = os.getenv("CASE") or "one"
local architectures = { "full", "full*3", "linear*4", "full%2Blinear*100", "linear%2Bfull", "(gdelta*3%2Bfull)*12", "mamba2*24", "sparse(B=16,k=4)*2", "heads(full:2,linear:2)*2", "full(window=128)*4" }
local precisions = { "4", "6", "8", "10", "12", "16", "24", "32", "bf16" }
local count = 0

function init(args) math.randomseed(os.time()) end

function request()
  local path = "/"
  if case == "one" then path = "/api/bound?arch=full%2Blinear*100&width=16&context=65536"
  elseif case == "slider" then
    path = string.format("/api/bound?arch=%s&width=64&context=%d&precision=%s", architectures[math.random(#architectures)], 2 ^ math.random(4, 24), precisions[math.random(#precisions)])
  elseif case == "fresh" then
    count = count + 1
    path = string.format("/api/bound?arch=%s&width=64&context=%d&precision=16", architectures[math.random(#architectures)], 16 + math.random(2 ^ 24))
  end
  return wrk.format("GET", path)
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.2f | %d |\n", os.getenv("TITLE") or case, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000, latency.max / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
