// The searches' inner loops on a CUDA device. Statuses are CUDA's: 0 is success. Calls run in order, and return
// before they are done unless they say otherwise. Not thread-safe: one host thread drives the device.
//
// Without CUDA in the build there is no device (device_count() is 0), and the same calls do the same work on the
// host, slowly: the plain form that tests compare and run searches on (host_device.cc).
#pragma once

#include <cstddef>

#include "rung/adversary/lanes/evaluation.h"

namespace rung::lanes {

inline constexpr int kNoDevice = 100;  // cudaErrorNoDevice

int device_count();
// The device that further calls of this thread are about: number modulo their count.
int choose_device(int number);
const char* device_error(int status);
const char* device_name();  // of the device at hand
// Bytes that are free on the device.
int device_memory(std::size_t* bytes);

// Zeroed. Waits.
int device_allocate(std::size_t bytes, void** memory);
void device_release(void* memory);
// Wait until everything before is done, and then until they are.
int copy_to_device(void* to, const void* from, std::size_t bytes);
int copy_from_device(void* to, const void* from, std::size_t bytes);
int clear_on_device(void* memory, std::size_t bytes);

// How many walks fill the device.
int walk_width(const Evaluation& evaluation, std::uint64_t* chains);
// New starts for all chains. REQUIRES chains.count a multiple of walk_width.
int start_walks(const Chains& chains, int words);
// Every chain `steps` steps onwards, over distinguished points (`zeros` leading zeros) to new starts; a chain
// of more than `patience` steps is given up. Ends are appended.
int walk(const Evaluation& evaluation, const Chains& chains, std::int64_t steps, int zeros,
         std::uint64_t patience, const TrailEnds& ends);

// out[i]: the code that x[i] leads to, or where x is null the code of one word first + i.
int evaluate_codes(const Evaluation& evaluation, const std::uint64_t* x, std::uint64_t first,
                   std::uint64_t count, std::uint64_t* out);

// The codes of first + i for i < count enter the table as numbers first + i. REQUIRES packed codes of less than 64
// bits.
int meet_codes(const Evaluation& evaluation, std::uint32_t first, std::uint32_t count,
               const CodeTable& table);
// Hashes of `count` leaves of `own` numbers enter the table.
int meet_leaves(const std::int64_t* leaves, std::int32_t own, std::uint32_t count, const CodeTable& table);
int grow_leaves(const Evaluation& evaluation, const Leaves& leaves);

// The successors of sets.now by the `rows` rows of the route's last step, put into sets.next. REQUIRES packed
// codes.
int reach_states(const Evaluation& evaluation, std::uint32_t rows, const StateSets& sets);

}  // namespace rung::lanes
