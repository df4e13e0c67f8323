// Successors of a set of states. A block lists the states of a few words of the set in shared memory, and its
// threads take (state, row) pairs in turn: no thread waits for one whose word has more states.
#include "rung/adversary/lanes/launch.cuh"

namespace rung::lanes {
namespace {

constexpr unsigned kWordStates = 32;

template <class Machine>
__global__ void __launch_bounds__(Machine::kThreads)
    reach_kernel(const __grid_constant__ Evaluation evaluation, RowRange shared, std::uint32_t rows,
                 StateSets sets) {
  __shared__ std::uint16_t listed[Machine::kThreads * kWordStates];  // number of the word, and of the bit
  __shared__ unsigned count;
  const BlockRows block = block_rows(evaluation, shared);
  Machine machine(evaluation);
  unsigned long long fresh = 0;
  for (std::uint64_t base = blockIdx.x * std::uint64_t{blockDim.x}; base < sets.count;
       base += std::uint64_t{gridDim.x} * blockDim.x) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    std::uint32_t word = base + threadIdx.x < sets.count ? sets.now[sets.first + base + threadIdx.x] : 0;
    if (word != 0) {
      unsigned at = atomicAdd(&count, static_cast<unsigned>(__popc(word)));
      for (; word != 0; word &= word - 1)
        listed[at++] =
            static_cast<std::uint16_t>(threadIdx.x * kWordStates + (__ffs(static_cast<int>(word)) - 1));
    }
    __syncthreads();
    const unsigned pairs = count * rows;
    for (unsigned pair = threadIdx.x; pair < pairs; pair += blockDim.x)
      fresh += reach(machine, evaluation, block, (sets.first + base) * kWordStates + listed[pair / rows],
                     pair % rows, sets.next);
    __syncthreads();
  }
  if (fresh > 0) atomicAdd(sets.fresh, fresh);
}

}  // namespace

int reach_states(const Evaluation& evaluation, std::uint32_t rows, const StateSets& sets) {
  if (sets.count == 0) return 0;
  return with_machine(evaluation, [&](auto kind) -> int {
    using Machine = typename decltype(kind)::Machine;
    static_assert(Machine::kThreads * kWordStates <= 1 << 16);
    const Launch launch(reach_kernel<Machine>, evaluation, Machine::kThreads);
    if (launch.status) return launch.status;
    reach_kernel<Machine>
        <<<launch.blocks, Machine::kThreads, launch.bytes>>>(evaluation, launch.shared, rows, sets);
    return cudaGetLastError();
  });
}

}  // namespace rung::lanes
