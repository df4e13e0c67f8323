// q-sparse average (Sanford, Hsu, Telgarsky 2306.02896): position i holds a q-subset y_i of [n] and a vector
// z_i → at every position the mean of z_j over j ∈ y_i. Fields: `subset` (q increasing numbers of [n]) and
// `vector` (d components k meaning k·2^-f, k from -2^f to 2^f). A component of the answer is an integer over
// 2^(f+⌈lg q⌉+2), the mean rounded with halves up; an answer within 1/(4q) counts as right. y_i names earlier
// and later positions, so a causal model can be asked at the last position alone (read = last).
#include <algorithm>

#include "rung/base/ceil_lg.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

// C(n, k), or 2^62 where it is larger.
std::int64_t binomial(std::int64_t n, std::int64_t k) {
  constexpr __int128 kLimit = __int128{1} << 62;
  if (k < 0 || k > n) return 0;
  k = std::min(k, n - k);
  __int128 value = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    value = value * (n - k + i) / i;
    if (value >= kLimit) return static_cast<std::int64_t>(kLimit);
  }
  return static_cast<std::int64_t>(value);
}

class SparseAverageTask final : public Task {
 public:
  struct Sizes {
    std::int64_t n, q, d, f;
  };
  SparseAverageTask(Sizes sizes, bool last_only)
      : n_(sizes.n), q_(sizes.q), d_(sizes.d), f_(sizes.f), last_only_(last_only) {}

  std::string_view name() const override { return "sparse-average"; }
  SizeList size() const override { return {{"n", n_}, {"q", q_}, {"d", d_}, {"f", f_}}; }
  TaskOptions options() const override { return last_only_ ? TaskOptions{{"read", "last"}} : TaskOptions{}; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "subset", .size = n_, .length = q_},
            {.name = "vector", .size = grid(), .length = d_, .low = -one()}};
  }
  AnswerSpec answer_spec() const override {
    return {.kind = AnswerSpec::Kind::vector,
            .size = d_,
            .fraction = static_cast<int>(f_) + finer(),
            .tolerance = 1.0 / static_cast<double>(4 * q_)};
  }
  std::int64_t prompt_length() const override { return n_; }
  std::vector<std::int64_t> query_positions() const override {
    std::vector<std::int64_t> positions;
    for (std::int64_t t = last_only_ ? n_ - 1 : 0; t < n_; ++t) positions.push_back(t);
    return positions;
  }
  bool supports(Variant variant) const override {
    // Alternating signs over all of an even number of places average to 0 whatever their sign.
    return variant != Variant::adversarial || q_ < n_ || n_ % 2 == 1;
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "sparse-average {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    std::vector<std::int64_t> subset, vector;
    std::vector<std::int64_t> order;
    if (variant == Variant::permutation) order = distinct(random, n_, n_);
    for (std::int64_t i = 0; i < n_; ++i) {
      std::vector<std::int64_t> members;
      if (variant == Variant::permutation) {
        // y_i = {π(i), …, π(i+q-1)}: every position is asked for exactly q times.
        for (std::int64_t j = 0; j < q_; ++j)
          members.push_back(order[static_cast<std::size_t>((i + j) % n_)]);
      } else if (variant == Variant::zipf) {
        std::vector<bool> taken(static_cast<std::size_t>(n_), false);
        while (static_cast<std::int64_t>(members.size()) < q_) {
          const std::int64_t j = zipf(random, n_);
          if (!taken[static_cast<std::size_t>(j)]) members.push_back(j);
          taken[static_cast<std::size_t>(j)] = true;
        }
      } else {
        members = distinct(random, q_, n_);
      }
      if (variant == Variant::adversarial && i == n_ - 1) members = one_sided();
      std::sort(members.begin(), members.end());
      subset.insert(subset.end(), members.begin(), members.end());
      for (std::int64_t c = 0; c < d_; ++c) {
        const std::int64_t sign = (i % 2 == 0) != drawn.flipped ? 1 : -1;
        vector.push_back(variant == Variant::adversarial ? sign * one() : random.between(-one(), one()));
      }
    }
    Instance instance{Prompt{n_, {std::move(subset), std::move(vector)}}, {}};
    instance.answer = answer(instance.prompt);
    return instance;
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> answers;
    for (const auto i : query_positions())
      for (std::int64_t c = 0; c < d_; ++c) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < q_; ++j)
          sum += prompt.fields[1][static_cast<std::size_t>(
              prompt.fields[0][static_cast<std::size_t>(i * q_ + j)] * d_ + c)];
        const std::int64_t twice = 2 * (sum << finer()) + q_;  // floor((2·sum·2^finer + q) / 2q)
        answers.push_back(twice >= 0 ? twice / (2 * q_) : -((-twice + 2 * q_ - 1) / (2 * q_)));
      }
    return answers;
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(validate_shape(*this, prompt));
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 1; j < q_; ++j)
        if (prompt.fields[0][static_cast<std::size_t>(i * q_ + j - 1)] >=
            prompt.fields[0][static_cast<std::size_t>(i * q_ + j)])
          return fail(
              ErrorCode::format,
              "[task] the subset at position {} of a sparse-average prompt; expected increasing numbers", i);
    return {};
  }

  std::int64_t choices(const Prompt&) const override {
    __int128 count = binomial(n_, q_);
    for (std::int64_t c = 0; c < d_; ++c)
      if ((count *= grid()) >= (__int128{1} << 62)) return 0;
    return static_cast<std::int64_t>(count);
  }
  // Subsets in lexicographic order, then vectors.
  void extend(Prompt& prefix, std::int64_t choice) const override {
    RUNG_REQUIRE(choice >= 0 && choice < choices(prefix), "choice={}", choice);
    std::vector<std::int64_t> vector(static_cast<std::size_t>(d_));
    for (auto component = vector.rbegin(); component != vector.rend(); ++component) {
      *component = choice % grid() - one();
      choice /= grid();
    }
    for (std::int64_t member = 0, chosen = 0; chosen < q_; ++member) {
      const std::int64_t with = binomial(n_ - member - 1, q_ - chosen - 1);
      if (choice >= with) {
        choice -= with;
        continue;
      }
      prefix.fields[0].push_back(member);
      ++chosen;
    }
    prefix.fields[1].insert(prefix.fields[1].end(), vector.begin(), vector.end());
    ++prefix.positions;
  }

 private:
  std::int64_t one() const { return std::int64_t{1} << f_; }
  std::int64_t grid() const { return 2 * one() + 1; }
  // Bits of the answer below those of the vectors.
  int finer() const { return ceil_lg(static_cast<std::uint64_t>(q_)) + 2; }

  // As many even positions as there are: their signs do not cancel.
  std::vector<std::int64_t> one_sided() const {
    std::vector<std::int64_t> members;
    for (std::int64_t start : {0, 1})
      for (std::int64_t j = start; j < n_ && static_cast<std::int64_t>(members.size()) < q_; j += 2)
        members.push_back(j);
    return members;
  }

  std::int64_t n_, q_, d_, f_;
  bool last_only_;
};

Result<std::unique_ptr<Task>> make_sparse_average(const TaskSizes& sizes, const TaskOptions& options) {
  const std::int64_t n = sizes.at("n"), q = size_or(sizes, "q", std::min<std::int64_t>(2, n));
  if (q > n)
    return fail(ErrorCode::range, "[task] q = {} of sparse-average with n = {}; expected q at most n", q, n);
  const auto read = options.find("read");
  return new_task<SparseAverageTask>(SparseAverageTask::Sizes{n, q, sizes.at("d"), sizes.at("f")},
                                     read != options.end() && read->second == "last");
}

}  // namespace

TaskWord sparse_average_word() {
  constexpr std::int64_t kMaxSubset = 1 << 20, kMaxDimension = 1 << 16, kMaxFraction = 20;
  TaskWord word{.name = "sparse-average",
                .summary = "(y_i, z_i), y_i a q-subset of [n] -> the mean of z_j, j in y_i, at every i",
                .sizes = {{"n", "positions", 8, 1, kMaxPromptLength},
                          {"q", "members of a subset; 2 unless given", std::nullopt, 1, kMaxSubset},
                          {"d", "components of a vector", 1, 1, kMaxDimension},
                          {"f", "fraction bits of a component", 4, 0, kMaxFraction}},
                .make = make_sparse_average};
  word.options = {{"read", "where answers are read: at every position, or at the last one", {"all", "last"}}};
  return word;
}

}  // namespace rung
