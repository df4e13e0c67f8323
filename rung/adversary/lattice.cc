// Claim: where the state is Σ_i (u_i + f(i) κ_i), a vector c with Σ c_i κ_i = 0 and |c_i| <= σ-1 gives f =
// max(c, 0) and g = max(-c, 0) with equal states. Such c are short vectors of the kernel lattice of κ, which
// LLL or BKZ finds up to about (lg σ)² / (4 lg δ) key bits, δ the reduction's root Hermite factor: far beyond
// any birthday.
//
// The basis has rows (e_i, W κ_i), and for sums modulo 2^b also (0, W 2^b e_j); W is so large that a reduced
// vector is zero there. About sqrt(D b / lg δ) positions are best for D entries of b bits. fplll reduces; its
// output is taken as a guess and verified by the exact machine.
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rung/adversary/additive_state.h"
#include "rung/adversary/search_clock.h"

#ifdef RUNG_HAS_FPLLL
#include <fplll.h>
#endif

namespace rung {
namespace {

#ifdef RUNG_HAS_FPLLL
constexpr double kLgHermiteLll = 0.031;     // lg of LLL's root Hermite factor, measured on such lattices
constexpr int kBlockSizes[] = {0, 10, 20};  // 0: LLL alone
constexpr double kScaleBits = 24;           // W = 2^kScaleBits: entries of short vectors stay far below it
#endif
constexpr std::size_t kLatticeMostRows = 4096;

// κ_i, entry after entry, where every row v of slot i adds v times the same vector to the slot's row 0.
struct LinearValues {
  std::int64_t numbers = 0;
  std::int64_t rows = 0;                        // σ, of every slot
  std::vector<std::vector<std::int64_t>> keys;  // by slot
  int key_bits = 0;                             // of the largest entry, sign included
  std::vector<std::int64_t> live;               // entries that are not zero everywhere
};

std::optional<LinearValues> linear_values(const AdditiveState& state, std::string& reason) {
  LinearValues values{state.numbers, 0, {}, 0, {}};
  const auto reduce = [&](std::int64_t x) {
    if (!state.wraps || state.bits >= 63) return x;
    const int unused = 64 - state.bits;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused;
  };
  std::int64_t largest = 0;
  std::vector<char> live(static_cast<std::size_t>(state.numbers), 0);
  for (std::size_t slot = 0; slot < state.terms.size(); ++slot) {
    const auto rows = static_cast<std::int64_t>(state.terms[slot].size()) / state.numbers;
    values.rows = values.rows == 0 ? rows : std::min(values.rows, rows);
    std::vector<std::int64_t> key(static_cast<std::size_t>(state.numbers));
    for (std::int64_t i = 0; i < state.numbers; ++i) {
      key[static_cast<std::size_t>(i)] = reduce(state.term(slot, 1)[i] - state.term(slot, 0)[i]);
      largest = std::max(largest, std::abs(key[static_cast<std::size_t>(i)]));
      live[static_cast<std::size_t>(i)] |= key[static_cast<std::size_t>(i)] != 0;
    }
    for (std::int64_t v = 2; v < rows; ++v)
      for (std::int64_t i = 0; i < state.numbers; ++i)
        if (reduce(state.term(slot, static_cast<std::size_t>(v))[i] - state.term(slot, 0)[i] -
                   v * key[static_cast<std::size_t>(i)]) != 0) {
          reason =
              fmt::format("values are not linear: value {} at token {} is not {} times value 1", v, slot, v);
          return std::nullopt;
        }
    values.keys.push_back(std::move(key));
  }
  for (std::int64_t i = 0; i < state.numbers; ++i)
    if (live[static_cast<std::size_t>(i)]) values.live.push_back(i);
  values.key_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest))) + 1;
  return values;
}

Fitness fitness(const Target& target) {
#ifndef RUNG_HAS_FPLLL
  (void)target;
  return {false, "this build has no fplll (Debian package libfplll-dev)", 0};
#else
  if (const auto reason = not_additive(target)) return {false, *reason, 0};
  auto kernel = make_state_kernel(target, *beginnings(*target.task, kLatticeMostRows));
  if (!kernel || !(*kernel)->restarts())
    return {false, "this layer has no kernel that restarts from a state", 0};
  std::string reason;
  const auto values = linear_values(additive_state(target, **kernel), reason);
  if (!values) return {false, reason, 0};
  const double bits = static_cast<double>(values->live.size()) * values->key_bits,
               lg_sigma = std::log2(static_cast<double>(values->rows));
  const double reach = lg_sigma * lg_sigma / (4 * kLgHermiteLll);
  // A reduction costs as much as some 2^24 evaluations of a short prompt; out of LLL's reach it gets expensive
  // quickly.
  return {
      true,
      fmt::format(
          "an additive state with linear values, {:.0f} key bits (LLL reaches about {:.0f} with {} values)",
          bits, reach, values->rows),
      bits <= reach ? 24 : 24 + (bits - reach) / 16};
#endif
}

#ifdef RUNG_HAS_FPLLL
class LatticeSearch {
 public:
  LatticeSearch(const Target& target, const SearchOptions& options, std::unique_ptr<StateKernel> kernel)
      : target_(target),
        clock_(options),
        kernel_(std::move(kernel)),
        state_(additive_state(target, *kernel_)) {
    std::string reason;
    auto values = linear_values(state_, reason);
    RUNG_REQUIRE(values.has_value(), "{}", reason);
    values_ = std::move(*values);
  }

  Result<AttackOutcome> run() {
    AttackOutcome outcome{.method = "lattice", .nominal_bits = target_.nominal_bits};
    const auto slots = static_cast<std::int64_t>(values_.keys.size());
    const auto entries = static_cast<std::int64_t>(values_.live.size());
    const double bits = static_cast<double>(entries) *
                        (state_.wraps ? std::min(values_.key_bits, state_.bits) : values_.key_bits);
    outcome.details["key_bits"] = fmt::format("{:.0f}", bits);
    const std::int64_t wanted =
        std::max<std::int64_t>(entries + 2, std::llround(std::sqrt(bits / kLgHermiteLll)));
    positions_ = std::min(slots, wanted);
    outcome.details["positions"] = std::to_string(positions_);
    std::int64_t smallest = 0;
    fplll::ZZ_mat<mpz_t> basis = kernel_basis();
    for (const int block : kBlockSizes) {
      if (clock_.over()) break;
      clock_.report({reductions_, {}, 0, block == 0 ? "LLL" : fmt::format("BKZ-{}", block)});
      const int status = block == 0
                             ? fplll::lll_reduction(basis, fplll::LLL_DEF_DELTA, fplll::LLL_DEF_ETA,
                                                    fplll::LM_FAST, fplll::FT_DEFAULT)
                             : fplll::bkz_reduction(basis, block, fplll::BKZ_DEFAULT, fplll::FT_DOUBLE);
      if (status != fplll::RED_SUCCESS && block == 0 && fplll::lll_reduction(basis) != fplll::RED_SUCCESS)
        break;
      ++reductions_;
      RUNG_CHECK(read(basis, smallest, outcome));
      if (outcome.certificate) {
        outcome.details["reduction"] = block == 0 ? "LLL" : fmt::format("BKZ-{}", block);
        break;
      }
    }
    outcome.evaluations = reductions_;
    outcome.seconds = clock_.seconds();
    if (outcome.certificate) outcome.verdict = Evidence::refuted;
    outcome.reason =
        outcome.certificate
            ? fmt::format("a vector of {} positions with entries up to {} leaves the state unchanged",
                          positions_, smallest)
            : fmt::format("the shortest vector found has an entry of {}; at most {} is a value", smallest,
                          values_.rows - 1);
    return outcome;
  }

 private:
  fplll::ZZ_mat<mpz_t> kernel_basis() const {
    const auto entries = static_cast<std::int64_t>(values_.live.size());
    const std::int64_t extra = state_.wraps ? entries : 0;
    fplll::ZZ_mat<mpz_t> basis(static_cast<int>(positions_ + extra), static_cast<int>(positions_ + entries));
    const auto put = [&](std::int64_t row, std::int64_t col, std::int64_t value, double shift) {
      mpz_t& z = basis[static_cast<int>(row)][static_cast<int>(col)].get_data();
      mpz_set_si(z, value);
      mpz_mul_2exp(z, z, static_cast<mp_bitcnt_t>(shift));
    };
    for (std::int64_t i = 0; i < positions_; ++i) {
      put(i, i, 1, 0);
      for (std::int64_t j = 0; j < entries; ++j)
        put(i, positions_ + j,
            values_.keys[static_cast<std::size_t>(i)]
                        [static_cast<std::size_t>(values_.live[static_cast<std::size_t>(j)])],
            kScaleBits);
    }
    for (std::int64_t j = 0; j < extra; ++j) put(positions_ + j, positions_ + j, 1, kScaleBits + state_.bits);
    return basis;
  }

  // The first row that is zero behind the positions and small in front is a pair.
  Result<void> read(const fplll::ZZ_mat<mpz_t>& basis, std::int64_t& smallest, AttackOutcome& outcome) {
    for (int row = 0; row < basis.get_rows() && !outcome.certificate; ++row) {
      bool kernel = true;
      for (int col = static_cast<int>(positions_); col < basis.get_cols(); ++col)
        kernel = kernel && mpz_sgn(basis[row][col].get_data()) == 0;
      if (!kernel) continue;
      std::int64_t largest = 0;
      std::vector<std::uint16_t> one(static_cast<std::size_t>(positions_), 0), two(one.size(), 0);
      for (std::int64_t i = 0; i < positions_; ++i) {
        if (!mpz_fits_slong_p(basis[row][static_cast<int>(i)].get_data())) {
          largest = std::numeric_limits<std::int64_t>::max();
          break;
        }
        const long c = mpz_get_si(basis[row][static_cast<int>(i)].get_data());
        largest = std::max<std::int64_t>(largest, std::abs(c));
        if (std::abs(c) < values_.rows)
          (c > 0 ? one : two)[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(std::abs(c));
      }
      if (largest == 0) continue;
      smallest = smallest == 0 ? largest : std::min(smallest, largest);
      if (largest >= values_.rows) continue;
      RUNG_TRY(outcome.certificate,
               certify_beginnings(target_, kernel_->space().prefix(one), kernel_->space().prefix(two)));
    }
    return {};
  }

  const Target& target_;
  SearchClock clock_;
  std::unique_ptr<StateKernel> kernel_;
  AdditiveState state_;
  LinearValues values_;
  std::int64_t positions_ = 0;
  std::uint64_t reductions_ = 0;
};
#endif

Result<AttackOutcome> run([[maybe_unused]] const Target& target,
                          [[maybe_unused]] const SearchOptions& options) {
#ifdef RUNG_HAS_FPLLL
  RUNG_TRY(auto kernel, make_state_kernel(target, *beginnings(*target.task, kLatticeMostRows)));
  return LatticeSearch(target, options, std::move(kernel)).run();
#else
  return fail(ErrorCode::unsupported, "[break] this build has no fplll (Debian package libfplll-dev)");
#endif
}

}  // namespace

AttackMethod lattice_method() {
  return {"lattice", "collisions of an additive state with linear values, by lattice reduction", &fitness,
          &run, /*seeks_collision=*/true};
}

}  // namespace rung
