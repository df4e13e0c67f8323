#include "check/task.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "check/task_of_fields.h"
#include "check/tracking_task.h"

namespace rung_check {
namespace {

using Sizes = Task::Sizes;

const Row& tokens(const Prompt& prompt) { return prompt.fields[0]; }
void push(Prompt& prompt, std::int64_t token) {
  prompt.fields[0].push_back(token);
  ++prompt.positions;
}

// Tasks of one token a position, read at the last one.
class TokenTask : public Task {
 protected:
  void shape(std::int64_t positions, std::int64_t vocabulary, std::int64_t answers) {
    fields = {{"token", vocabulary}};
    length = positions;
    queries = {positions - 1};
    answer_size = answers;
  }
};

class Eva final : public TokenTask {  // and index
 public:
  Eva(std::int64_t n, std::int64_t sigma) : n_(n), sigma_(sigma) { shape(n + 1, std::max(n, sigma), sigma); }
  std::vector<Row> answers(const Prompt& p) const override { return {{tokens(p)[at(tokens(p)[at(n_)])]}}; }
  Range range(std::int64_t t) const override { return {0, t < n_ ? sigma_ : n_}; }

 private:
  std::int64_t n_, sigma_;
};

class Mqar final : public TokenTask {
 public:
  Mqar(std::int64_t n, std::int64_t keys, std::int64_t sigma, std::int64_t asked, Budget& budget)
      : n_(n), keys_(keys), sigma_(sigma), budget_(budget) {
    shape(2 * n + asked, sigma + keys, sigma);
    queries.resize(at(asked));
    std::iota(queries.begin(), queries.end(), 2 * n);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    budget_.sorting(at(n_) + queries.size());
    std::map<std::int64_t, std::int64_t> latest;
    for (std::int64_t i = 0; i < n_; ++i) latest[tokens(p)[at(2 * i)]] = tokens(p)[at(2 * i + 1)];
    std::vector<Row> all;
    for (const auto t : queries) all.push_back({latest.at(tokens(p)[at(t)])});
    return all;
  }
  void rules(const Prompt& p) const override {
    const Row& known = written(p);
    budget_.sorting(queries.size());
    for (const auto t : queries)
      if (!std::binary_search(known.begin(), known.end(), tokens(p)[at(t)]))
        throw Rejected("an mqar prompt asks for a key that is not there");
  }
  Range range(std::int64_t t) const override {
    return t < 2 * n_ && t % 2 == 1 ? Range{0, sigma_} : Range{sigma_, keys_};
  }
  std::int64_t choices(const Prompt& p) const override {
    return p.positions < 2 * n_ ? Task::choices(p) : static_cast<std::int64_t>(written(p).size());
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    if (p.positions < 2 * n_) return Task::extend(p, choice);
    push(p, written(p)[at(choice)]);
  }

 private:
  // The keys in order, each once. Those of the last prompt asked about are remembered.
  const Row& written(const Prompt& p) const {
    budget_.work(2 * at(n_));
    bool same = !seen_.empty();
    for (std::int64_t i = 0; same && i < n_; ++i) same = seen_[at(i)] == tokens(p)[at(2 * i)];
    if (same) return known_;
    budget_.sorting(at(n_));
    seen_.clear();
    for (std::int64_t i = 0; i < n_; ++i) seen_.push_back(tokens(p)[at(2 * i)]);
    known_ = seen_;
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    return known_;
  }
  std::int64_t n_, keys_, sigma_;
  Budget& budget_;
  mutable Row seen_, known_;  // keys as they stand, and in order
};

// two-sum (members = 2, the last number is one of them), two-sum-exists (2), three-sum (3).
class ZeroSums final : public TokenTask {
 public:
  ZeroSums(std::int64_t n, std::int64_t modulus, int members, bool last, Budget& budget)
      : n_(n), modulus_(modulus), members_(members), last_(last), budget_(budget) {
    shape(n + (last ? 1 : 0), modulus, 2);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    Row x(tokens(p).begin(), tokens(p).begin() + n_);
    budget_.work(at(n_));
    if (last_) return {{std::find(x.begin(), x.end(), negative(tokens(p).back())) != x.end() ? 1 : 0}};
    budget_.sorting(at(n_));
    std::sort(x.begin(), x.end());
    // Two or three numbers below M that sum to 0 modulo M sum to 0, M or 2M.
    if (members_ == 2) return {{two_sum_to(x, 0, 0) || two_sum_to(x, 0, modulus_) ? 1 : 0}};
    for (std::size_t i = 0; i < x.size(); ++i)
      for (const std::int64_t sum : {std::int64_t{0}, modulus_, 2 * modulus_})
        if (two_sum_to(x, i + 1, sum - x[i])) return {{1}};
    return {{0}};
  }
  Range range(std::int64_t) const override { return {0, modulus_}; }

 private:
  // Whether two numbers at different places from `begin` on have this sum; x increases.
  bool two_sum_to(const Row& x, std::size_t begin, std::int64_t sum) const {
    budget_.work(x.size() - begin + 1);
    for (std::size_t end = x.size(); begin + 1 < end;) {
      const std::int64_t found = x[begin] + x[end - 1];
      if (found == sum) return true;
      found < sum ? static_cast<void>(++begin) : static_cast<void>(--end);
    }
    return false;
  }
  std::int64_t negative(std::int64_t x) const { return x == 0 ? 0 : modulus_ - x; }
  std::int64_t n_, modulus_;
  int members_;
  bool last_;
  Budget& budget_;
};

class SeqComp final : public TokenTask {
 public:
  SeqComp(const std::vector<std::int64_t>& domains, const std::vector<std::int64_t>& branching, bool easy)
      : domain_(domains), branching_(branching) {
    const auto levels = static_cast<std::int64_t>(domains.size());
    table_.resize(domains.size());
    std::int64_t t = 0;
    if (easy) {
      branch_ = 0;
      start_ = levels - 1;
      t = levels;
    }
    for (std::int64_t step = 0; step < levels; ++step) {
      const auto l = at(easy ? step : levels - 1 - step);  // z_{l+1}
      table_[l] = t;
      t += domain_[l];
    }
    if (!easy) {
      start_ = t;
      branch_ = t + 1;
      t += levels;
    }
    shape(t + 1, domain_.back() + 1, domain_.back());
  }
  std::vector<Row> answers(const Prompt& p) const override {
    std::int64_t argument = tokens(p)[at(start_)];
    for (std::size_t l = 0;; ++l) {
      const std::int64_t value = tokens(p)[at(table_[l] + argument)];
      if (l + 1 == domain_.size()) return {{value}};
      argument = tokens(p)[at(branch_ + static_cast<std::int64_t>(l))] * domain_[l] + value;
    }
  }
  Range range(std::int64_t t) const override {
    if (t == length - 1) return {domain_.back(), 1};
    if (t == start_) return {0, domain_[0]};
    if (t >= branch_ && t < branch_ + static_cast<std::int64_t>(branching_.size()))
      return {0, branching_[at(t - branch_)]};
    for (std::size_t l = 0; l < domain_.size(); ++l)
      if (t >= table_[l] && t < table_[l] + domain_[l]) return {0, domain_[l]};
    return {0, 0};
  }

 private:
  std::vector<std::int64_t> domain_, branching_, table_;  // N_l, n_{l+1}, place of z_{l+1}(0)
  std::int64_t start_ = 0, branch_ = 0;
};

class TwoStrings final : public TokenTask {  // equality, disjointness
 public:
  TwoStrings(std::int64_t n, bool equality) : n_(n), equality_(equality) { shape(2 * n + 2, 3, 2); }
  std::vector<Row> answers(const Prompt& p) const override {
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t a = tokens(p)[at(i)], b = tokens(p)[at(n_ + 1 + i)];
      if (equality_ ? a != b : a == 1 && b == 1) return {{0}};
    }
    return {{1}};
  }
  Range range(std::int64_t t) const override {
    return t == n_ || t == 2 * n_ + 1 ? Range{2, 1} : Range{0, 2};
  }

 private:
  std::int64_t n_;
  bool equality_;
};

class Dyck final : public TokenTask {
 public:
  Dyck(std::int64_t n, std::int64_t types, std::int64_t depth) : types_(types), depth_(depth) {
    shape(n, 2 * types, 2);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    Row open;
    for (const auto bracket : tokens(p)) {
      if (bracket < types_) {
        open.push_back(bracket);
        if (static_cast<std::int64_t>(open.size()) > depth_) return {{0}};
      } else {
        if (open.empty() || open.back() != bracket - types_) return {{0}};
        open.pop_back();
      }
    }
    return {{open.empty() ? 1 : 0}};
  }
  Range range(std::int64_t) const override { return {0, 2 * types_}; }

 private:
  std::int64_t types_, depth_;
};

class Cgram final : public TokenTask {
 public:
  Cgram(std::int64_t n, std::int64_t c, std::int64_t sigma, Budget& budget)
      : n_(n), free_(n - (c - 1)), sigma_(sigma), budget_(budget) {
    shape(n, sigma, sigma);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    return {{tokens(p)[at(n_ - periods(p).front())]}};
  }
  void rules(const Prompt& p) const override {
    if (periods(p).empty()) throw Rejected("the last symbols of a cgram prompt did not stand before");
  }
  Range range(std::int64_t) const override { return {0, sigma_}; }
  std::int64_t choices(const Prompt& p) const override {
    return p.positions < free_ ? sigma_ : static_cast<std::int64_t>(continuations(p).size());
  }
  void extend(Prompt& p, std::int64_t choice) const override {
    push(p, p.positions < free_ ? choice : continuations(p)[at(choice)]);
  }

 private:
  // The distances at which the symbols after the free ones repeat, as far as they are written, increasing.
  Row periods(const Prompt& p) const {
    budget_.work(static_cast<std::uint64_t>(free_) *
                 static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.positions - free_)));
    Row found;
    for (std::int64_t d = 1; d <= free_; ++d) {
      bool fits = true;
      for (std::int64_t t = free_; fits && t < p.positions; ++t)
        fits = tokens(p)[at(t)] == tokens(p)[at(t - d)];
      if (fits) found.push_back(d);
    }
    return found;
  }
  Row continuations(const Prompt& p) const {
    const Row found = periods(p);
    budget_.sorting(found.size());
    std::set<std::int64_t> symbols;
    for (const auto d : found) symbols.insert(tokens(p)[at(p.positions - d)]);
    return {symbols.begin(), symbols.end()};
  }
  std::int64_t n_, free_, sigma_;
  Budget& budget_;
};

class Counting final : public TokenTask {
 public:
  Counting(std::int64_t n, std::int64_t sigma, std::int64_t k) : n_(n), sigma_(sigma), k_(k) {
    shape(n + 2, sigma + n, 2);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    const auto count = std::count(tokens(p).begin(), tokens(p).begin() + n_, tokens(p)[at(n_)]);
    return {{count >= tokens(p)[at(n_ + 1)] - sigma_ + 1 ? 1 : 0}};
  }
  Range range(std::int64_t t) const override {
    if (t <= n_) return {0, sigma_};
    return k_ > 0 ? Range{sigma_ + k_ - 1, 1} : Range{sigma_, n_};
  }

 private:
  std::int64_t n_, sigma_, k_;
};

class IsTree final : public TokenTask {
 public:
  explicit IsTree(std::int64_t n) : n_(n) { shape(2 * (n - 1), n, 2); }
  std::vector<Row> answers(const Prompt& p) const override {
    Row parent(at(n_));
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](std::int64_t v) {
      while (parent[at(v)] != v) v = parent[at(v)] = parent[at(parent[at(v)])];
      return v;
    };
    for (std::int64_t e = 0; e + 1 < n_; ++e) {
      const std::int64_t u = root(tokens(p)[at(2 * e)]), v = root(tokens(p)[at(2 * e + 1)]);
      if (u == v) return {{0}};  // a cycle: n-1 edges cannot connect what is left
      parent[at(u)] = v;
    }
    return {{1}};
  }
  Range range(std::int64_t) const override { return {0, n_}; }

 private:
  std::int64_t n_;
};

class Khop final : public TokenTask {
 public:
  Khop(std::int64_t n, std::int64_t hops, std::int64_t sigma, bool everywhere, Budget& budget)
      : hops_(hops), sigma_(sigma), budget_(budget) {
    shape(n, sigma, sigma + 1);
    if (!everywhere) return;
    queries.resize(at(n));
    std::iota(queries.begin(), queries.end(), 0);
  }
  std::vector<Row> answers(const Prompt& p) const override {
    // next[t]: where a hop from t goes, -1: nowhere.
    budget_.sorting(at(p.positions));
    std::map<std::int64_t, std::int64_t> last;
    Row next;
    for (std::int64_t t = 0; t < p.positions; ++t) {
      const auto found = last.find(tokens(p)[at(t)]);
      next.push_back(found == last.end() ? -1 : found->second + 1);
      last[tokens(p)[at(t)]] = t;
    }
    std::vector<Row> all;
    for (const auto start : queries) {
      std::int64_t place = start;
      for (std::int64_t hop = 0; hop < hops_ && place >= 0 && next[at(place)] != place; ++hop) {
        budget_.work(kHop);
        place = next[at(place)];
      }
      all.push_back({place >= 0 ? tokens(p)[at(place)] : sigma_});
    }
    return all;
  }
  Range range(std::int64_t) const override { return {0, sigma_}; }

 private:
  static constexpr std::uint64_t kHop = 16;  // to a number that is in no cache, in multiply-adds
  std::int64_t hops_, sigma_;
  Budget& budget_;
};

}  // namespace

std::int64_t Task::follow(std::int64_t, std::int64_t) const {
  throw Malformed(text(name, " is not an automaton task"));
}
Task::Range Task::range(std::int64_t) const { return {0, 0}; }
void Task::rules(const Prompt&) const {}
std::int64_t Task::choices(const Prompt& prefix) const { return range(prefix.positions).count; }
void Task::extend(Prompt& prefix, std::int64_t choice) const {
  push(prefix, range(prefix.positions).low + choice);
}

void Task::check(const Prompt& prompt) const {
  if (prompt.positions != length)
    throw Rejected(text("a ", name, " prompt of ", prompt.positions, " positions; ", length, " expected"));
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (const auto value : prompt.fields[f])
      if (value < fields[f].low || value - fields[f].low >= fields[f].size)
        throw Rejected(text("a ", name, " prompt has the ", fields[f].name, " ", value));
  if (fields.size() == 1)
    for (std::int64_t t = 0; t < length; ++t) {
      const Range allowed = range(t);
      const std::int64_t token = prompt.fields[0][at(t)];
      if (token < allowed.low || token - allowed.low >= allowed.count)
        throw Rejected(text("a ", name, " prompt has the token ", token, " at position ", t));
    }
  rules(prompt);
}

std::unique_ptr<Task> make_task(const std::string& name, const Sizes& size,
                                const std::map<std::string, std::string>& options, Budget& budget) {
  constexpr std::int64_t kLength = std::int64_t{1} << 31, kAlphabet = std::int64_t{1} << 60;
  std::set<std::string> used;
  const auto take = [&](const std::string& key, std::int64_t low, std::int64_t high) {
    const auto found = size.find(key);
    if (found == size.end()) throw Malformed(text("task ", name, " needs the size ", key));
    if (found->second < low || found->second > high)
      throw Malformed(
          text(key, " = ", found->second, " of task ", name, "; ", low, " to ", high, " expected"));
    used.insert(key);
    return found->second;
  };
  const auto option = [&](const std::string& key,
                          const std::string& word) {  // whether the one word that is no default is given
    if (!options.contains(key)) return false;
    if (options.at(key) != word)
      throw Malformed(text("task ", name, " has no ", key, " of that name, or it is the default"));
    used.insert("option " + key);
    return true;
  };
  // An option with words of its own.
  const auto word = [&](const std::string& key, const std::string& usual) {
    const auto found = options.find(key);
    if (found == options.end()) return usual;
    if (found->second == usual) throw Malformed(text("option ", key, " of task ", name, " is the default"));
    used.insert("option " + key);
    return found->second;
  };
  // Before anything is as long as a prompt.
  const auto fits = [&](Int positions, Int numbers = 1) {
    if (positions < 1 || positions * numbers > static_cast<Int>(kLongestPrompt))
      throw OutOfResources(text("a ", name, " prompt of more than 2^24 numbers"));
  };
  std::unique_ptr<Task> task;
  if (name == "seqcomp") {
    const std::int64_t levels = take("L", 1, 8);
    std::vector<std::int64_t> domain = {take("m", 1, kLength)}, branching;
    Int total = domain[0] + levels + 1;
    for (std::int64_t l = 1; l < levels; ++l) {
      branching.push_back(take(text("n", l), 1, kLength));
      fits(static_cast<Int>(domain.back()) * branching.back());
      domain.push_back(domain.back() * branching.back());
      total += domain.back();
    }
    fits(total);
    task = std::make_unique<SeqComp>(domain, branching, option("order", "easy"));
  } else {
    const std::int64_t n = take("n", name == "cgram" || name == "istree" ? 2 : 1, kLength);
    fits(n);
    if (name == "eva") task = std::make_unique<Eva>(n, n);
    if (name == "index") task = std::make_unique<Eva>(n, take("sigma", 1, kAlphabet));
    if (name == "retrieval") {
      fits(static_cast<Int>(n) + 1, 3);
      const std::int64_t bits =
          take("D", std::max<std::int64_t>(1, ceil_lg(static_cast<std::uint64_t>(n))), 60);
      task = make_retrieval(n, bits, take("sigma", 1, kAlphabet - 1), budget);
    }
    if (name == "mqar") {
      const std::int64_t keys = take("M", 1, kAlphabet / 2), sigma = take("sigma", 1, kAlphabet / 2),
                         asked = take("queries", 1, kLength);
      fits(static_cast<Int>(2) * n + asked);
      task = std::make_unique<Mqar>(n, keys, sigma, asked, budget);
    }
    if (name == "two-sum" || name == "two-sum-exists")
      task = std::make_unique<ZeroSums>(n, take("M", 1, kAlphabet), 2, name == "two-sum", budget);
    if (name == "three-sum") task = std::make_unique<ZeroSums>(n, take("M", 4, kAlphabet), 3, false, budget);
    if (name == "sparse-average") {
      const std::int64_t q = take("q", 1, std::min<std::int64_t>(n, 1 << 20)), d = take("d", 1, 1 << 16),
                         f = take("f", 0, 20);
      fits(n, q + d);
      task = make_sparse_average(n, q, d, f, option("read", "last"), budget);
    }
    if (name == "equality" || name == "disjointness")
      task = std::make_unique<TwoStrings>(n, name == "equality");
    if (name == "nearest") {
      const std::int64_t d = take("d", 1, 1 << 16), sigma = take("sigma", 1, kAlphabet - 1),
                         f = take("f", 1, 20);
      const std::int64_t margin = take("margin", 0, std::int64_t{1} << (f - 1));
      if (d > std::int64_t{1} << (2 * f - 2))
        throw Malformed("nearest has too many components for its fraction");
      fits(static_cast<Int>(2) * n + 1, d + 1);
      task = make_nearest(n, d, sigma, f, margin, budget);
    }
    if (name == "dyck") {
      const std::int64_t types = take("k", 1, kAlphabet / 2);
      task = std::make_unique<Dyck>(n, types, take("depth", 1, kLength));
    }
    if (name == "cgram") {
      const std::int64_t c = take("c", 2, n);
      task = std::make_unique<Cgram>(n, c, take("sigma", 1, kAlphabet), budget);
    }
    if (name == "counting") {
      const std::int64_t sigma = take("sigma", 1, kAlphabet / 2);
      task = std::make_unique<Counting>(n, sigma, take("k", 0, n));
    }
    if (name == "istree") task = std::make_unique<IsTree>(n);
    if (name == "khop") {
      const std::int64_t hops = take("k", 1, kLength), sigma = take("sigma", 1, kAlphabet - 1);
      task = std::make_unique<Khop>(n, hops, sigma, option("read", "all"), budget);
    }
    if (name == "parity") task = make_modular_sum(n, 2, option("read", "all"));
    if (name == "modulo") {
      const std::int64_t modulus = take("m", 2, 1024);
      task = make_modular_sum(n, modulus, option("read", "all"));
    }
    if (name == "flipflop") {
      const std::int64_t values = take("k", 2, 1024);
      task = make_flipflop(n, values, option("read", "all"));
    }
    if (name == "group") {
      const std::string group = word("name", "S3");
      const bool generators = option("letters", "generators");
      task = make_group(n, group, generators, option("read", "all"));
    }
    if (name == "tracked-recall") {
      if (n < 2) throw Malformed("tracked-recall needs n of 2 or more");
      const std::int64_t sigma = take("sigma", 1, kAlphabet - 1), letters = take("w", 1, kLength);
      fits(static_cast<Int>(n) + letters + 1, 3);
      task = make_tracked_recall(n, sigma, letters, word("group", "symmetric"), budget);
    }
    if (name == "copy") {
      const std::int64_t sigma = take("sigma", 1, kAlphabet - 1);
      fits(static_cast<Int>(2) * n);
      task = make_copy(n, sigma);
    }
    if (name == "selective-copy") {
      const std::int64_t places = take("m", n, kLength), sigma = take("sigma", 1, kAlphabet - 2);
      fits(static_cast<Int>(places) + n);
      task = make_selective_copy(n, places, sigma, budget);
    }
    if (!task) throw Malformed(text("unknown task ", name.substr(0, 40)));
    fits(task->length);
  }
  if (used.size() != size.size() + options.size())
    throw Malformed(text("task ", name, " has a size or option that it does not know"));
  task->name = name;
  task->size = size;
  task->options = options;
  return task;
}

Row row_at(const Task& task, const Prompt& prompt, std::int64_t position) {
  Row row;
  for (std::size_t f = 0; f < prompt.fields.size(); ++f) {
    const auto begin = prompt.fields[f].begin() + position * task.fields[f].length;
    row.insert(row.end(), begin, begin + task.fields[f].length);
  }
  return row;
}

bool differ(const Task& task, const Row& a, const Row& b) {
  if (!task.vector) return a != b;
  for (std::size_t c = 0; c < a.size(); ++c)  // no number is within 1/tolerance of both
    if (std::abs(a[c] - b[c]) > (Int{2} << task.fraction) / task.tolerance) return true;
  return false;
}

bool wrong(const Task& task, const Output& output, const Row& given, const Row& reference) {
  if (!task.vector) return given != reference;
  for (std::size_t c = 0; c < given.size(); ++c) {
    const Int off =
        add(mul(given[c], Int{1} << task.fraction), -mul(reference[c], Int{1} << output.fraction));
    if (mul(off < 0 ? -off : off, task.tolerance) > Int{1} << (task.fraction + output.fraction)) return true;
  }
  return false;
}

}  // namespace rung_check
