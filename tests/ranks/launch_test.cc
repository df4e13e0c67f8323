#include "rung/ranks/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace rung {
namespace {

Launch read(const std::map<std::string, std::string>& set) {
  return read_launch([&](const char* name) { return set.contains(name) ? set.at(name).c_str() : nullptr; });
}

TEST(Launch, a_program_started_by_hand_is_rank_0_of_1) {
  EXPECT_EQ(read({}).count, 1);
  EXPECT_TRUE(read({}).by.empty());
  // A batch script is no step, and numbers that contradict each other are no launch.
  EXPECT_EQ(read({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}).count, 1);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).count, 1);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).count, 1);
}

TEST(Launch, mpirun_and_srun_are_recognised) {
  const Launch mpirun = read({{"OMPI_COMM_WORLD_RANK", "3"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"SLURM_PROCID", "0"},
                              {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(mpirun.by, "mpirun");
  EXPECT_EQ(mpirun.rank, 3);
  EXPECT_EQ(mpirun.count, 4);
  EXPECT_EQ(mpirun.local_rank, 1);
  EXPECT_EQ(mpirun.local_count, 2);
  const Launch srun = read({{"SLURM_PROCID", "9"},
                            {"SLURM_STEP_NUM_TASKS", "11"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}});
  EXPECT_EQ(srun.by, "srun");
  EXPECT_EQ(srun.rank, 9);
  EXPECT_EQ(srun.count, 11);
  EXPECT_EQ(srun.local_rank, 1);
  EXPECT_EQ(srun.local_count, 4);
}

TEST(Launch, unbound_ranks_share_the_cores_and_bound_ones_keep_theirs) {
  const std::vector<int> cores{0, 1, 2, 3, 4};
  for (int ranks = 2; ranks <= 5; ++ranks) {
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto own = share_of_cores({.local_rank = rank, .local_count = ranks}, cores, 5);
      EXPECT_FALSE(own.empty());
      all.insert(all.end(), own.begin(), own.end());
    }
    EXPECT_EQ(all, cores) << ranks << " ranks";
  }
  EXPECT_EQ(share_of_cores({.local_rank = 6, .local_count = 8}, cores, 5), std::vector<int>{1});
  EXPECT_EQ(share_of_cores({.local_rank = 1, .local_count = 2}, {4, 5}, 8), (std::vector<int>{4, 5}));
  EXPECT_EQ(share_of_cores({}, cores, 5), cores);
}

TEST(Launch, every_rank_of_a_machine_has_a_device_in_turn) {
  const Launch third{.local_rank = 2, .local_count = 4};
  EXPECT_EQ(own_device(third, std::nullopt, 4), "2");
  EXPECT_EQ(own_device(third, std::nullopt, 2), "0");
  EXPECT_EQ(own_device(third, std::nullopt, 1), std::nullopt);
  EXPECT_EQ(own_device(third, "4,5,6,7", 8), "6");
  EXPECT_EQ(own_device(third, "GPU-a", 8), std::nullopt);
  EXPECT_EQ(own_device(third, "", 8), std::nullopt);
  EXPECT_EQ(own_device({}, std::nullopt, 8), std::nullopt);
}

}  // namespace
}  // namespace rung
