// Who started this process, and which of how many it is: read from the environment, so that a program started
// by hand pays nothing for MPI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rung {

struct Launch {
  int rank = 0, count = 1;              // of the whole job
  int local_rank = 0, local_count = 1;  // of those on this machine
  std::string by = {};                  // "mpirun", "srun"; empty: a person
};

// nullptr: not set.
using Environment = std::function<const char*(const char* name)>;

// OMPI_COMM_WORLD_* of OpenMPI's mpirun; SLURM_PROCID and SLURM_STEP_NUM_TASKS of srun. A batch script itself
// is no step: SLURM_NTASKS alone says nothing. Numbers that contradict each other: one rank.
Launch read_launch(const Environment& environment);
// Of this process; read once.
const Launch& launch();

// The cores of `allowed` that are this rank's own: an equal share where the launcher left all `online` of
// them to every rank of this machine, else all that it allows. REQUIRES allowed not empty. ENSURES not empty.
std::vector<int> share_of_cores(const Launch& launch, const std::vector<int>& allowed, int online);
// What CUDA_VISIBLE_DEVICES has to say so that every rank of this machine has a device of its own, in turn
// where ranks outnumber them. Nothing: leave it. `visible`: what it says now; `devices`: how many the machine
// has.
std::optional<std::string> own_device(const Launch& launch, const std::optional<std::string>& visible,
                                      int devices);

// Both, for this process. Called before threads or devices are used.
void settle_on_this_machine(const Launch& launch);

}  // namespace rung
