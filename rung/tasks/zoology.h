// MQAR as Zoology draws it (Arora et al. 2312.04927, github.com/HazyResearch/zoology, multiquery_ar): n different keys
// with n different values, then length - 2n tokens in which every key is asked for once, in its drawn order, at the
// even places 2n + 2g. The gaps g are drawn one after another without repetition, g with weight (g+1)^(power-1): with
// the usual power, 0.01, most questions come soon; with power 1 they are spread evenly.
//
// Tokens: 0 is blank, 1 … V/2-1 are keys, V/2 … V-1 values. What stands between the questions is drawn evenly from all
// V tokens (also keys: only the labels say what is asked), or blank. The distribution is theirs; the numbers of an
// instance are ours, a function of sizes, seed and index alone.
#pragma once

#include <cstdint>

#include "rung/tasks/gap_law.h"
#include "rung/tasks/task.h"

namespace rung {

class ZoologyMqar {
 public:
  struct Sizes {
    std::int64_t pairs = 8, length = 64, vocabulary = 8192;
    double power = 0.01;
    bool blank = false;  // 0 between the questions in place of random tokens
  };
  // ENSURES: refused are an odd length, fewer than 4 tokens a pair, a vocabulary not larger than the length or without
  // enough keys, powers outside (0, 1].
  static Result<ZoologyMqar> make(const Sizes& sizes);

  const Sizes& sizes() const { return sizes_; }
  // One label a position: the value at a question, kNotAsked elsewhere.
  Instance generate(std::uint64_t seed, std::uint64_t index) const;

 private:
  explicit ZoologyMqar(const Sizes& sizes);
  Sizes sizes_;
  GapLaw law_;
};

}  // namespace rung
