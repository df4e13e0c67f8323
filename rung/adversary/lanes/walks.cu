// Walks to distinguished points, a thread each.
#include "rung/adversary/lanes/launch.cuh"

namespace rung::lanes {
namespace {

template <class Machine>
__global__ void __launch_bounds__(Machine::kThreads)
    walk_kernel(const __grid_constant__ Evaluation evaluation, RowRange shared, Chains chains,
                std::int64_t steps, int zeros, std::uint64_t patience, TrailEnds ends) {
  const BlockRows block = block_rows(evaluation, shared);
  Machine machine(evaluation);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < chains.count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    walk_chain(machine, evaluation, block, chains, i, steps, zeros, patience, ends);
}

__global__ void start_kernel(Chains chains, int words) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (i < chains.count) start_chain(chains, i, words);
}

}  // namespace

int walk_width(const Evaluation& evaluation, std::uint64_t* chains) {
  return with_machine(evaluation, [&](auto kind) {
    using Machine = typename decltype(kind)::Machine;
    const Launch launch(walk_kernel<Machine>, evaluation, Machine::kThreads);
    *chains = static_cast<std::uint64_t>(launch.blocks) * Machine::kThreads;
    return launch.status;
  });
}

int start_walks(const Chains& chains, int words) {
  constexpr unsigned kThreads = 256;
  start_kernel<<<static_cast<unsigned>((chains.count + kThreads - 1) / kThreads), kThreads>>>(chains, words);
  return cudaGetLastError();
}

int walk(const Evaluation& evaluation, const Chains& chains, std::int64_t steps, int zeros,
         std::uint64_t patience, const TrailEnds& ends) {
  return with_machine(evaluation, [&](auto kind) -> int {
    using Machine = typename decltype(kind)::Machine;
    const Launch launch(walk_kernel<Machine>, evaluation, Machine::kThreads);
    if (launch.status) return launch.status;
    walk_kernel<Machine><<<launch.blocks, Machine::kThreads, launch.bytes>>>(
        evaluation, launch.shared, chains, steps, zeros, patience, ends);
    return cudaGetLastError();
  });
}

}  // namespace rung::lanes
