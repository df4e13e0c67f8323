// The four ways out of the checker, and what a run may cost.
//
// Nothing returns "verified": a check that fails throws, and only main() prints the word, after verify() has
// come to its end. Every exception has its own exit code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rung_check {

using Row = std::vector<std::int64_t>;

struct Rejected : std::runtime_error {  // exit 1: the claim does not hold
  using std::runtime_error::runtime_error;
};
struct Malformed
    : std::runtime_error {  // exit 2: certificate, model or command line are not what the pages say
  using std::runtime_error::runtime_error;
};
struct OutOfResources : std::runtime_error {  // exit 3: beyond the limits of the page
  using std::runtime_error::runtime_error;
};

// The one way in which a claim fails.
inline void holds(bool condition, const std::string& otherwise) {
  if (!condition) throw Rejected(otherwise);
}

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// begin .. end - 1
inline Row from_to(std::int64_t begin, std::int64_t end) {
  Row all(at(std::max<std::int64_t>(end - begin, 0)));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "1 layer", "12 layers"
template <class Count>
std::string plural(Count count, const char* noun) {
  return text(count, " ", noun, count == 1 ? "" : "s");
}

inline constexpr std::int64_t kLargestNumber = std::int64_t{1} << 62;  // of a certificate, in absolute value
inline constexpr std::uint64_t kDefaultWork = 1'000'000'000'000;       // multiply-adds
inline constexpr std::uint64_t kMostNumbers = std::uint64_t{1}
                                              << 28;  // held at once: weights, rows, caches, states
inline constexpr std::uint64_t kLongestPrompt = std::uint64_t{1} << 24;

// What a comparison of a sort and a multiply-add of intervals cost, in multiply-adds of integers: rounded up,
// so that a limit on multiply-adds is one on time.
inline constexpr std::uint64_t kPerComparison = 4, kPerInterval = 16;

// Work is charged before it is done; numbers before they are stored.
class Budget {
 public:
  explicit Budget(std::uint64_t work_limit = kDefaultWork) : limit_(work_limit) {}
  void work(std::uint64_t multiply_adds) {
    if (multiply_adds > limit_ - work_)
      throw OutOfResources(text("more than ", limit_, " multiply-adds; a larger --limit allows more"));
    work_ += multiply_adds;
  }
  // Putting n numbers in order, or looking up n of them in a tree.
  void sorting(std::uint64_t n) {
    std::uint64_t lg = 1;
    while (lg < 64 && n >> lg > 0) ++lg;
    work(kPerComparison * lg * n);
  }
  void store(std::uint64_t numbers) {
    if (numbers > kMostNumbers - stored_)
      throw OutOfResources(text("more than ", kMostNumbers, " numbers to hold"));
    stored_ += numbers;
  }
  void release_to(std::uint64_t stored) { stored_ = stored; }
  std::uint64_t worked() const { return work_; }
  std::uint64_t stored() const { return stored_; }

 private:
  std::uint64_t limit_, work_ = 0, stored_ = 0;
};

}  // namespace rung_check
