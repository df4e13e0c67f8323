#!/usr/bin/env bash
# rung serve under 50 clients, beside its peers in one run: bench/serve.sh [FOLDER_OF_RUNG [SECONDS]]. Needs wrk; cpp-httplib and python3 where they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rung=$(cd "${1:-build}" && pwd)/rung
seconds=${2:-10}
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server" 2> /dev/null || true; done; rm -rf "$work"' EXIT
cd "$work"
measure() { CASE=$1 TITLE=$2 wrk -t1 -c50 -d"${4:-$seconds}s" --timeout 10s -s "$here/serve_queries.lua" "$3" | grep '^|' || true; }
wait_for() { for _ in $(seq 100); do curl -s -o /dev/null "$1" && return; sleep 0.1; done; }

grep -m1 'model name' /proc/cpuinfo | cut -d : -f 2
echo "load before: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) cores"
echo
echo '| 50 clients, latency in ms | requests/s | median | 90 % | 99 % | 99.9 % | most | errors |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
"$rung" serve --port 0 > url & servers+=($!)
wait_for "file://$work/url"; while [ ! -s url ]; do sleep 0.05; done
url=$(cat url)
curl -s "${url}api/bound?arch=full%2Blinear*100&width=16&context=65536" > answer.json
measure one 'rung serve, one question' "$url"
measure slider 'rung serve, 1,890 questions, none known at first' "$url"
measure slider 'rung serve, the same questions again' "$url"
measure fresh 'rung serve, no question twice' "$url"
if pkg-config --exists cpp-httplib 2> /dev/null; then
  g++ -O2 "$here/serve_peer.cc" -o peer $(pkg-config --cflags --libs cpp-httplib) -lpthread
  ./peer 8019 answer.json & servers+=($!)
  wait_for http://127.0.0.1:8019/
  measure plain 'peer: cpp-httplib, a constant of the same size' http://127.0.0.1:8019/
fi
mkdir -p static && cp answer.json static/index.html
python3 -m http.server --bind 127.0.0.1 --directory static 8020 > /dev/null 2>&1 & servers+=($!)
wait_for http://127.0.0.1:8020/
measure plain 'peer: python3 -m http.server, a file of the same size' http://127.0.0.1:8020/
echo
echo "load after: $(cut -d ' ' -f 1-3 /proc/loadavg)"
