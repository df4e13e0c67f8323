// A stranger's program on the installed libraries.
#include <cstdio>

#include "rung/spec/architecture.h"
#include "rung/store/store.h"
#include "rung/tasks/task.h"

int main() {
  const auto stack = rung::parse_stack("(gdelta*3 + full)*12");
  const auto task = rung::make_task("eva", {{"n", 4}});
  if (!stack || !task) return 1;
  const rung::Instance instance = (*task)->generate(rung::Variant::uniform, /*seed=*/1, /*index=*/0);
  if (rung::Store::open("no such store", rung::Store::Access::read)) return 1;
  const std::string line = rung::format_stack(*stack);
  std::puts(line.c_str());
  return line == "(gdelta*3+full)*12" && (*task)->answer(instance.prompt) == instance.answer ? 0 : 1;
}
