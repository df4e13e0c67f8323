// Invariant: nodes [0, expanded_) have been expanded and all their edges were right; nodes are in the
// order of discovery, which is by length of their shortest word. level_end_ is where the nodes of the
// current length end.
#include "rung/adversary/product_search.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "rung/adversary/checkpoint.h"
#include "rung/adversary/search_clock.h"
#include "rung/adversary/state_kernel.h"
#include "rung/base/ceil_lg.h"
#include "rung/base/parallel.h"
#include "rung/certificate/certificate.h"

namespace rung {
namespace {

constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
constexpr std::size_t kNodeBlock = std::size_t{1} << 12;  // nodes that are allocated together
constexpr std::uint64_t kEdgesAtOnce = std::uint64_t{1}
                                       << 18;  // computed in parallel, then looked up in order
constexpr std::int64_t kNodesPerWorker = 256;
constexpr double kSecondsBetweenProductSaves = 120;
constexpr std::uint64_t kFirstSlots = std::uint64_t{1} << 12;

// A state of the task is stored as a signed number.
int task_bits_of(const ProductTask& task) { return 1 + ceil_lg(static_cast<std::uint64_t>(task.states)); }

// A block of edges holds the words of both ends, an answer and a hash of each; all blocks together at most an eighth
// of the memory, where one edge leaves so much.
constexpr std::uint64_t edge_bytes(std::size_t words) { return 16 * words + 16; }
std::uint64_t edges_at_once(std::size_t words, std::uint64_t bytes) {
  return std::clamp<std::uint64_t>(bytes / 8 / edge_bytes(words), 1, kEdgesAtOnce);
}

std::uint64_t node_hash(const std::uint64_t* words, std::size_t count) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i) hash = spread(hash + words[i] + kGoldenGamma);
  return hash;
}

// Nodes in the order of discovery, found again by their words: blocks of words and parents, and a table of
// node numbers with open addressing, at most half full.
class NodeTable {
 public:
  explicit NodeTable(std::size_t words) : words_(words), slots_(kFirstSlots, kNoNode) {}

  std::uint64_t size() const { return size_; }
  const std::uint64_t* node(std::uint64_t i) const {
    return blocks_[i / kNodeBlock].words.get() + i % kNodeBlock * words_;
  }
  std::uint32_t parent(std::uint64_t i) const { return blocks_[i / kNodeBlock].parents[i % kNodeBlock]; }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
  // The node of these words, if it is there.
  bool contains(const std::uint64_t* words, std::uint64_t hash) const {
    return *slot(words, hash) != kNoNode;
  }
  // Adds a node that is not there. REQUIRES !contains(words, hash).
  void add(const std::uint64_t* words, std::uint64_t hash, std::uint32_t parent) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    *const_cast<std::uint32_t*>(slot(words, hash)) = static_cast<std::uint32_t>(size_);
    append(words, parent);
  }

 private:
  struct Block {
    std::unique_ptr<std::uint64_t[]> words;
    std::unique_ptr<std::uint32_t[]> parents;
  };
  const std::uint32_t* slot(const std::uint64_t* words, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != kNoNode && !std::equal(words, words + words_, node(slots_[at])))
      at = (at + 1) & mask;
    return &slots_[at];
  }
  void append(const std::uint64_t* words, std::uint32_t parent) {
    if (size_ % kNodeBlock == 0)
      blocks_.push_back({std::make_unique_for_overwrite<std::uint64_t[]>(kNodeBlock * words_),
                         std::make_unique_for_overwrite<std::uint32_t[]>(kNodeBlock)});
    std::copy_n(words, words_, blocks_.back().words.get() + size_ % kNodeBlock * words_);
    blocks_.back().parents[size_ % kNodeBlock] = parent;
    ++size_;
  }
  void grow() {
    std::vector<std::uint32_t> larger(2 * slots_.size(), kNoNode);
    slots_.swap(larger);
    larger = {};
    const std::size_t mask = slots_.size() - 1;
    for (std::uint64_t i = 0; i < size_; ++i) {
      std::size_t at = node_hash(node(i), words_) & mask;
      while (slots_[at] != kNoNode) at = (at + 1) & mask;
      slots_[at] = static_cast<std::uint32_t>(i);
    }
  }

  std::size_t words_;
  std::uint64_t size_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> slots_;
};

class ProductSearch {
 public:
  ProductSearch(const Target& target, const ProductTask& task, const SearchOptions& options,
                std::unique_ptr<LetterKernel> kernel, std::optional<std::int64_t> most_depth)
      : task_(task),
        options_(options),
        clock_(options),
        kernel_(std::move(kernel)),
        most_depth_(most_depth),
        words_(kernel_->code().words()),
        limit_(product_memory(words_, options.memory_bytes, !options.checkpoint.empty())),
        nodes_(words_),
        letters_(static_cast<std::int64_t>(task.letters.size())),
        fingerprint_(fingerprint(target)) {}

  Result<ProductOutcome> run(const std::vector<std::uint64_t>& start) {
    nodes_.add(start.data(), node_hash(start.data(), words_), kNoNode);
    level_end_ = 1;
    RUNG_CHECK(resume());
    RUNG_CHECK(explore());
    outcome_.states = nodes_.size();
    outcome_.edges = edges_;
    outcome_.state_bits = kernel_->state_bits();
    outcome_.seconds = clock_.seconds();
    outcome_.memory_bytes = limit_.bytes;
    if (outcome_.verdict == ProductVerdict::proved) outcome_.digest = digest();
    return std::move(outcome_);
  }

 private:
  std::string fingerprint(const Target& target) const {
    std::string text = fmt::format("{} {} {} ", target.model_sha256, task_.states, task_.start);
    for (const auto state : task_.next) text += fmt::format("{} ", state);
    for (const auto answer : task_.answers) text += fmt::format("{} ", answer);
    for (const auto& row : task_.letters)
      for (const auto number : row) text += fmt::format("{} ", number);
    if (task_.begin)
      for (const auto number : *task_.begin) text += fmt::format("{} ", number);
    return sha256("verify\n" + text);
  }

  Result<void> explore() {
    double saved = clock_.seconds();
    const std::int64_t block = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(edges_at_once(words_, options_.memory_bytes)) / letters_);
    std::vector<std::uint64_t> nodes, after, hashes;
    std::vector<std::int64_t> answers;
    while (expanded_ < nodes_.size()) {
      if (expanded_ == level_end_) {
        ++depth_;
        level_end_ = nodes_.size();
      }
      if (most_depth_ && depth_ >= *most_depth_) {
        end_bounded("the depth asked for is reached");
        return save();
      }
      if (clock_.over()) {
        end_bounded("the budget ended");
        return save();
      }
      const auto count = static_cast<std::int64_t>(std::min<std::uint64_t>(level_end_ - expanded_, block));
      const auto edges = static_cast<std::size_t>(count * letters_);
      nodes.resize(static_cast<std::size_t>(count) * words_);
      after.resize(edges * words_);
      answers.resize(edges);
      hashes.resize(edges);
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(nodes_.node(expanded_ + static_cast<std::uint64_t>(i)), words_,
                    nodes.begin() + i * static_cast<std::int64_t>(words_));
      parallel_for(count, kNodesPerWorker, [&](std::int64_t begin, std::int64_t end) {
        const auto from = static_cast<std::size_t>(begin), edge = static_cast<std::size_t>(begin * letters_);
        kernel_->read(nodes.data() + from * words_, end - begin, after.data() + edge * words_,
                      answers.data() + edge);
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t state = task_state(nodes.data() + static_cast<std::size_t>(i) * words_);
          for (std::int64_t l = 0; l < letters_; ++l) {
            const auto e = static_cast<std::size_t>(i * letters_ + l);
            kernel_->code().put(kernel_->task_place(), task_.after(state, l), after.data() + e * words_);
            hashes[e] = node_hash(after.data() + e * words_, words_);
          }
        }
      });
      for (std::size_t e = 0; e < edges; ++e) {
        constexpr std::size_t kAhead = 16;
        if (e + kAhead < edges) nodes_.prefetch(hashes[e + kAhead]);
        const std::uint64_t* to = after.data() + e * words_;
        const std::uint64_t from = expanded_ + e / static_cast<std::size_t>(letters_);
        const std::int64_t expected = task_.answers[static_cast<std::size_t>(task_state(to))];
        if (answers[e] != expected) {
          edges_ += e + 1;
          end_refuted(from, static_cast<std::int64_t>(e) % letters_, answers[e], expected);
          return {};
        }
        if (nodes_.contains(to, hashes[e])) continue;
        if (nodes_.size() >= limit_.nodes) {
          // The nodes of this block that are complete stay; the rest is as if it had not been looked at.
          end_bounded(fmt::format("{} product states fill the memory allowed", limit_.nodes));
          return save();
        }
        nodes_.add(to, hashes[e], static_cast<std::uint32_t>(from));
      }
      edges_ += edges;
      expanded_ += static_cast<std::uint64_t>(count);
      clock_.report({edges_,
                     {},
                     limit_.bytes,
                     fmt::format("words of {} letters, {} product states", depth_ + 1, nodes_.size())});
      if (clock_.seconds() - saved > kSecondsBetweenProductSaves) {
        RUNG_CHECK(save());
        saved = clock_.seconds();
      }
    }
    outcome_.verdict = ProductVerdict::proved;
    outcome_.depth = depth_;
    outcome_.reason = "every reachable edge was compared";
    return {};
  }

  std::int64_t task_state(const std::uint64_t* node) const {
    return kernel_->code().get(kernel_->task_place(), node);
  }
  void end_bounded(std::string reason) {
    outcome_.verdict = ProductVerdict::bounded;
    outcome_.depth = depth_;
    outcome_.reason = std::move(reason);
  }
  void end_refuted(std::uint64_t from, std::int64_t letter, std::int64_t answer, std::int64_t expected) {
    outcome_.verdict = ProductVerdict::refuted;
    outcome_.answer = answer;
    outcome_.expected = expected;
    outcome_.word = {letter};
    for (std::uint64_t node = from; nodes_.parent(node) != kNoNode; node = nodes_.parent(node))
      outcome_.word.push_back(letter_between(nodes_.parent(node), node));
    std::reverse(outcome_.word.begin(), outcome_.word.end());
    outcome_.depth = static_cast<std::int64_t>(outcome_.word.size());
    outcome_.reason = "the word is answered wrongly, and every shorter word rightly";
  }
  // The first letter that leads from one node to the other. REQUIRES that there is one.
  std::int64_t letter_between(std::uint64_t from, std::uint64_t to) const {
    std::vector<std::uint64_t> after(static_cast<std::size_t>(letters_) * words_);
    std::vector<std::int64_t> answers(static_cast<std::size_t>(letters_));
    kernel_->read(nodes_.node(from), 1, after.data(), answers.data());
    const std::int64_t state = task_state(nodes_.node(from));
    for (std::int64_t l = 0; l < letters_; ++l) {
      std::uint64_t* words = after.data() + static_cast<std::size_t>(l) * words_;
      kernel_->code().put(kernel_->task_place(), task_.after(state, l), words);
      if (std::equal(words, words + words_, nodes_.node(to))) return l;
    }
    RUNG_REQUIRE(false, "no letter leads from node {} to node {}", from, to);
  }
  std::string digest() const {
    NodeDigest hash;
    for (std::uint64_t i = 0; i < nodes_.size(); ++i)
      hash.add(kernel_->numbers(nodes_.node(i)), task_state(nodes_.node(i)));
    return hash.hexadecimal();
  }

  // The nodes, and how far they were expanded. Nodes that a block added before the memory was full are
  // found again by expanding it again.
  Result<void> save() {
    if (options_.checkpoint.empty()) return {};
    CheckpointWriter writer;
    writer.reserve(5 + (nodes_.size() - 1) * (words_ + 1));
    for (const std::uint64_t value :
         {nodes_.size(), expanded_, level_end_, static_cast<std::uint64_t>(depth_), edges_})
      writer.put(value);
    for (std::uint64_t i = 1; i < nodes_.size(); ++i) {
      for (std::size_t w = 0; w < words_; ++w) writer.put(nodes_.node(i)[w]);
      writer.put(nodes_.parent(i));
    }
    return save_checkpoint(options_.checkpoint, fingerprint_, writer.bytes());
  }
  Result<void> resume() {
    if (options_.checkpoint.empty()) return {};
    RUNG_TRY(const auto bytes, load_checkpoint(options_.checkpoint, fingerprint_));
    if (!bytes) return {};
    CheckpointReader reader(*bytes);
    std::uint64_t size = 0, depth = 0, parent = 0;
    bool good = reader.take(size) && reader.take(expanded_) && reader.take(level_end_) &&
                reader.take(depth) && reader.take(edges_) && size >= 1 && expanded_ <= level_end_ &&
                level_end_ <= size;
    if (good && size > limit_.nodes)
      return fail(ErrorCode::resource,
                  "[verify] the checkpoint {} holds {} product states; the memory allowed holds {}",
                  options_.checkpoint, size, limit_.nodes);
    std::vector<std::uint64_t> words(words_);
    for (std::uint64_t i = 1; good && i < size; ++i) {
      for (auto& word : words) good = good && reader.take(word);
      good = good && reader.take(parent) && parent < i;
      const std::uint64_t hash = node_hash(words.data(), words_);
      good = good && !nodes_.contains(words.data(), hash);
      if (good) nodes_.add(words.data(), hash, static_cast<std::uint32_t>(parent));
    }
    if (!good || !reader.done())
      return fail(ErrorCode::format, "[verify] the checkpoint {} is cut short", options_.checkpoint);
    depth_ = static_cast<std::int64_t>(depth);
    return {};
  }

  const ProductTask& task_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::unique_ptr<LetterKernel> kernel_;
  std::optional<std::int64_t> most_depth_;
  std::size_t words_;
  ProductMemory limit_;
  NodeTable nodes_;
  std::int64_t letters_, depth_ = 0;
  std::string fingerprint_;
  std::uint64_t expanded_ = 0, level_end_ = 0, edges_ = 0;
  ProductOutcome outcome_;
};

}  // namespace

ProductMemory product_memory(std::size_t words, std::uint64_t bytes, bool checkpoint) {
  // A table at most half full doubles, and while it does both are there. A checkpoint is written, and
  // read, as a whole.
  const auto needed = [&](std::uint64_t nodes) {
    const std::uint64_t slots = std::max(kFirstSlots, std::bit_ceil(2 * nodes));
    const std::uint64_t blocks = (nodes + kNodeBlock - 1) / kNodeBlock;
    return edges_at_once(words, bytes) * edge_bytes(words) + blocks * kNodeBlock * (8 * words + 4) +
           slots * 4 + std::max(slots / 2 * 4, checkpoint ? nodes * (words + 1) * 8 : 0);
  };
  std::uint64_t low = 1, high = kNoNode - 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (needed(middle) <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return {low, needed(low)};
}

ProductMemory product_memory(const Target& target, const ProductTask& task, const SearchOptions& options) {
  return product_memory(make_letter_kernel(target, task.letters, task_bits_of(task))->code().words(),
                        options.memory_bytes, !options.checkpoint.empty());
}

ProductGraph product_graph(const Target& target, const ProductTask& task) {
  const int task_bits = task_bits_of(task);
  auto kernel = make_letter_kernel(target, task.letters, task_bits);
  std::vector<std::uint64_t> start = kernel->empty();
  if (task.begin) {
    const auto first = make_letter_kernel(target, {*task.begin}, task_bits);
    RUNG_REQUIRE(first->code().words() == start.size(), "two kernels of one model differ");
    std::vector<std::uint64_t> after(start.size());
    std::int64_t answer = 0;
    first->read(start.data(), 1, after.data(), &answer);
    start = std::move(after);
  }
  kernel->code().put(kernel->task_place(), task.start, start.data());
  return {std::move(kernel), std::move(start)};
}

Result<ProductOutcome> search_product(const Target& target, const ProductTask& task,
                                      const SearchOptions& options, std::optional<std::int64_t> most_depth) {
  ProductGraph graph = product_graph(target, task);
  return ProductSearch(target, task, options, std::move(graph.kernel), most_depth).run(graph.start);
}

}  // namespace rung
