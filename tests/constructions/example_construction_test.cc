// The worked example of docs/adding_a_construction.md: weights that a proof writes down, verified on every
// input of small sizes and by the argument about all inputs above; one bit less fails.

#include "rung/constructions/retrieval_head.h"
#include "tests/constructions/verified.h"
#include "tests/docs/page_code.h"

namespace rung {
namespace {

// Index by one full layer with a position code.
//
// Claim: one softmax head of dimension 2⌈lg(n+1)⌉ answers Index for every f: [n] → [σ], at p = O(log log n)
// bits. Reference: the retrieval gadget (retrieval_head.h).
//
// Input: the row of position t holds the code of t, and of its token v: the bits, and the code as a target.
// Layer 1: the last token's target is its own token x; it fetches the bits of f(x). No MLP.
Result<Construction> build_lookup(const ConstructionRequest& request) {
  RUNG_TRY(auto made_task, make_task("index", request.sizes));
  const std::shared_ptr<const Task> task = std::move(made_task);
  const std::int64_t n = task->size()["n"].get<std::int64_t>(),
                     sigma = task->size()["sigma"].get<std::int64_t>();
  const std::int64_t positions = n + 1;
  const int D = digits_for(positions), V = digits_for(sigma);
  const int proved = retrieval_precision_proved(D, positions);
  const RetrievalGadget gadget = retrieval_gadget(D, positions, request.precision.value_or(proved));

  ModelWriter model(*task, request.precision.value_or(proved));
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot target =
      model.slot("target", D, "code of the token, -1 or 1: at the last position, of the argument x");
  const Slot bits = model.slot("bits", V, "bits of the token: at position t < n, of f(t)");
  const Slot one = model.slot("one", 1, "1");
  const Slot fetched = model.slot("fetched", V, "0 at first, then the bits that the head read");
  auto& token = model.field_bits("token", std::max(D, V));
  token.code(target, -1, 1);
  token.code(bits, 0, 1);
  token.constant(one, {1});
  model.position_bits(D).code(code, -1, 1);

  const std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(fetched)}};
  LayerWriter& layer = model.layer(retrieval_mixer(gadget, heads), "one lookup");
  write_retrieval(layer, gadget, heads);
  layer.after("fetched: at the last position, the bits of f(x)");
  model.output_bits(fetched);

  RUNG_TRY(Construction made,
           finish_construction(model, task, "One full layer with a position code solves Index.",
                               "retrieval gadget"));
  made.p_proved = proved;
  made.lemma = fmt::format("retrieval: delta = {:.4f}; below 1 is needed over all codes of {} digits",
                           gadget.delta, D);
  made.interval = [gadget, positions] {
    const double leak = retrieval_leak(gadget, positions);
    return IntervalArgument{leak < 1, leak, 1 - leak,
                            fmt::format("the other tokens weigh at most {:.4f} of the target", leak)};
  };
  return made;
}

ConstructionWord lookup_construction() {
  return {.name = "lookup",
          .summary = "f(x) by one retrieval head",
          .task = "index",
          .options = {},
          .build = build_lookup};
}

Construction lookup(const TaskSizes& sizes, std::optional<int> precision = std::nullopt) {
  auto made =
      lookup_construction().build({.name = "lookup", .sizes = sizes, .options = {}, .precision = precision});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(ExampleConstruction, fails_with_one_bit_less) {
  const Construction made = lookup({{"n", 128}, {"sigma", 64}});
  ASSERT_GT(*made.p_proved, 2);
  expect_failure(lookup({{"n", 128}, {"sigma", 64}}, *made.p_proved - 1));
}

TEST(ExampleConstruction, answers_every_instance_of_small_sizes) {
  for (const TaskSizes& sizes : {TaskSizes{{"n", 1}, {"sigma", 2}},
                                 {{"n", 3}, {"sigma", 5}},
                                 {{"n", 6}, {"sigma", 3}},
                                 {{"n", 9}, {"sigma", 2}}})
    expect_exhaustive(lookup(sizes));
}

TEST(ExampleConstruction, is_covered_by_the_argument_about_all_inputs_at_larger_ones) {
  expect_interval(lookup({{"n", 200}, {"sigma", 17}}), 50);
}

TEST(ExampleConstruction, stands_in_the_page_word_for_word) {
  expect_shown("docs/adding_a_construction.md", "tests/constructions/example_construction_test.cc",
               "// Index");
}

}  // namespace
}  // namespace rung
