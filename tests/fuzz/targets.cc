#include "tests/fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/prompt_input.h"
#include "rung/exact/machine.h"
#include "rung/released/released.h"
#include "rung/spec/dimensions_file.h"
#include "rung/store/record.h"
#include "rung/tasks/finite_group.h"
#include "rung/tasks/user_task.h"
#include "rung/theory/ceiling.h"

namespace rung::fuzz {
namespace {

constexpr std::int64_t kMostLayers = 2000;  // beyond, unrolling a line is slow without finding anything

std::uint8_t first_byte(std::string_view bytes) {
  return bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes.front());
}
}  // namespace

void promise(bool held, std::string_view words) {
  if (held) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(words.size()), words.data());
  std::abort();
}

MemoryFile::MemoryFile(std::string_view bytes)
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  promise(descriptor_ >= 0 &&
              write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "memory for the file");
}
MemoryFile::~MemoryFile() { close(descriptor_); }

void architecture_line(std::string_view bytes) {
  const auto stack = parse_stack(bytes);
  one_line(stack);
  if (!stack || static_cast<std::int64_t>(stack->layers.size()) > kMostLayers) return;
  const auto again = parse_stack(format_stack(*stack));
  promise(again.ok() && *again == *stack, "parse(format(stack)) == stack");
  one_line(resolve(Architecture{*stack, {}}));
}

void dimensions_file(std::string_view bytes) {
  if (bytes.empty()) return;
  one_line(read_architecture_text(std::string(bytes.substr(1)), "file", first_byte(bytes) % 2 == 0));
}

void released_config(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint8_t options = first_byte(bytes);
  one_line(
      read_config(bytes.substr(1), {.partial = (options & 1) != 0, .assume_defaults = (options & 2) != 0}));
}

void weights_file(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto weights = read_weights(file.path());
  one_line(weights);
  if (!weights || static_cast<std::int64_t>(weights->architecture.stack.layers.size()) > kMostLayers) return;
  constexpr std::int64_t kPositions = 4;
  const auto machine =
      Machine::load(*weights, {.positions = kPositions, .unrounded = weights->mode == WeightMode::real});
  one_line(machine);
  if (!machine) return;
  Prompt prompt{kPositions, {}};
  for (const auto& field : weights->fields)
    prompt.fields.emplace_back(static_cast<std::size_t>(kPositions * field.length), field.low);
  const std::int64_t last = kPositions - 1;
  one_line((*machine)->forward(prompt, std::span(&last, 1), {}));
}

void task_file(std::string_view bytes) {
  for (const bool table : {true, false}) {
    const auto task = table ? read_table_task("task", bytes) : read_automaton_task("task", bytes, {});
    one_line(task);
    if (!task) continue;
    const auto instance = (*task)->generate(Variant::uniform, 1, 0);
    promise((*task)->validate(instance.prompt).ok(), "what is drawn is valid");
    promise((*task)->answer(instance.prompt) == instance.answer, "an answer follows from its prompt");
  }
  const auto group = parse_cayley_table(bytes);
  one_line(group);
  for (std::uint32_t a = 0; group && a < group->order(); ++a)
    promise(group->product(a, group->identity) == a, "a group has an identity");
  const MemoryFile file(bytes);
  const auto queries = read_queries(file.path());
  one_line(queries);
  promise(!queries || !queries->empty(), "weights that sum to one");
}

void prompt(std::string_view bytes) {
  static const auto tasks = [] {
    std::vector<std::unique_ptr<Task>> all;
    for (const char* name : {"eva", "retrieval", "nearest", "seqcomp", "sparse-average"})
      all.push_back(std::move(*make_task(name, {})));
    return all;
  }();
  if (bytes.size() < 2 || bytes[1] == '@') return;  // no files
  const Task& task = *tasks[first_byte(bytes) % tasks.size()];
  const auto read = cli::read_prompt(std::string(bytes.substr(1)), task, 0);
  one_line(read);
  if (read && task.validate(*read)) task.answer(*read);
}

void store_record(std::string_view bytes) {
  auto record = parse_record(bytes, "line");
  one_line(record);
  if (!record) return;
  const auto normal = normalise(*record);
  one_line(normal);
  if (!normal) return;
  const auto again = parse_record(record_line(*record), "line");
  promise(again.ok() && *again == *record, "parse_record(record_line(record)) == record");
}

}  // namespace rung::fuzz
