#include "rung/ranks/launch.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rung {
namespace {

constexpr int kMostRanks = 1 << 20;

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0 || value > kMostRanks) return std::nullopt;
  return value;
}

// "4(x2),3" in Slurm's notation: the largest, since a node's place in the list is not told.
int most_tasks_a_node(const char* text) {
  int most = 1, value = 0;
  bool counting = true;
  for (const char* c = text ? text : ""; *c; ++c) {
    if (*c == '(') counting = false;
    if (*c == ')') counting = true;
    if (*c == ',') value = 0;
    if (counting && *c >= '0' && *c <= '9' && value < kMostRanks)
      most = std::max(most, value = 10 * value + (*c - '0'));
  }
  return most;
}

}  // namespace

Launch read_launch(const Environment& environment) {
  Launch found;
  if (const auto rank = number(environment, "OMPI_COMM_WORLD_RANK")) {
    found.by = "mpirun";
    found.rank = *rank;
    found.count = number(environment, "OMPI_COMM_WORLD_SIZE").value_or(1);
    found.local_rank = number(environment, "OMPI_COMM_WORLD_LOCAL_RANK").value_or(0);
    found.local_count = number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1);
  } else if (const auto task = number(environment, "SLURM_PROCID");
             task && environment("SLURM_STEP_NUM_TASKS")) {
    found.by = "srun";
    found.rank = *task;
    found.count = number(environment, "SLURM_STEP_NUM_TASKS").value_or(1);
    found.local_rank = number(environment, "SLURM_LOCALID").value_or(0);
    found.local_count = most_tasks_a_node(environment("SLURM_STEP_TASKS_PER_NODE"));
  }
  if (found.count < 1 || found.rank >= found.count) return {};
  found.local_count = std::clamp(found.local_count, 1, found.count);
  found.local_rank = std::min(found.local_rank, found.local_count - 1);
  return found;
}

const Launch& launch() {
  static const Launch kThis = read_launch([](const char* name) { return std::getenv(name); });
  return kThis;
}

std::vector<int> share_of_cores(const Launch& launch, const std::vector<int>& allowed, int online) {
  const int cores = static_cast<int>(allowed.size());
  if (launch.local_count < 2 || cores < 2 || cores < online) return allowed;
  if (launch.local_count >= cores) return {allowed[static_cast<std::size_t>(launch.local_rank % cores)]};
  const auto place = [&](int rank) {
    return allowed.begin() + static_cast<long>(cores) * rank / launch.local_count;
  };
  return {place(launch.local_rank), place(launch.local_rank + 1)};
}

std::optional<std::string> own_device(const Launch& launch, const std::optional<std::string>& visible,
                                      int devices) {
  if (launch.local_count < 2) return std::nullopt;
  if (!visible) {
    if (devices < 2) return std::nullopt;
    return std::to_string(launch.local_rank % devices);
  }
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= visible->size();) {
    const std::size_t comma = std::min(visible->find(',', at), visible->size());
    if (comma > at) names.push_back(visible->substr(at, comma - at));
    at = comma + 1;
  }
  if (names.size() < 2) return std::nullopt;
  return names[static_cast<std::size_t>(launch.local_rank) % names.size()];
}

void settle_on_this_machine(const Launch& launch) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    std::vector<int> allowed;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) allowed.push_back(core);
    if (!allowed.empty()) {
      CPU_ZERO(&set);
      for (const int core : share_of_cores(launch, allowed, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))))
        CPU_SET(core, &set);
      sched_setaffinity(0, sizeof set, &set);
    }
  }
  int devices = 0;
  std::error_code code;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", code))
    ++devices;
  const char* now = std::getenv("CUDA_VISIBLE_DEVICES");
  if (const auto own = own_device(launch, now ? std::optional<std::string>(now) : std::nullopt, devices))
    setenv("CUDA_VISIBLE_DEVICES", own->c_str(), 1);
}

}  // namespace rung
