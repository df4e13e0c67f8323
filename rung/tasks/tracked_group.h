// What moves the mark of `tracked-recall`: a group that acts on [n] by its letters. Letter 0 is the identity.
#pragma once

#include <cstdint>
#include <string_view>

#include "rung/base/words.h"
#include "rung/tasks/task_list.h"

namespace rung {

enum class TrackedGroup { symmetric, cyclic, bits };  // S_n, Z_n, Z_2^k on n = 2^k

template <>
inline constexpr auto kWords<TrackedGroup> = std::to_array<std::string_view>({"symmetric", "cyclic", "xor"});
inline TrackedGroup tracked_group(std::string_view name) {
  return find_word<TrackedGroup>(name).value_or(TrackedGroup::symmetric);
}
std::int64_t tracked_letters(TrackedGroup group, std::int64_t n);  // the identity among them
// Where the letter moves the mark. REQUIRES 0 <= letter < tracked_letters(group, n), 0 <= mark < n.
std::int64_t tracked_step(TrackedGroup group, std::int64_t n, std::int64_t letter, std::int64_t mark);

}  // namespace rung
