#include "rung/certificate/certificate.h"

namespace rung {

CertifiedTask certified_task(const Task& task) {
  RUNG_REQUIRE(task.built_in(), "{} is a task of a user's own file", task.name());
  CertifiedTask certified{std::string(task.name()), {}, task.options(), {}};
  const auto size = task.size();
  for (const auto& [name, value] : size.items()) certified.size[name] = value.get<std::int64_t>();
  for (const auto& field : task.fields()) certified.field_names.push_back(field.name);
  return certified;
}

CertifiedTask certified_automaton_task(const Task& task) {
  if (task.built_in()) return certified_task(task);
  return {"automaton", {}, {}, {}};
}

}  // namespace rung
