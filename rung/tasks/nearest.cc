// Nearest neighbour: x_1 y_1 … x_n y_n x, points on the unit sphere and their labels → the label of the point
// with the largest dot product with x, the first of equals. Fields: `vector` (d components k meaning k·2^-f;
// zero at labels) and `label` ([σ], and σ itself as the blank at points). A unit vector is rounded to the
// grid component by component. Every prompt keeps a margin γ = `margin`·2^-f between the two best dot
// products (nearest_points.h): drawn points that come too near are drawn again. Adversarial: every other
// point is as near as the margin lets it be, and has the other label.
#include <algorithm>
#include <cstdlib>

#include "rung/tasks/nearest_points.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

using Vector = std::vector<std::int64_t>;

std::int64_t dot(const std::int64_t* a, const std::int64_t* b, std::int64_t d) {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < d; ++c) sum += a[c] * b[c];
  return sum;
}
std::int64_t dot(const Vector& a, const Vector& b) {
  return dot(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
}

class NearestTask final : public Task {
 public:
  struct Sizes {
    std::int64_t n, d, sigma, f, margin;
  };
  explicit NearestTask(Sizes sizes) : s_(sizes) {}

  std::string_view name() const override { return "nearest"; }
  SizeList size() const override {
    return {{"n", s_.n}, {"d", s_.d}, {"sigma", s_.sigma}, {"f", s_.f}, {"margin", s_.margin}};
  }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "vector", .size = 2 * one() + 1, .length = s_.d, .low = -one()},
            {.name = "label", .size = s_.sigma + 1}};
  }
  AnswerSpec answer_spec() const override { return token_answer(s_.sigma); }
  std::int64_t prompt_length() const override { return 2 * s_.n + 1; }
  std::vector<std::int64_t> query_positions() const override { return {2 * s_.n}; }
  // Permutation: all labels different.
  bool supports(Variant variant) const override {
    return supported(variant, {.permutation = s_.sigma >= s_.n, .adversarial = s_.sigma >= 2});
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "nearest {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    const Vector x = unit(random);
    std::vector<Vector> points(static_cast<std::size_t>(s_.n));
    Vector labels(points.size());
    if (variant == Variant::adversarial) {
      const std::size_t best = random.below(points.size());
      crowd(random, x, best, points);
      std::int64_t common = draw(random, variant, s_.sigma);
      std::int64_t odd = other_than(random, common, s_.sigma);
      if (drawn.flipped) std::swap(common, odd);
      std::fill(labels.begin(), labels.end(), common);
      labels[best] = odd;
    } else {
      for (auto& point : points) point = unit(random);
      const std::size_t best = separate(random, x, points);
      // Zipf queries: the nearest point stands early more often.
      if (variant == Variant::zipf)
        std::swap(points[best], points[static_cast<std::size_t>(zipf(random, s_.n))]);
      if (variant == Variant::permutation)
        labels = distinct(random, s_.n, s_.sigma);
      else
        for (auto& label : labels) label = draw(random, variant, s_.sigma);
    }
    Instance instance{Prompt{prompt_length(), {{}, {}}}, {}};
    for (std::size_t i = 0; i <= points.size(); ++i) {
      const Vector& point = i < points.size() ? points[i] : x;
      instance.prompt.fields[0].insert(instance.prompt.fields[0].end(), point.begin(), point.end());
      instance.prompt.fields[1].push_back(s_.sigma);
      if (i == points.size()) break;
      instance.prompt.fields[0].insert(instance.prompt.fields[0].end(), static_cast<std::size_t>(s_.d), 0);
      instance.prompt.fields[1].push_back(labels[i]);
    }
    instance.answer = answer(instance.prompt);
    return instance;
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    return {prompt.fields[1][static_cast<std::size_t>(2 * best_of(prompt).point + 1)]};
  }

  Result<void> validate(const Prompt& prompt) const override {
    RUNG_CHECK(validate_shape(*this, prompt));
    const std::int64_t slack = nearest_slack(s_.d, s_.f);
    for (std::int64_t t = 0; t < prompt.positions; ++t) {
      const bool point = t % 2 == 0;
      const std::int64_t label = prompt.fields[1][static_cast<std::size_t>(t)];
      if ((label == s_.sigma) != point)
        return fail(ErrorCode::format, "[task] label {} at position {} of a nearest prompt; expected {}",
                    label, t, point ? "the blank" : "a label");
      const std::int64_t norm = dot(at(prompt, t), at(prompt, t), s_.d);
      if (point ? std::abs(norm - one() * one()) > slack : norm != 0)
        return fail(ErrorCode::format, "[task] the vector at position {} of a nearest prompt; expected {}", t,
                    point ? "length 1" : "zeros beside a label");
    }
    if (const auto best = best_of(prompt); s_.n > 1 && best.lead < gap())
      return fail(
          ErrorCode::format,
          "[task] the best product of a nearest prompt leads by {}/4^f; expected at least the margin, {}",
          best.lead, gap());
    return {};
  }

  // Points of a sphere are not enumerated.
  std::int64_t choices(const Prompt&) const override { return 0; }
  void extend(Prompt& prefix, std::int64_t) const override {
    RUNG_REQUIRE(false, "nearest cannot be enumerated (position {})", prefix.positions);
  }

 private:
  std::int64_t one() const { return std::int64_t{1} << s_.f; }
  std::int64_t gap() const { return nearest_gap(s_.margin, s_.f); }
  struct Best {
    std::int64_t point = 0;  // the first of equals
    std::int64_t lead = 0;   // over the best of the others, where there are any
  };
  Best best_of(const Prompt& prompt) const {
    const auto product = [&](std::int64_t i) { return dot(at(prompt, 2 * i), at(prompt, 2 * s_.n), s_.d); };
    Best best;
    std::int64_t first = product(0), second = 0;
    for (std::int64_t i = 1; i < s_.n; ++i) {
      const std::int64_t now = product(i);
      if (i == 1 || now > second) second = std::min(now, first);
      if (now <= first) continue;
      first = now;
      best.point = i;
    }
    best.lead = first - second;
    return best;
  }
  const std::int64_t* at(const Prompt& prompt, std::int64_t t) const {
    return prompt.fields[0].data() + t * s_.d;
  }

  // v / |v| on the grid, every component rounded exactly (halves up in size), so that the slack of
  // nearest_points.h holds. REQUIRES v != 0, |v_c| < 2^27.
  Vector normalised(Vector v) const {
    unsigned __int128 norm = 0;
    for (const auto c : v) norm += static_cast<unsigned __int128>(static_cast<__int128>(c) * c);
    constexpr int kRootBits = 16;  // bits of the root after the point: the first guess is near
    const unsigned __int128 root = integer_root(norm << (2 * kRootBits));
    for (auto& c : v) {
      const auto square = static_cast<unsigned __int128>(static_cast<__int128>(c) * c) << (2 * s_.f + 2);
      // The largest k with k - 1/2 <= |c| 2^f / |v|, that is (2k - 1)² |v|² <= 4 c² 4^f.
      const auto fits = [&](std::int64_t k) {
        const auto odd = static_cast<unsigned __int128>(2 * k - 1);
        return k == 0 || odd * odd * norm <= square;
      };
      auto k = static_cast<std::int64_t>(
          (static_cast<unsigned __int128>(c < 0 ? -c : c) << (s_.f + kRootBits)) / root);
      while (fits(k + 1)) ++k;
      while (!fits(k)) --k;
      c = c < 0 ? -k : k;
    }
    return v;
  }

  // A direction: every component a sum of twelve even draws, near enough to a Gaussian that no direction is
  // preferred.
  Vector unit(Random& random) const {
    Vector v(static_cast<std::size_t>(s_.d));
    do
      for (auto& c : v) {
        c = -12 * 65535;
        for (int word = 0; word < 3; ++word) {
          std::uint64_t bits = random.next();
          for (int part = 0; part < 4; ++part, bits >>= 16) c += 2 * static_cast<std::int64_t>(bits & 65535);
        }
      }
    while (std::all_of(v.begin(), v.end(), [](auto c) { return c == 0; }));
    return normalised(std::move(v));
  }

  // Draws again every point whose product comes within the margin of the best. Returns the best point.
  std::size_t separate(Random& random, const Vector& x, std::vector<Vector>& points) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < points.size(); ++i)
      if (dot(points[i], x) > dot(points[best], x)) best = i;
    if (dot(points[best], x) < gap()) points[best] = x;  // no room for the others otherwise
    const std::int64_t limit = dot(points[best], x) - gap();
    for (std::size_t i = 0; i < points.size(); ++i)
      while (i != best && s_.margin > 0 && dot(points[i], x) > limit) points[i] = unit(random);
    return best;
  }

  // The best point close to x; each other point moves from it towards a drawn direction and stops as soon as
  // it is the margin behind (and behind at all).
  void crowd(Random& random, const Vector& x, std::size_t best, std::vector<Vector>& points) const {
    constexpr std::int64_t kSteps = 64;
    const auto between = [&](const Vector& from, const Vector& to, std::int64_t step) {
      Vector v(from.size());
      for (std::size_t c = 0; c < v.size(); ++c) v[c] = from[c] * (kSteps - step) + to[c] * step;
      const bool zero = std::all_of(v.begin(), v.end(), [](auto value) { return value == 0; });
      return zero ? to : normalised(std::move(v));
    };
    points[best] = between(x, unit(random), kSteps / 8);
    if (dot(points[best], x) <= gap()) points[best] = x;
    const std::int64_t limit = dot(points[best], x) - std::max<std::int64_t>(1, gap());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i == best) continue;
      for (bool found = false; !found;) {
        const Vector away = unit(random);
        for (std::int64_t step = 1; step <= kSteps && !found; ++step) {
          points[i] = between(points[best], away, step);
          found = dot(points[i], x) <= limit;
        }
      }
    }
  }

  Sizes s_;
};

Result<std::unique_ptr<Task>> make_nearest(const TaskSizes& sizes, const TaskOptions&) {
  const std::int64_t n = sizes.at("n"), d = sizes.at("d"), f = sizes.at("f");
  const std::int64_t half = std::int64_t{1} << (f - 1);
  if (d > half * half)
    return fail(ErrorCode::range,
                "[task] vectors of d = {} components with f = {} fraction bits; expected d at most {}", d, f,
                half * half);
  const std::int64_t margin = size_or(sizes, "margin", std::min(2 * half / n, half));
  if (margin > half)
    return fail(ErrorCode::range,
                "[task] margin = {} of nearest with f = {}; expected at most {} (gamma = 1/2)", margin, f,
                half);
  return new_task<NearestTask>(NearestTask::Sizes{n, d, sizes.at("sigma"), f, margin});
}

}  // namespace

TaskWord nearest_word() {
  constexpr std::int64_t kMaxDimension = 1 << 16, kMaxFraction = 20;
  return {.name = "nearest",
          .summary = "x_1 y_1 ... x_n y_n x, unit vectors and labels -> the label of the point nearest to x",
          .sizes = {{"n", "points", 8, 1, kMaxPromptLength / 2 - 1},
                    {"d", "components of a vector", 4, 1, kMaxDimension},
                    {"sigma", "labels", 2, 1, kMaxAlphabet - 1},
                    {"f", "fraction bits of a component", 8, 1, kMaxFraction},
                    {"margin", "least gap of the two best products, in units of 2^-f; 2^f/n unless given",
                     std::nullopt, 0, std::int64_t{1} << kMaxFraction}},
          .make = make_nearest};
}

}  // namespace rung
