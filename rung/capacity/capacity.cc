// Invariant: `classes` never exceeds what a machine needs; `upper` never falls below it.
#include "rung/capacity/capacity.h"

#include <algorithm>

#include "rung/base/ceil_lg.h"
#include "rung/base/require.h"
#include "rung/capacity/fooling_set.h"
#include "rung/capacity/prefix_tree.h"
#include "rung/ranks/task_queue.h"
#include "rung/theory/horizon.h"

namespace rung {
namespace {

constexpr std::int64_t kLongestSample = std::int64_t{1} << 16;  // tokens of a prompt
constexpr std::int64_t kMostPrefixes = std::int64_t{1} << 16;
constexpr std::int64_t kFewestSuffixes = 4, kMostSuffixes = 256;
constexpr std::int64_t kSampledCuts = 8;
constexpr std::int64_t kMostAnswers = std::int64_t{1} << 25;  // held at a time
constexpr std::int64_t kTokensPerPrompt = 16;                 // sampling walks every continuation anew
constexpr std::int64_t kSamplingShare = 4;  // and costs so much more per prompt than enumeration

std::size_t largest_of(const std::vector<CutCapacity>& cuts) {
  const auto most = std::max_element(cuts.begin(), cuts.end(),
                                     [](const auto& a, const auto& b) { return a.classes < b.classes; });
  return static_cast<std::size_t>(most - cuts.begin());
}

// Evenly spread, with the cut before the last token and the theorem's own.
std::vector<std::int64_t> sampled_cuts(std::int64_t length, const std::optional<TheoremFigure>& theorem) {
  std::vector<std::int64_t> cuts{length - 1};
  if (theorem) cuts.push_back(theorem->cut);
  for (std::int64_t i = 1; i < kSampledCuts; ++i) cuts.push_back(length * i / kSampledCuts);
  std::erase_if(cuts, [&](std::int64_t cut) { return cut < 1 || cut >= length; });
  if (cuts.empty()) cuts.push_back(0);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

Result<Capacity> sample_capacity(const Task& task, const CapacityLimits& limits, Capacity capacity,
                                 const std::function<void(double)>& progress) {
  const std::int64_t length = task.prompt_length();
  std::optional<TaskQueue> call;  // the others wait for it, or for the end of the job
  if (limits.ranks && !limits.ranks->alone()) {
    constexpr const char* kCall = "sampling";
    if (!limits.ranks->leads() && !QueueWorker(*limits.ranks, kCall).draw()) return capacity;
    if (limits.ranks->leads()) call.emplace(*limits.ranks, kCall);
    for (int other = 1; call && other < limits.ranks->count(); ++other) call->post("");
  }
  if (length > kLongestSample)
    return fail(ErrorCode::resource, "[capacity] prompts of {} tokens; expected at most {}", length,
                kLongestSample);
  const auto cuts = limits.cut ? std::vector{*limits.cut} : sampled_cuts(length, capacity.theorem);
  const auto count = static_cast<std::int64_t>(cuts.size());
  const std::int64_t work = length / kTokensPerPrompt + 1;
  FoolingSample sample{.prefixes = kMostPrefixes, .seed = limits.seed, .ranks = limits.ranks};
  sample.answers = std::min(kMostAnswers, limits.prompts / (kSamplingShare * count * work));
  sample.suffixes = kFewestSuffixes;  // about the square root of the prefixes
  while (sample.suffixes < kMostSuffixes && 8 * sample.suffixes * sample.suffixes <= sample.answers)
    sample.suffixes *= 2;
  capacity.method = CapacityMethod::fooling_set;
  for (std::int64_t i = 0; i < count; ++i) {
    sample.cut = cuts[static_cast<std::size_t>(i)];
    RUNG_TRY(const FoolingSet set, find_fooling_set(task, sample));
    capacity.prompts += set.prefixes * set.suffixes;
    capacity.cuts.push_back({.position = sample.cut, .classes = set.separated, .upper = std::nullopt});
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(count));
  }
  capacity.largest = largest_of(capacity.cuts);
  return capacity;
}

}  // namespace

std::int64_t class_bits(std::int64_t classes) {
  RUNG_REQUIRE(classes >= 1, "classes={}", classes);
  return ceil_lg(static_cast<std::uint64_t>(classes));
}

std::optional<TheoremFigure> theorem_figure(const Task& task) {
  const auto size = task.size();
  const auto at = [&](std::string_view name) -> std::int64_t { return size[name]; };
  const std::string_view name = task.name();
  if (name == "eva") return TheoremFigure{"s >= n lg n", eva_count(at("n")), at("n"), Source::literature};
  if (name == "index")
    return TheoremFigure{"s >= n lg sigma", index_count(at("n"), at("sigma")), at("n"), Source::literature};
  if (name == "retrieval")
    return TheoremFigure{"s >= n lg sigma, for any fixed keys", index_count(at("n"), at("sigma")), at("n"),
                         Source::literature};
  if (name == "mqar" && task.options().empty())
    return TheoremFigure{"s >= min(n, M) lg sigma, for any fixed keys",
                         index_count(std::min(at("n"), at("M")), at("sigma")), 2 * at("n"),
                         Source::literature};
  if (name == "two-sum")
    return TheoremFigure{"s >= lg of the sum of C(M,j), 1 <= j <= n", two_sum_count(at("n"), at("M")),
                         at("n"), Source::ours};
  if (name == "equality" || name == "disjointness")
    return TheoremFigure{"s >= n", Count::power(2, at("n")), at("n"), Source::literature};
  if (name == "seqcomp" && task.options().empty()) {
    Integer arguments = at("m");
    for (std::int64_t l = 1; l < at("L"); ++l) arguments *= at(fmt::format("n{}", l));
    return TheoremFigure{"s >= N lg N, N = N_(L-1), after z_L", seqcomp_count(arguments),
                         arguments.convert_to<std::int64_t>(), Source::literature};
  }
  return std::nullopt;
}

Result<Capacity> count_capacity(const Task& task, const CapacityLimits& limits,
                                const std::function<void(double)>& progress) {
  const std::int64_t length = task.prompt_length();
  if (limits.cut && (*limits.cut < 0 || *limits.cut > length))
    return fail(ErrorCode::range, "[capacity] cut = {}; expected 0 to {}, the tokens of a prompt",
                *limits.cut, length);
  Capacity capacity;
  capacity.theorem = theorem_figure(task);
  if (length > kLongestTree || estimated_prompts(task) > limits.prompts)
    return sample_capacity(task, limits, std::move(capacity), progress);
  RUNG_TRY(const FoldedTree tree,
           fold_prefix_tree(task, {.prompts = limits.prompts, .bytes = limits.bytes, .ranks = limits.ranks},
                            progress));
  capacity.prompts = tree.prompts;
  if (!tree.complete) return sample_capacity(task, limits, std::move(capacity), progress);
  for (const RowCount& cut : tree.cuts)
    if (!limits.cut || *limits.cut == cut.position)
      capacity.cuts.push_back({.position = cut.position, .classes = cut.lower, .upper = cut.upper});
  capacity.largest = largest_of(capacity.cuts);
  return capacity;
}

}  // namespace rung
