// Documents that the program wrote earlier, or that a person did in their form.
#include <nlohmann/json.hpp>

#include "rung/records/experiment_results.h"
#include "rung/records/hierarchy_document.h"
#include "rung/records/member_progress.h"
#include "rung/records/training_plan.h"
#include "tests/fuzz/targets.h"

namespace rung::fuzz {

void training_plan(std::string_view bytes) {
  const auto plan = parse_plan(std::string(bytes), "file");
  one_line(plan);
  if (!plan) return;
  promise(check_plan(*plan).ok(), "a plan that was read is in its ranges");
  const auto again = parse_plan(plan_text(*plan), "file");
  promise(again.ok() && plan_text(*again) == plan_text(*plan), "parse_plan(plan_text(plan)) is the plan");
}

void result_document(std::string_view bytes) {
  const std::string text(bytes);
  if (const auto results = parse_results(text, "file"); results && *results) results_json(**results);
  if (const auto outcome = parse_outcome(text, "file")) outcome_text(*outcome);
  if (const auto document = parse_hierarchy(text, "file")) hierarchy_json(*document);
  if (const auto cell = parse_kept_cell(text, "file")) kept_cell_text(*cell);
  if (const auto progress = read_progress(text, 1, 1, 1000))
    promise(read_progress(progress_text(*progress), 1, 1, 1000).ok(), "progress is read as it was written");
  if (const auto member = read_member_result(text, 1, 1000))
    promise(read_member_result(member_result_text(*member), 1, 1000).has_value(),
            "a member is read as it was written");
  one_line(parse_results(text, "file"));
  one_line(read_progress(text, 1, 1, 1000));
  one_line(parse_hierarchy(text, "file"));
}

}  // namespace rung::fuzz
