// A construction inside a hybrid: the same answers and the same rows, and idle parts that really are idle.
#include "rung/constructions/idle_parts.h"

#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

Construction beside(const std::string& line, IdlePart part) {
  auto made = beside_idle(built(request_of_line(line)), part);
  RUNG_REQUIRE(made.ok(), "{}", made.error().message);
  return std::move(*made);
}

TEST(IdleParts, are_caught_when_they_are_not_idle) {
  Construction made = beside("eva --n 4", IdlePart::layer);
  const auto fill = [&](const std::string& name, std::int64_t value) {
    auto& tensor = made.weights.tensors.at(name);
    tensor = integer_tensor(tensor.shape,
                            std::vector<std::int64_t>(static_cast<std::size_t>(tensor.size()), value));
  };
  fill("layers.0.o.weight", 1);
  fill("layers.0.q.weight", 1);
  fill("layers.0.k.weight", 1);
  fill("layers.0.v.weight", 1);
  expect_failure(made, {.budget = 5000});
}

TEST(IdleParts, leave_every_answer_as_it_was) {
  for (const IdlePart part : {IdlePart::layer, IdlePart::head}) {
    expect_exhaustive(beside("eva --n 4", part));
    expect_exhaustive(beside("two-sum --n 3 --M 5 --by binary", part));
    expect_exhaustive(beside("seqcomp --L 2 --m 2 --n1 2", part));
    expect_interval(beside("seqcomp --L 2 --m 9 --n1 3", part), 20);
  }
}

TEST(IdleParts, leave_every_row_as_it_was) {
  const Construction plain = built(request_of_line("seqcomp --L 2 --m 4 --n1 2"));
  const auto prompt = plain.task->generate(Variant::uniform, 3, 0).prompt;
  const auto last = std::vector<std::int64_t>{prompt.positions - 1};
  const auto activation = [&](const Construction& made) {
    const auto machine = Machine::load(made.weights, {.positions = prompt.positions});
    RUNG_REQUIRE(machine.ok(), "{}", machine.error().message);
    return (*(*machine)->forward(prompt, last))[0].activation;
  };
  const auto wanted = activation(plain);
  EXPECT_EQ(activation(beside("seqcomp --L 2 --m 4 --n1 2", IdlePart::layer)), wanted);
  EXPECT_EQ(activation(beside("seqcomp --L 2 --m 4 --n1 2", IdlePart::head)), wanted);
}

TEST(IdleParts, name_the_hybrid_and_refuse_what_has_no_full_layer) {
  EXPECT_EQ(format_stack(beside("eva --n 4", IdlePart::layer).weights.architecture.stack)
                .find("linear(feature=relu"),
            0u);
  EXPECT_EQ(format_stack(beside("eva --n 4", IdlePart::head).weights.architecture.stack).find("heads(full("),
            0u);
  EXPECT_FALSE(beside_idle(built(request_of_line("eva --n 4 --by linear")), IdlePart::head));
  EXPECT_FALSE(parse_idle_part("heads"));
}

}  // namespace
}  // namespace rung
