// construction_logits DIR: every form of every construction at its smallest size, a few instances of each
// kind, and what the exact machine says (logit_rows.h). The notes of a file keep its line, so that a
// difference can be named.
#include <fmt/format.h>

#include "tests/constructions/forms.h"
#include "tests/torch/logit_rows.h"

namespace rung {
namespace {

constexpr std::uint64_t kInstances = 36;  // a form and size
constexpr std::int64_t kLongest = 66;     // prompts; longer ones are left to the larger tests

std::vector<Prompt> instances(const Task& task) {
  std::vector<Variant> kinds;
  for (const auto kind : {Variant::adversarial, Variant::uniform, Variant::permutation, Variant::zipf})
    if (task.supports(kind)) kinds.push_back(kind);
  std::vector<Prompt> prompts;
  for (std::uint64_t i = 0; i < kInstances; ++i)
    prompts.push_back(task.generate(kinds[i % kinds.size()], 5, i / kinds.size()).prompt);
  return prompts;
}

Result<void> write_all(const std::string& folder) {
  for (const auto& form : forms()) {
    int number = 0;
    for (const auto& line : form.lines) {
      RUNG_TRY(Construction made, build_construction(request_of_line(line)));
      if (number > 1 || made.task->prompt_length() > kLongest) break;
      made.weights.notes["line"] = line;
      RUNG_CHECK(write_logits(fmt::format("{}/{}_{}", folder, form.name, number++), made.weights,
                              instances(*made.task), false));
    }
  }
  return {};
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (const auto done = rung::write_all(argv[1]); !done) {
    fmt::print(stderr, "construction_logits: {}\n", done.error().message);
    return 2;
  }
  return 0;
}
