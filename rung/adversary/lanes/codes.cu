// Many evaluations side by side, a thread each.
#include "rung/adversary/lanes/launch.cuh"

namespace rung::lanes {
namespace {

template <class Machine>
__global__ void __launch_bounds__(Machine::kThreads)
    codes_kernel(const __grid_constant__ Evaluation evaluation, RowRange shared, const std::uint64_t* x,
                 std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
  const BlockRows block = block_rows(evaluation, shared);
  Machine machine(evaluation);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    evaluate_code(machine, evaluation, block, x, first, i, out);
}

}  // namespace

int evaluate_codes(const Evaluation& evaluation, const std::uint64_t* x, std::uint64_t first,
                   std::uint64_t count, std::uint64_t* out) {
  if (count == 0) return 0;
  return with_machine(evaluation, [&](auto kind) -> int {
    using Machine = typename decltype(kind)::Machine;
    const Launch launch(codes_kernel<Machine>, evaluation, Machine::kThreads);
    if (launch.status) return launch.status;
    const std::uint64_t enough = (count + Machine::kThreads - 1) / Machine::kThreads;
    codes_kernel<Machine>
        <<<static_cast<unsigned>(std::min<std::uint64_t>(enough, launch.blocks)), Machine::kThreads,
           launch.bytes>>>(evaluation, launch.shared, x, first, count, out);
    return cudaGetLastError();
  });
}

}  // namespace rung::lanes
