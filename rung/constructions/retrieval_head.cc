#include "rung/constructions/retrieval_head.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rung {
namespace {

// With so little beside the target every bit lies below 1/3 or above 2/3 before it is rounded, where
// restored() (relu_gadgets.h) decodes it:
// what floats need, whose outputs keep a fraction. Integers are content with less than 1.
constexpr double kRestoredLeak = 0.5;

// Σ_h C(D,h) E[-2βh] / E[0] over the `others` nearest codes.
double weight_of_others(int digits, int beta, const ScoreTable& scores, double others) {
  double weight = 0, choose = 1;
  for (int h = 1; h <= digits && others > 0; ++h) {
    choose = choose * (digits - h + 1) / h;
    const double count = std::min(choose, others);
    weight += count * static_cast<double>(scores.at(-2 * std::int64_t{beta} * h)) /
              static_cast<double>(scores.at(0));
    others -= count;
  }
  return weight;
}

}  // namespace

int digits_for(std::int64_t count) {
  RUNG_REQUIRE(count >= 1, "count={}", count);
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1))));
}

RetrievalGadget retrieval_gadget(int digits, std::int64_t keys, int precision) {
  RUNG_REQUIRE(digits >= 1 && digits <= 62 && precision >= 2 && precision <= 48, "D={} p={}", digits,
               precision);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);  // -2^(p-1) is the lowest score
  const std::int64_t saturation = std::min(widest, useful_saturation(keys, 1));
  RetrievalGadget best{digits, 0, score_table(saturation, 1, weight_fraction(keys, kWeightGuard)), 0};
  for (int beta = 1; beta < widest && beta <= saturation; ++beta) {
    const double delta = weight_of_others(digits, beta, best.scores, std::ldexp(1.0, digits));
    if (best.beta == 0 || delta < best.delta) best.beta = beta, best.delta = delta;
    if (delta < kRestoredLeak) break;
  }
  return best;
}

int retrieval_precision_proved(int digits, std::int64_t keys) {
  int p = 2;
  while (p < 48 && retrieval_gadget(digits, keys, p).delta >= 1) ++p;
  return p;
}

double retrieval_leak(const RetrievalGadget& gadget, std::int64_t keys) {
  return weight_of_others(gadget.digits, gadget.beta, gadget.scores, static_cast<double>(keys - 1));
}

std::string retrieval_mixer(const RetrievalGadget& gadget, const std::vector<RetrievalHead>& heads) {
  std::size_t values = 1;
  for (const auto& head : heads) values = std::max(values, head.values.size());
  return fmt::format("full(heads={},dim={},vdim={})", heads.size(), 2 * gadget.digits, values);
}

void write_retrieval(LayerWriter& layer, const RetrievalGadget& gadget,
                     const std::vector<RetrievalHead>& heads) {
  const std::int64_t D = gadget.digits;
  std::size_t values = 1;
  for (const auto& head : heads) values = std::max(values, head.values.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const RetrievalHead& head = heads[h];
    RUNG_REQUIRE(head.code.size == D && (head.constant || head.target.size == D) &&
                     head.values.size() == head.fetched.size(),
                 "head {} of {} digits", h, D);
    const auto first = static_cast<std::int64_t>(h) * 2 * D;
    const auto output = static_cast<std::int64_t>(h * values);
    layer.map("k").select(first, head.code, 1);
    if (!head.constant) layer.map("q").select(first, head.target, gadget.beta);
    for (std::int64_t d = 0; d < D; ++d) {
      layer.map("k").set(first + D + d, head.one.at(0), 1);
      layer.map("q").set(first + D + d, head.one.at(0), -gadget.beta);
      if (head.constant)
        layer.map("q").set(first + d, head.one.at(0), *head.constant >> d & 1 ? gadget.beta : -gadget.beta);
    }
    for (std::size_t i = 0; i < head.values.size(); ++i) {
      layer.map("v").set(output + static_cast<std::int64_t>(i), head.values[i], 1);
      layer.map("o").set(head.fetched[i], output + static_cast<std::int64_t>(i), 1);
    }
  }
  layer.scores(gadget.scores);
}

RetrievalHead read_at(const Slot& code, const Slot& one, std::int64_t position, const Slot& values,
                      const Slot& fetched) {
  RetrievalHead head{code, {}, one, coordinates(values), coordinates(fetched), position};
  const std::size_t size = std::min(head.values.size(), head.fetched.size());
  head.values.resize(size);
  head.fetched.resize(size);
  return head;
}

std::vector<std::int64_t> coordinates(const Slot& slot) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < slot.size; ++i) all.push_back(slot.at(i));
  return all;
}

std::vector<std::int64_t> signed_code(std::int64_t number, int digits) {
  std::vector<std::int64_t> code;
  for (int d = 0; d < digits; ++d) code.push_back(number >> d & 1 ? 1 : -1);
  return code;
}

}  // namespace rung
