// Where rung is built without CUDA: the device's work on the host, one thread after the other (search_device.h).
#ifndef RUNG_HAS_CUDA

#include <bit>
#include <cstdlib>
#include <cstring>

#include "rung/adversary/lanes/search_device.h"
#include "rung/adversary/lanes/state_machine.h"

namespace rung::lanes {
namespace {

constexpr std::uint64_t kHostWidth = 37;  // odd, so that no size divides it

// use(machine, rows) with the machine that the evaluation asks for.
template <class Use>
int with_host_machine(const Evaluation& evaluation, const Use& use) {
  return with_machine(evaluation, [&](auto kind) {
    typename decltype(kind)::Machine machine(evaluation);
    use(machine, BlockRows{evaluation.entries.rows, 0});
    return 0;
  });
}

}  // namespace

int device_count() { return 0; }
int choose_device(int) { return 0; }
const char* device_error(int status) {
  return status == kNoDevice ? "this build of rung has no CUDA" : "the host has no memory";
}
const char* device_name() { return "host"; }
int device_memory(std::size_t* bytes) {
  *bytes = std::size_t{1} << 32;
  return 0;
}
int device_allocate(std::size_t bytes, void** memory) {
  *memory = std::calloc(bytes + 1, 1);
  return *memory ? 0 : 2;
}
void device_release(void* memory) { std::free(memory); }
int copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // of nothing both may be null
  return 0;
}
int copy_from_device(void* to, const void* from, std::size_t bytes) {
  return copy_to_device(to, from, bytes);
}
int clear_on_device(void* memory, std::size_t bytes) {
  std::memset(memory, 0, bytes);
  return 0;
}

int walk_width(const Evaluation&, std::uint64_t* chains) {
  *chains = kHostWidth;
  return 0;
}
int start_walks(const Chains& chains, int words) {
  for (std::uint64_t i = 0; i < chains.count; ++i) start_chain(chains, i, words);
  return 0;
}
int walk(const Evaluation& evaluation, const Chains& chains, std::int64_t steps, int zeros,
         std::uint64_t patience, const TrailEnds& ends) {
  return with_host_machine(evaluation, [&](auto& machine, const BlockRows& rows) {
    for (std::uint64_t i = 0; i < chains.count; ++i)
      walk_chain(machine, evaluation, rows, chains, i, steps, zeros, patience, ends);
  });
}
int evaluate_codes(const Evaluation& evaluation, const std::uint64_t* x, std::uint64_t first,
                   std::uint64_t count, std::uint64_t* out) {
  return with_host_machine(evaluation, [&](auto& machine, const BlockRows& rows) {
    for (std::uint64_t i = 0; i < count; ++i) evaluate_code(machine, evaluation, rows, x, first, i, out);
  });
}
int meet_codes(const Evaluation& evaluation, std::uint32_t first, std::uint32_t count,
               const CodeTable& table) {
  return with_host_machine(evaluation, [&](auto& machine, const BlockRows& rows) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t code[kMostWords] = {first + std::uint64_t{i}, 0};
      evaluate(machine, evaluation, rows, code);
      meet(table, code[0], first + i);
    }
  });
}
int meet_leaves(const std::int64_t* leaves, std::int32_t own, std::uint32_t count, const CodeTable& table) {
  for (std::uint32_t i = 0; i < count; ++i) meet(table, leaf_code(leaves + std::int64_t{i} * own, own), i);
  return 0;
}
int grow_leaves(const Evaluation& evaluation, const Leaves& leaves) {
  return with_layers(evaluation, [&](auto kind) {
    typename decltype(kind)::Machine machine(evaluation);
    for (std::uint64_t i = 0; i < 2 * leaves.count; ++i) grow_leaf(machine, leaves, i);
    return 0;
  });
}
int reach_states(const Evaluation& evaluation, std::uint32_t rows, const StateSets& sets) {
  return with_host_machine(evaluation, [&](auto& machine, const BlockRows& block) {
    for (std::uint64_t w = sets.first; w < sets.first + sets.count; ++w)
      for (std::uint32_t word = sets.now[w]; word != 0; word &= word - 1)
        for (std::uint32_t row = 0; row < rows; ++row)
          *sets.fresh += reach(machine, evaluation, block,
                               w * 32 + static_cast<unsigned>(std::countr_zero(word)), row, sets.next);
  });
}

}  // namespace rung::lanes

#endif
