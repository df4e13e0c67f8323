// A figure that a benchmark measured, as one JSON line: what, how much, its peer in the same run, and where and from
// which commit. Lines are appended to the file that RUNG_FIGURES names; without it nothing is written.
//
//   add_figure({"attacks", "points, 64 bits", lanes, "evaluations/s", "exact machine", machine});
//
// bench/figures.py sets the variables, and makes bench/README.md of the lines.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "rung/base/require.h"
#include "rung/store/provenance.h"

namespace rung {

struct Figure {
  std::string benchmark, name;
  double value = 0;
  std::string unit;
  std::string peer = {};    // empty: none in this run
  double peer_value = 0;    // in the same unit
  std::string device = {};  // empty: the processor
};

inline std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

inline void add_figure(const Figure& figure) {
  const char* const path = std::getenv("RUNG_FIGURES");
  if (!path) return;
  const char* const commit = std::getenv("RUNG_COMMIT");
  nlohmann::ordered_json line{{"benchmark", figure.benchmark},
                              {"figure", figure.name},
                              {"value", figure.value},
                              {"unit", figure.unit},
                              {"machine", figure.device.empty() ? processor_name() : figure.device},
                              {"cores", std::thread::hardware_concurrency()},
                              {"commit", commit ? commit : ""},
                              {"date", utc_now().substr(0, 10)}};
  if (!figure.peer.empty()) line["peer"] = figure.peer, line["peer_value"] = figure.peer_value;
  std::ofstream file(path, std::ios::app);
  file << line.dump() << '\n';
  RUNG_REQUIRE(file.good(), "figures are appended to {}", path);
}

}  // namespace rung
