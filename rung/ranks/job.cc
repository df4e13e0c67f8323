// This process's place in its job: MPI is loaded here, when a launcher says that there are several ranks.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "rung/base/program_path.h"
#include "rung/ranks/launch.h"
#include "rung/ranks/ranks.h"

namespace rung {
namespace {

constexpr double kSilence = 20;  // seconds

double silence() {
  const char* text = std::getenv("RUNG_RANK_SILENCE");
  const double value = text ? std::atof(text) : 0;
  return value >= 0.5 && value <= 1e6 ? value : kSilence;
}

// The module stands beside the programs: beside rung in a build folder, beside rung-learn where they are
// installed.
Result<std::unique_ptr<Transport>> open_mpi(const Launch& launch) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path here = program_folder();
  for (const fs::path& place : {here / "rung-mpi.so", here / ".." / "libexec" / "rung" / "rung-mpi.so"}) {
    if (!fs::exists(place, code)) continue;
    // Global: OpenMPI's own modules look for its symbols.
    void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!module) return fail(ErrorCode::io, "[ranks] {} cannot be loaded: {}", place.string(), dlerror());
    const auto open = reinterpret_cast<Transport* (*)()>(dlsym(module, "rung_open_transport"));
    if (!open)
      return fail(ErrorCode::io, "[ranks] {} is not a module of rung: {}", place.string(), dlerror());
    std::unique_ptr<Transport> transport(open());
    if (transport->count() != launch.count)
      return fail(ErrorCode::unsupported,
                  "[ranks] {} started {} ranks, but MPI sees {}: its launcher is not this MPI's (srun with "
                  "pmix or pmi2, or OpenMPI's mpirun expected)",
                  launch.by, launch.count, transport->count());
    return transport;
  }
  return fail(
      ErrorCode::unsupported,
      "[ranks] {} started {} ranks, but this rung was built without MPI (Debian package libopenmpi-dev)",
      launch.by, launch.count);
}

std::unique_ptr<Ranks>& job() {
  static std::unique_ptr<Ranks> ranks;
  return ranks;
}

}  // namespace

Ranks* joined_ranks() { return job().get(); }

Result<Ranks*> join_ranks() {
  if (job()) return job().get();
  const Launch& place = launch();
  if (place.count == 1) {
    job() = std::make_unique<Ranks>();
    return job().get();
  }
  settle_on_this_machine(place);
  RUNG_TRY(job(), Ranks::make([&place] { return open_mpi(place); }, silence()));
  return job().get();
}

int leave_ranks(int code) {
  if (job()) {
    const int agreed = job()->leave(code);
    if (!job()->orderly()) {
      std::fflush(nullptr);
      std::_Exit(agreed);
    }
    job().reset();
    return agreed;
  }
  return launch().rank == 0 ? code : 0;
}

}  // namespace rung
