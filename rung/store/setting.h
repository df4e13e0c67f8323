// What a record was asked to do, beside its task and architecture. Records that differ in it are different
// experiments: no table, median or curve may put them together.
#pragma once

#include <string>
#include <string_view>

namespace rung {

struct RunSetting {
  // For a person: the task's options and the variant where it is not uniform, "order=easy, zipf"; of an
  // ensemble's member also what else its plan says of the task. Empty: nothing out of the ordinary.
  std::string asked;
  // For a machine: equal for records that differ in nothing but what a sweep varies (seed, rate, decay, initial
  // scale) and in how they went.
  std::string key;
};

// REQUIRES: a sound body (rung/store/body_reader.h); of any other one both are empty.
RunSetting run_setting(std::string_view body);

}  // namespace rung
