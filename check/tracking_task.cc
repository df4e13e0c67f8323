#include "check/tracking_task.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace rung_check {
namespace {

const Row& read_tokens(const Prompt& prompt) { return prompt.fields[0]; }

// ^ and n letters. A state is a number; next(state, letter) and the answer of a state are the task's.
class Following : public Task {
 public:
  std::vector<Row> answers(const Prompt& p) const override {
    std::vector<Row> all;
    std::int64_t state = first_;
    for (std::int64_t t = 1; t < length; ++t) {
      state = next_(state, read_tokens(p)[at(t)]);
      if (queries.size() > 1 || t + 1 == length) all.push_back({state});
    }
    return all;
  }
  std::int64_t follow(std::int64_t state, std::int64_t letter) const override { return next_(state, letter); }
  Range range(std::int64_t t) const override { return t == 0 ? Range{letters_, 1} : Range{0, letters_}; }

  Following(std::int64_t n, std::int64_t letters, std::int64_t states, bool everywhere,
            std::function<std::int64_t(std::int64_t, std::int64_t)> next)
      : letters_(letters), next_(std::move(next)) {
    fields = {{"token", letters + 1}};
    length = n + 1;
    answer_size = states;
    queries = {n};
    if (!everywhere) return;
    queries.resize(at(n));
    std::iota(queries.begin(), queries.end(), 1);
  }

 private:
  std::int64_t letters_, first_ = 0;
  std::function<std::int64_t(std::int64_t, std::int64_t)> next_;
};

// A group by its numbering in docs/tasks.md. The identity is 0.
struct Numbered {
  std::int64_t order = 1;
  std::function<std::int64_t(std::int64_t, std::int64_t)> product;
  Row generators;
};

// The list of permutation number i of [n], in the order of lists, and back.
Row unranked(std::int64_t n, std::int64_t rank) {
  Row digits(at(n));
  for (std::int64_t i = n - 1, base = 1; i >= 0; --i, ++base) {
    digits[at(i)] = rank % base;
    rank /= base;
  }
  Row left(at(n)), list;
  std::iota(left.begin(), left.end(), 0);
  for (const auto digit : digits) {
    list.push_back(left[at(digit)]);
    left.erase(left.begin() + digit);
  }
  return list;
}
std::int64_t ranked(const Row& list) {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    rank *= static_cast<std::int64_t>(list.size() - i);
    for (std::size_t j = i + 1; j < list.size(); ++j) rank += list[j] < list[i] ? 1 : 0;
  }
  return rank;
}
bool is_even(const Row& list) {
  std::int64_t inversions = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = i + 1; j < list.size(); ++j) inversions += list[j] < list[i] ? 1 : 0;
  return inversions % 2 == 0;
}

Numbered permutations_of(std::int64_t n, bool even) {
  std::int64_t all = 1;
  for (std::int64_t i = 2; i <= n; ++i) all *= i;
  Row rank_of, number_of(at(all), -1);  // number in the group ↔ rank among all permutations
  for (std::int64_t rank = 0; rank < all; ++rank) {
    if (even && !is_even(unranked(n, rank))) continue;
    number_of[at(rank)] = static_cast<std::int64_t>(rank_of.size());
    rank_of.push_back(rank);
  }
  Numbered group{.order = static_cast<std::int64_t>(rank_of.size())};
  Row identity(at(n));
  std::iota(identity.begin(), identity.end(), 0);
  for (std::int64_t k = even ? 2 : 1; k < n; ++k) {
    Row list = identity;
    if (even) {
      list[0] = 1;
      list[1] = k;
      list[at(k)] = 0;
    } else {
      std::swap(list[at(k - 1)], list[at(k)]);
    }
    group.generators.push_back(number_of[at(ranked(list))]);
  }
  group.product = [n, rank_of, number_of](std::int64_t a, std::int64_t b) {
    const Row first = unranked(n, rank_of[at(a)]), second = unranked(n, rank_of[at(b)]);
    Row both;
    for (const auto image : first) both.push_back(second[at(image)]);
    return number_of[at(ranked(both))];
  };
  return group;
}

// Unit quaternions as integers (a, b, c, d), multiplied by Hamilton's rules.
Numbered quaternion_group() {
  Numbered group{.order = 8, .generators = {2, 4}};
  group.product = [](std::int64_t x, std::int64_t y) -> std::int64_t {
    const auto vector = [](std::int64_t number) {
      Row v(4, 0);
      v[at(number / 2)] = number % 2 == 0 ? 1 : -1;
      return v;
    };
    const Row p = vector(x), q = vector(y);
    const Row r = {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
                   p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
                   p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
                   p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]};
    for (std::int64_t i = 0; i < 4; ++i)
      if (r[at(i)] != 0) return 2 * i + (r[at(i)] < 0 ? 1 : 0);
    return 0;
  };
  return group;
}

constexpr std::int64_t kLargestGroup = 1024;

Numbered factor(const std::string& name) {
  const auto unknown = [&] { return Malformed(text("no group ", name.substr(0, 40))); };
  if (name.size() < 2 || name.size() > 5 || name[1] == '0') throw unknown();
  std::int64_t n = 0;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') throw unknown();
    n = 10 * n + (name[i] - '0');
  }
  Numbered group;
  switch (name[0]) {
    case 'Z':
      group = {.order = n,
               .product = [n](std::int64_t a, std::int64_t b) { return (a + b) % n; },
               .generators = {1}};
      break;
    case 'D':  // s r = r^-1 s: r^k s^b times r^l s^c is r^(k ± l) s^(b + c)
      group = {.order = 2 * n,
               .product =
                   [n](std::int64_t a, std::int64_t b) {
                     return (a % n + (a < n ? b % n : n - b % n)) % n + (a / n + b / n) % 2 * n;
                   },
               .generators = n == 1 ? Row{1} : Row{1, n}};
      break;
    case 'Q':
      if (n != 8) throw unknown();
      group = quaternion_group();
      break;
    case 'S':
    case 'A':
      if (n > 6) throw Malformed(text("group ", name, " has more than 1024 elements"));
      group = permutations_of(n, name[0] == 'A');
      break;
    default:
      throw unknown();
  }
  if (group.order < 2 || group.order > kLargestGroup)
    throw Malformed(text("group ", name, " of ", group.order, " elements; 2 to 1024 expected"));
  return group;
}

Numbered group_named(const std::string& name) {
  Numbered whole;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('x', begin), name.size());
    const Numbered next = factor(name.substr(begin, end - begin));
    if (begin == 0) {
      whole = next;
    } else {
      const Numbered before = whole;
      const std::int64_t order = next.order;
      if (before.order * order > kLargestGroup)
        throw Malformed("a product of groups of more than 1024 elements");
      whole.order = before.order * order;
      whole.product = [before, next, order](std::int64_t a, std::int64_t b) {
        return before.product(a / order, b / order) * order + next.product(a % order, b % order);
      };
      for (auto& g : whole.generators) g *= order;
      whole.generators.insert(whole.generators.end(), next.generators.begin(), next.generators.end());
    }
    begin = end + 1;
  }
  return whole;
}

class TrackedRecall final : public Task {
 public:
  TrackedRecall(std::int64_t n, std::int64_t sigma, std::int64_t word, const std::string& group,
                Budget& budget)
      : n_(n), sigma_(sigma), word_(word), budget_(budget) {
    if (group == "symmetric") {
      letters_ = n;
      move_ = [](std::int64_t letter, std::int64_t x) {
        return x == letter - 1 ? letter : x == letter ? letter - 1 : x;
      };
    } else if (group == "cyclic") {
      letters_ = 2;
      move_ = [n](std::int64_t, std::int64_t x) { return (x + 1) % n; };
    } else if (group == "xor") {
      if ((n & (n - 1)) != 0) throw Malformed("tracked-recall by xor needs a power of two");
      letters_ = 1 + ceil_lg(static_cast<std::uint64_t>(n));
      move_ = [](std::int64_t letter, std::int64_t x) { return x ^ std::int64_t{1} << (letter - 1); };
    } else {
      throw Malformed("tracked-recall has no group of that name");
    }
    fields = {{"key", std::max(n, letters_)}, {"value", sigma + 1}, {"role", 3}};
    length = n + word + 1;
    queries = {n + word};
    answer_size = sigma;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    const Row& key = p.fields[0];
    std::int64_t x = 0;
    for (std::int64_t t = n_; t < n_ + word_; ++t)
      if (key[at(t)] != 0) x = move_(key[at(t)], x);
    return {{p.fields[1][at(std::find(key.begin(), key.end(), x) - key.begin())]}};
  }
  void rules(const Prompt& p) const override {
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int64_t role = role_at(t);
      if (p.fields[2][at(t)] != role) throw Rejected("a tracked-recall prompt has a role out of its place");
      if ((p.fields[1][at(t)] == sigma_) == (role == 0))
        throw Rejected("a tracked-recall prompt has a blank in a pair, or a value elsewhere");
      if (p.fields[0][at(t)] >= (role == 0 ? n_ : role == 1 ? letters_ : 1))
        throw Rejected("a tracked-recall prompt has a key out of range");
    }
    const Row used = written(p);
    if (std::adjacent_find(used.begin(), used.end()) != used.end())
      throw Rejected("a tracked-recall prompt has a key twice");
  }
  std::int64_t choices(const Prompt& p) const override {
    if (role_at(p.positions) != 0) return role_at(p.positions) == 1 ? letters_ : 1;
    const Int count = static_cast<Int>(n_ - p.positions) * sigma_;
    return count > kLargestNumber ? 0 : static_cast<std::int64_t>(count);
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    const std::int64_t role = role_at(p.positions);
    std::int64_t key = choice;
    if (role == 0) {
      key = choice / sigma_;
      for (const auto taken : written(p)) key += taken <= key ? 1 : 0;
    }
    p.fields[0].push_back(key);
    p.fields[1].push_back(role == 0 ? choice % sigma_ : sigma_);
    p.fields[2].push_back(role);
    ++p.positions;
  }

 private:
  std::int64_t role_at(std::int64_t t) const { return t < n_ ? 0 : t < n_ + word_ ? 1 : 2; }
  Row written(const Prompt& p) const {
    const auto begin = p.fields[0].begin();
    Row keys(begin, begin + std::min(p.positions, n_));
    budget_.sorting(keys.size());
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  std::int64_t n_, sigma_, word_, letters_ = 0;
  std::function<std::int64_t(std::int64_t letter, std::int64_t place)> move_;
  Budget& budget_;
};

class Copy final : public Task {
 public:
  Copy(std::int64_t n, std::int64_t sigma) : n_(n), sigma_(sigma) {
    fields = {{"token", sigma + 1}};
    length = 2 * n;
    queries.resize(at(n));
    std::iota(queries.begin(), queries.end(), n);
    answer_size = sigma;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    std::vector<Row> all;
    for (std::int64_t i = 0; i < n_; ++i) all.push_back({read_tokens(p)[at(i)]});
    return all;
  }
  Range range(std::int64_t t) const override { return t < n_ ? Range{0, sigma_} : Range{sigma_, 1}; }

 private:
  std::int64_t n_, sigma_;
};

class SelectiveCopy final : public Task {
 public:
  SelectiveCopy(std::int64_t n, std::int64_t places, std::int64_t sigma, Budget& budget)
      : n_(n), places_(places), sigma_(sigma), budget_(budget) {
    fields = {{"token", sigma + 2}};
    length = places + n;
    queries.resize(at(n));
    std::iota(queries.begin(), queries.end(), places);
    answer_size = sigma;
  }
  std::vector<Row> answers(const Prompt& p) const override {
    std::vector<Row> all;
    for (const auto token : read_tokens(p))
      if (token < sigma_) all.push_back({token});
    return all;
  }
  void rules(const Prompt& p) const override {
    if (marked(p) != n_) throw Rejected("a selective-copy prompt has another number of symbols");
  }
  Range range(std::int64_t t) const override {
    return t < places_ ? Range{0, sigma_ + 1} : Range{sigma_ + 1, 1};
  }
  // Symbols while some are missing, then nothing while enough places are left.
  std::int64_t choices(const Prompt& p) const override {
    if (p.positions >= places_) return 1;
    const std::int64_t missing = n_ - marked(p);
    return (missing > 0 ? sigma_ : 0) + (missing < places_ - p.positions ? 1 : 0);
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    std::int64_t token = sigma_ + 1;
    if (p.positions < places_) token = n_ > marked(p) ? choice : sigma_;
    p.fields[0].push_back(token);
    ++p.positions;
  }

 private:
  std::int64_t marked(const Prompt& p) const {
    budget_.work(read_tokens(p).size());
    return std::count_if(read_tokens(p).begin(), read_tokens(p).end(),
                         [&](auto token) { return token < sigma_; });
  }
  std::int64_t n_, places_, sigma_;
  Budget& budget_;
};

}  // namespace

std::unique_ptr<Task> make_modular_sum(std::int64_t n, std::int64_t modulus, bool everywhere) {
  return std::make_unique<Following>(
      n, modulus, modulus, everywhere,
      [modulus](std::int64_t sum, std::int64_t letter) { return (sum + letter) % modulus; });
}
std::unique_ptr<Task> make_flipflop(std::int64_t n, std::int64_t values, bool everywhere) {
  return std::make_unique<Following>(
      n, values + 1, values, everywhere,
      [](std::int64_t value, std::int64_t letter) { return letter == 0 ? value : letter - 1; });
}
std::unique_ptr<Task> make_group(std::int64_t n, const std::string& name, bool generators, bool everywhere) {
  const Numbered group = group_named(name);
  Row letters(1, 0);
  if (generators) {
    letters.insert(letters.end(), group.generators.begin(), group.generators.end());
  } else {
    letters.resize(at(group.order));
    std::iota(letters.begin(), letters.end(), 0);
  }
  // Products by the letters, made once.
  Row table;
  for (std::int64_t a = 0; a < group.order; ++a)
    for (const auto letter : letters) table.push_back(group.product(a, letter));
  const auto width = static_cast<std::int64_t>(letters.size());
  return std::make_unique<Following>(
      n, width, group.order, everywhere,
      [table, width](std::int64_t a, std::int64_t letter) { return table[at(a * width + letter)]; });
}
std::unique_ptr<Task> make_tracked_recall(std::int64_t n, std::int64_t sigma, std::int64_t word,
                                          const std::string& group, Budget& budget) {
  return std::make_unique<TrackedRecall>(n, sigma, word, group, budget);
}
std::unique_ptr<Task> make_copy(std::int64_t n, std::int64_t sigma) {
  return std::make_unique<Copy>(n, sigma);
}
std::unique_ptr<Task> make_selective_copy(std::int64_t n, std::int64_t places, std::int64_t sigma,
                                          Budget& budget) {
  return std::make_unique<SelectiveCopy>(n, places, sigma, budget);
}

}  // namespace rung_check
