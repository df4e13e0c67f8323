// Birthdays in the device's memory, on codes of a walk and on leaves of a stack, a thread each.
#include "rung/adversary/lanes/launch.cuh"

namespace rung::lanes {
namespace {

template <class Machine>
__global__ void __launch_bounds__(Machine::kThreads)
    meet_codes_kernel(const __grid_constant__ Evaluation evaluation, RowRange shared, std::uint32_t first,
                      std::uint32_t count, CodeTable table) {
  const BlockRows block = block_rows(evaluation, shared);
  Machine machine(evaluation);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t code[kMostWords] = {first + i, 0};
    evaluate(machine, evaluation, block, code);
    meet(table, code[0], static_cast<std::uint32_t>(first + i));
  }
}

__global__ void meet_leaves_kernel(const std::int64_t* leaves, std::int32_t own, std::uint32_t count,
                                   CodeTable table) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (i < count) meet(table, leaf_code(leaves + i * own, own), static_cast<std::uint32_t>(i));
}

template <class Machine>
__global__ void __launch_bounds__(Machine::kThreads)
    grow_kernel(const __grid_constant__ Evaluation evaluation, Leaves leaves) {
  Machine machine(evaluation);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < 2 * leaves.count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    grow_leaf(machine, leaves, i);
}

// Blocks of so many threads, as many as there is work for and at most `most`.
unsigned blocks_for(std::uint64_t items, int threads, int most) {
  return static_cast<unsigned>(std::min<std::uint64_t>((items + threads - 1) / threads, most));
}

}  // namespace

int meet_codes(const Evaluation& evaluation, std::uint32_t first, std::uint32_t count,
               const CodeTable& table) {
  return with_machine(evaluation, [&](auto kind) -> int {
    using Machine = typename decltype(kind)::Machine;
    const Launch launch(meet_codes_kernel<Machine>, evaluation, Machine::kThreads);
    if (launch.status) return launch.status;
    meet_codes_kernel<Machine>
        <<<blocks_for(count, Machine::kThreads, launch.blocks), Machine::kThreads, launch.bytes>>>(
            evaluation, launch.shared, first, count, table);
    return cudaGetLastError();
  });
}
int meet_leaves(const std::int64_t* leaves, std::int32_t own, std::uint32_t count, const CodeTable& table) {
  constexpr int kThreads = 256;
  meet_leaves_kernel<<<blocks_for(count, kThreads, 1 << 30), kThreads>>>(leaves, own, count, table);
  return cudaGetLastError();
}
int grow_leaves(const Evaluation& evaluation, const Leaves& leaves) {
  return with_layers(evaluation, [&](auto kind) -> int {
    using Machine = typename decltype(kind)::Machine;
    const Launch launch(grow_kernel<Machine>, evaluation, Machine::kThreads);
    if (launch.status) return launch.status;
    grow_kernel<Machine>
        <<<blocks_for(2 * leaves.count, Machine::kThreads, launch.blocks), Machine::kThreads>>>(evaluation,
                                                                                                leaves);
    return cudaGetLastError();
  });
}

}  // namespace rung::lanes
