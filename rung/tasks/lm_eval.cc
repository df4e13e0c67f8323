// Keys as documented for the harness from version 0.4 on; written without running the harness.
#include "rung/tasks/lm_eval.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rung {
namespace {

// A YAML double-quoted string is a JSON string.
std::string yaml_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string lm_eval_config(const Task& task, Variant variant, const std::string& data_file) {
  std::string name = "rung_" + std::string(task.name());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const bool choice =
      task.answer_spec().kind == AnswerSpec::Kind::boolean && task.query_positions().size() == 1;
  std::string out =
      fmt::format("task: {}\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {}\n", name,
                  yaml_string(data_file));
  out += "test_split: test\n";
  if (choice) {
    out +=
        "output_type: multiple_choice\ndoc_to_text: \"{{prompt}}\\nAnswer:\"\ndoc_to_choice: [\"0\", "
        "\"1\"]\n";
    out += "doc_to_target: answer\ntarget_delimiter: \" \"\n";
    out += "metric_list:\n  - metric: acc\n    aggregation: mean\n    higher_is_better: true\n";
  } else {
    out +=
        "output_type: generate_until\ndoc_to_text: \"{{prompt}}\\nAnswer:\"\ndoc_to_target: \"{{target}}\"\n";
    out += "target_delimiter: \" \"\ngeneration_kwargs:\n  until:\n    - \"\\n\"\n  do_sample: false\n";
    out += "metric_list:\n  - metric: exact_match\n    aggregation: mean\n    higher_is_better: true\n";
    out += "    ignore_case: true\n    ignore_punctuation: false\n";
  }
  out += fmt::format("metadata:\n  version: 1.0\n  size: {}\n  variant: {}\n", task.size().dump(),
                     variant_name(variant));
  return out;
}

}  // namespace rung
