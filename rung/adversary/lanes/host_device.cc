// Where rung is built without CUDA: the device's work on the host, one thread after the other (search_device.h).
#ifndef RUNG_HAS_CUDA

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
  std::memcpy(to, from, bytes);
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

}  // namespace rung::lanes

#endif
