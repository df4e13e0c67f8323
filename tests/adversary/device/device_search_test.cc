// The searches on a device against the processor's, bit for bit. Built without CUDA, the device's side is its
// plain form on the host (rung/adversary/lanes/host_device.cc); built with CUDA, these tests need a device.
#include <atomic>
#include <filesystem>

#include "rung/adversary/device_program.h"
#include "rung/adversary/lane_kernel.h"
#include "rung/adversary/scaling.h"
#include "rung/base/random.h"
#include "tests/adversary/lane_cases.h"

namespace rung {
namespace {

// Whether there is nothing to run on.
bool without_device() {
#ifdef RUNG_HAS_CUDA
  return lanes::device_count() == 0;
#else
  return false;
#endif
}
#define NEEDS_DEVICE \
  if (without_device()) GTEST_SKIP() << "no CUDA device"

class device_kernel : public testing::TestWithParam<LaneCase> {};

std::vector<std::uint64_t> codes_on_device(DeviceProgram& program, const Walk& walk, bool packs,
                                           const std::vector<std::uint64_t>& x) {
  const auto evaluation = program.evaluation(walk, packs);
  EXPECT_TRUE(evaluation);
  const auto from = DeviceMemory::allocate(x.size() * 8), to = DeviceMemory::allocate(x.size() * 8);
  EXPECT_TRUE(from && to);
  std::vector<std::uint64_t> out(x.size());
  EXPECT_EQ(lanes::copy_to_device(from->as<void>(), x.data(), x.size() * 8), 0);
  EXPECT_EQ(lanes::evaluate_codes(*evaluation, from->as<std::uint64_t>(), 0,
                                  x.size() / static_cast<std::size_t>(walk.words), to->as<std::uint64_t>()),
            0);
  EXPECT_EQ(lanes::copy_from_device(out.data(), to->as<void>(), x.size() * 8), 0);
  return out;
}

// Codes of random points, from the beginning and from a state in the middle, one word and two.
void compare_codes(const StateKernel& kernel, std::size_t count) {
  auto program = kernel.on_device();
  ASSERT_TRUE(program) << program.error().message;
  const auto slots = static_cast<std::int64_t>(kernel.space().slots.size()), half = slots / 2;
  Random random(5);
  for (std::int64_t depth = 1; depth <= kernel.layers(); ++depth) {
    std::vector<std::int64_t> middle(static_cast<std::size_t>(kernel.numbers(depth)));
    std::vector<std::uint16_t> choices(static_cast<std::size_t>(half));
    kernel.run(depth, 0, half, 1, choices.data(), nullptr, false, middle.data());
    for (const int words : {1, lanes::kMostWords})
      for (const bool restarts : {false, true}) {
        const Walk walk{.salt = random.next(),
                        .depth = depth,
                        .first = restarts ? half : 1,
                        .length = slots - (restarts ? half : 1),
                        .start = restarts ? middle.data() : nullptr,
                        .words = words};
        if (words > 1 && kernel.key_is_injective(depth)) continue;
        std::vector<std::uint64_t> x(count * static_cast<std::size_t>(words)), plain(x.size());
        for (auto& value : x) value = random.next();
        kernel.keys(walk, x.data(), static_cast<std::int64_t>(count), plain.data());
        ASSERT_EQ(codes_on_device(**program, walk, kernel.key_is_injective(depth), x), plain)
            << "depth " << depth << " words " << words << " restarts " << restarts;
      }
  }
}

TEST_P(device_kernel, has_the_codes_of_the_lanes) {
  NEEDS_DEVICE;
  const auto& [label, model, task, sizes] = GetParam();
  const auto target = random_target(model, task_of(task, sizes));
  for (const bool wide : {false, true}) {
    auto kernel = make_lane_kernel(target, *beginnings(*target.task, 64), *plan_lanes(target), wide);
    ASSERT_TRUE(kernel) << kernel.error().message;
    compare_codes(**kernel, 1237);
  }
}

INSTANTIATE_TEST_SUITE_P(every_mixer, device_kernel, testing::ValuesIn(lane_cases()),
                         [](const auto& info) { return info.param.label; });

TEST(device_kernel, has_the_codes_of_the_lanes_where_two_words_are_needed) {
  NEEDS_DEVICE;
  for (const char* architecture :
       {"mamba2(heads=2,dim=2,state=2,form=plain)", "mamba2(heads=4,dim=2,state=2,form=plain)",
        "mamba2(heads=3,dim=1,state=3,form=plain)", "linear(heads=2,dim=2,feature=relu,normalised=no)",
        "linear(heads=4,dim=2)", "delta(heads=2,dim=3,form=plain)", "gru(size=9)"})
    for (const auto accumulator : {Accumulator::wrap, Accumulator::round}) {
      const auto target =
          random_target({.architecture = architecture, .precision = 9, .accumulator = accumulator},
                        task_of("eva", {{"n", 14}}));
      auto kernel = make_state_kernel(target, *beginnings(*target.task, 64));
      ASSERT_TRUE(kernel);
      compare_codes(**kernel, 333);
    }
}

// Every trail that the device hands over leads the processor to the same end, and to no distinguished point
// before it.
TEST(device_walks, are_walks_of_the_processor) {
  NEEDS_DEVICE;
  for (const std::int64_t bits : {40, 72}) {
    const auto target = retentive_target("mamba2", 1, bits, 32, 1);
    ASSERT_TRUE(target);
    auto kernel = make_state_kernel(*target, *beginnings(*target->task, 64));
    ASSERT_TRUE(kernel);
    auto program = (*kernel)->on_device();
    ASSERT_TRUE(program) << program.error().message;
    const Walk walk{.salt = 9, .depth = 1, .first = 0, .length = 13, .words = (*kernel)->code_words(1)};
    ASSERT_EQ(walk.words, bits == 72 ? 2 : 1);
    const auto evaluation = (*program)->evaluation(walk, bits <= 64);
    ASSERT_TRUE(evaluation);
    constexpr int kZeros = 5;
    auto walks = DeviceWalks::start(*evaluation, kZeros, 20 << kZeros, 77);
    ASSERT_TRUE(walks) << walks.error().message;
    std::vector<lanes::TrailEnd> ends;
    while (ends.size() < 100) {
      const auto batch = walks->advance();
      ASSERT_TRUE(batch) << batch.error().message;
      ends.insert(ends.end(), batch->ends.begin(), batch->ends.end());
    }
    for (std::size_t i = 0; i < ends.size(); i += 1 + ends.size() / 100) {
      std::uint64_t code[2] = {ends[i].start, 0}, next[2];
      ASSERT_GE(ends[i].length, 1u);
      for (std::uint64_t step = 1; step <= ends[i].length; ++step) {
        (*kernel)->keys(walk, code, 1, next);
        std::copy_n(next, walk.words, code);
        ASSERT_EQ(lanes::distinguished(code[0], kZeros), step == ends[i].length);
      }
      EXPECT_EQ(code[0], ends[i].end);
    }
  }
}

TEST(device_search, breaks_a_state_and_reruns_the_pair) {
  NEEDS_DEVICE;
  for (const char* mixer : {"mamba2", "linear"}) {
    const auto target = retentive_target(mixer, 1, 32, 32, 1);
    ASSERT_TRUE(target);
    const auto outcome =
        attack(*target, "distinguished-points", {.seconds = 60, .device = SearchDevice::cuda});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
    EXPECT_EQ(outcome->details.count("device"), 1u);
  }
}

// Codes of two words. Of its 96 bits on paper this model uses fewer than half.
TEST(device_search, breaks_a_state_of_more_than_64_bits) {
  NEEDS_DEVICE;
  const auto target =
      random_target({.architecture = "mamba2(heads=3,dim=2,state=2,form=plain)", .precision = 8},
                    task_of("eva", {{"n", 16}}));
  ASSERT_EQ(target.nominal_bits, 96);
  for (const auto device : {SearchDevice::cuda, SearchDevice::cpu}) {
    const auto outcome = attack(target, "distinguished-points", {.seconds = 120, .device = device});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  }
}

// Stopped on one, resumed on the other: the end points of the first are those of the second.
TEST(device_search, goes_on_where_another_device_stopped) {
  NEEDS_DEVICE;
  // More than a device does in three batches.
  const auto target = retentive_target("mamba2", 1, lanes::device_count() > 0 ? 56 : 40, 32, 1);
  ASSERT_TRUE(target);
  const auto folder = std::filesystem::temp_directory_path() / "rung-device-search";
  std::filesystem::create_directories(folder);
  using enum SearchDevice;
  for (const auto& [first, second] : {std::pair(cuda, cpu), std::pair(cpu, cuda)}) {
    const std::string checkpoint = (folder / "search.checkpoint").string();
    std::filesystem::remove(checkpoint);
    SearchOptions options{.seconds = 300, .checkpoint = checkpoint};
    std::atomic<int> looks = 0;
    options.device = first;
    options.stop = [&] { return ++looks > 3; };
    const auto stopped = attack(*target, "distinguished-points", options);
    ASSERT_TRUE(stopped) << stopped.error().message;
    ASSERT_EQ(stopped->verdict, Evidence::unverified) << "found too early to be resumed";
    ASSERT_GT(stopped->evaluations, 0u);
    options.device = second;
    options.stop = {};
    const auto resumed = attack(*target, "distinguished-points", options);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->verdict, Evidence::refuted) << resumed->reason;
    EXPECT_GT(resumed->evaluations, stopped->evaluations);
  }
  std::filesystem::remove_all(folder);
}

// Level by level, of one layer and of stacks, with fixed tokens between the slots, and of states smaller than a
// word.
TEST(device_search, reaches_the_states_that_the_processor_reaches) {
  NEEDS_DEVICE;
  struct Small {
    RandomTarget model;
    std::string task = "eva";
    TaskSizes sizes = {{"n", 7}};
  };
  for (const auto& [model, task, sizes] : std::vector<Small>{
           {{.architecture = "mamba2(heads=2,dim=1,state=2,form=plain)", .precision = 4}},
           {{.architecture = "mamba2(heads=1,dim=1,state=1,form=plain)", .precision = 5}},
           {{.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)", .precision = 4},
            "mqar",
            {{"n", 4}, {"queries", 1}}},
           {{.architecture = "linear(heads=2,dim=2,vdim=1,feature=relu,normalised=no)", .precision = 4}},
           {{.architecture = "gdelta(heads=1,dim=2,form=plain)",
           .precision = 4,
           .accumulator = Accumulator::round}},
           {{.architecture = "gru(size=3)+rnn(size=1)", .precision = 4, .accumulator = Accumulator::round}},
           {{.architecture = "delta(heads=1,dim=2,form=plain)", .precision = 4}, "retrieval", {{"n", 6}}}}) {
    const auto target = random_target(model, task_of(task, sizes));
    const auto plain = attack(target, "reachable", {.seconds = 60}),
               device = attack(target, "reachable", {.seconds = 60, .device = SearchDevice::cuda});
    ASSERT_TRUE(plain) << model.architecture << plain.error().message;
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->details.at("states_by_tokens"), plain->details.at("states_by_tokens"))
        << model.architecture;
    EXPECT_EQ(device->evaluations, plain->evaluations);
    EXPECT_GT(plain->evaluations, 100u) << model.architecture << plain->details.at("states_by_tokens");
    EXPECT_EQ(device->verdict, plain->verdict);
    EXPECT_EQ(device->details.count("device"), 1u);
  }
}

TEST(device_search, collides_the_layers_of_a_stack) {
  NEEDS_DEVICE;
  for (const std::int64_t layers : {2, 3}) {
    const auto target = retentive_target("mamba2", layers, 16, layers == 2 ? 256 : 2048, 1);
    ASSERT_TRUE(target);
    const auto outcome = attack(*target, "hierarchical", {.seconds = 60, .device = SearchDevice::cuda});
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
    EXPECT_EQ(outcome->details.count("device"), 1u);
  }
}

TEST(device_search, refuses_methods_that_do_not_run_there) {
  const auto target = retentive_target("linear", 1, 32, 32, 1);
  ASSERT_TRUE(target);
  const auto outcome = attack(*target, "generalised-birthday", {.seconds = 1, .device = SearchDevice::cuda});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            "[break] generalised-birthday does not run on cuda; on a processor it does");
}

TEST(device_search, refuses_models_that_no_method_takes_there) {
  const auto target = constructed_target("eva", {{"n", 4}});
  const auto outcome = attack(target, "auto", {.seconds = 1, .device = SearchDevice::cuda});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "[break] no method that applies runs on cuda; on a processor they do");
}

TEST(device_search, refuses_a_device_that_is_not_there) {
  EXPECT_FALSE(parse_search_device("gpu"));
  EXPECT_EQ(*parse_search_device("cpu"), SearchDevice::cpu);
  EXPECT_EQ(*parse_search_device("auto"), SearchDevice::automatic);
  const auto cuda = parse_search_device("cuda");
  ASSERT_EQ(cuda.ok(), lanes::device_count() > 0);
  if (!cuda) EXPECT_TRUE(cuda.error().message.starts_with("[break] device cuda: ")) << cuda.error().message;
}

TEST(device_search, refuses_stacks_that_it_does_not_know_unless_it_may_choose) {
  NEEDS_DEVICE;
  const auto target = random_target({.architecture = "mamba2(heads=1,dim=2,state=2,conv=2,form=plain)"},
                                    task_of("eva", {{"n", 5}}));
  const auto refused = attack(target, "distinguished-points", {.seconds = 1, .device = SearchDevice::cuda});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "[break] device cuda: states of these mixers are not evaluated on a device");
  const auto chosen =
      attack(target, "distinguished-points", {.seconds = 1, .device = SearchDevice::automatic});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->details.count("device"), 0u);
}

}  // namespace
}  // namespace rung
