// Tasks by name and sizes, beside the kernel's description of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rung/learn/kernels/instance_draw.h"

namespace rung::kernels {

struct InstanceCase {
  std::string name;
  std::map<std::string, std::int64_t> sizes;
  InstanceTask task;
  std::map<std::string, std::string> options = {};
};

// Parity, the sum modulo 3 and a flip-flop of two values, written out.
inline constexpr std::uint32_t kParityNext[] = {0, 1, 1, 0}, kModuloNext[] = {0, 1, 2, 1, 2, 0, 2, 0, 1},
                               kFlipflopNext[] = {0, 0, 1, 1, 0, 1};
inline constexpr std::int64_t kStateAnswers[] = {0, 1, 2};
// Gaps of power 1: all places weigh the same.
inline constexpr std::uint64_t kEvenGaps[] = {1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32,
                                              1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32};

inline std::vector<InstanceCase> instance_cases() {
  using enum InstanceKind;
  return {
      {"eva", {{"n", 1}}, {.kind = evaluation, .n = 1, .sigma = 1}},
      {"eva", {{"n", 33}}, {.kind = evaluation, .n = 33, .sigma = 33}},
      {"index", {{"n", 20}, {"sigma", 3}}, {.kind = evaluation, .n = 20, .sigma = 3}},
      {"mqar", {{"n", 8}}, {.kind = mqar, .n = 8, .sigma = 8, .keys = 16, .queries = 8}},
      {"mqar",
       {{"n", 8}, {"M", 64}, {"sigma", 5}, {"queries", 3}},
       {.kind = mqar, .n = 8, .sigma = 5, .keys = 64, .queries = 3}},
      {"mqar",
       {{"n", 12}, {"M", 4}, {"sigma", 9}, {"queries", 20}},
       {.kind = mqar, .n = 12, .sigma = 9, .keys = 4, .queries = 20}},
      {"mqar",
       {{"n", 5}, {"M", 5}, {"sigma", 1}, {"queries", 1}},
       {.kind = mqar, .n = 5, .sigma = 1, .keys = 5, .queries = 1}},
      {"mqar",
       {{"n", 5}, {"M", 6}, {"sigma", 40}, {"queries", 9}},
       {.kind = gapped_mqar, .n = 5, .sigma = 40, .keys = 6, .queries = 9, .gap_weights = kEvenGaps},
       {{"gaps", "1"}}},
      {"mqar",
       {{"n", 3}, {"M", 50}, {"sigma", 3}, {"queries", 3}},
       {.kind = gapped_mqar, .n = 3, .sigma = 3, .keys = 50, .queries = 3, .gap_weights = kEvenGaps},
       {{"gaps", "1"}}},
      {"eva", {{"n", 33}}, {.kind = evaluation, .n = 33, .sigma = 33, .variant = InstanceVariant::zipf}},
      {"eva",
       {{"n", 16}},
       {.kind = evaluation, .n = 16, .sigma = 16, .variant = InstanceVariant::permutation}},
      {"index",
       {{"n", 7}, {"sigma", 60}},
       {.kind = evaluation, .n = 7, .sigma = 60, .variant = InstanceVariant::permutation}},
      {"index",
       {{"n", 20}, {"sigma", 1}},
       {.kind = evaluation, .n = 20, .sigma = 1, .variant = InstanceVariant::zipf}},
      {"khop", {{"n", 1}, {"k", 1}, {"sigma", 1}}, {.kind = khop, .n = 1, .sigma = 1, .hops = 1}},
      {"khop", {{"n", 41}, {"k", 3}, {"sigma", 5}}, {.kind = khop, .n = 41, .sigma = 5, .hops = 3}},
      {"khop",
       {{"n", 100}, {"k", 16}, {"sigma", 4}},
       {.kind = khop, .n = 100, .sigma = 4, .hops = 16, .everywhere = true},
       {{"read", "all"}}},
      {"khop",
       {{"n", 100}, {"k", 16}, {"sigma", 4}},
       {.kind = khop, .n = 100, .sigma = 4, .hops = 16, .everywhere = true, .different = true},
       {{"read", "all"}, {"neighbours", "different"}}},
      {"khop",
       {{"n", 9}, {"k", 2}, {"sigma", 2}},
       {.kind = khop, .n = 9, .sigma = 2, .hops = 2, .different = true},
       {{"neighbours", "different"}}},
      {"khop",
       {{"n", 30}, {"k", 2}, {"sigma", 1}},
       {.kind = khop, .n = 30, .sigma = 1, .hops = 2, .everywhere = true},
       {{"read", "all"}}},
      {"two-sum", {{"n", 16}}, {.kind = two_sum, .n = 16, .modulus = 33}},
      {"two-sum", {{"n", 3}, {"M", 1}}, {.kind = two_sum, .n = 3, .modulus = 1}},
      {"two-sum", {{"n", 9}, {"M", 2}}, {.kind = two_sum, .n = 9, .modulus = 2}},
      {"seqcomp", {{"L", 1}, {"m", 4}}, {.kind = seqcomp, .levels = 1, .domain = {4}}},
      {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, {.kind = seqcomp, .levels = 2, .domain = {3, 6}}},
      {"seqcomp",
       {{"L", 4}, {"m", 2}, {"n1", 3}, {"n2", 1}, {"n3", 2}},
       {.kind = seqcomp, .levels = 4, .domain = {2, 6, 6, 12}}},
      {"seqcomp",
       {{"L", 1}, {"m", 4}},
       {.kind = seqcomp_easy, .levels = 1, .domain = {4}},
       {{"order", "easy"}}},
      {"seqcomp",
       {{"L", 4}, {"m", 2}, {"n1", 3}, {"n2", 1}, {"n3", 2}},
       {.kind = seqcomp_easy, .levels = 4, .domain = {2, 6, 6, 12}},
       {{"order", "easy"}}},
      {"parity", {{"n", 1}}, {.kind = automaton, .n = 1, .automaton = {2, 2, 0, kParityNext, kStateAnswers}}},
      {"parity",
       {{"n", 500}},
       {.kind = automaton, .n = 500, .automaton = {2, 2, 0, kParityNext, kStateAnswers, true}},
       {{"read", "all"}}},
      {"modulo",
       {{"n", 17}},
       {.kind = automaton, .n = 17, .automaton = {3, 3, 0, kModuloNext, kStateAnswers}}},
      {"flipflop",
       {{"n", 9}},
       {.kind = automaton, .n = 9, .automaton = {3, 2, 0, kFlipflopNext, kStateAnswers, true}},
       {{"read", "all"}}},
      {"copy", {{"n", 7}, {"sigma", 3}}, {.kind = copy, .n = 7, .sigma = 3, .places = 7}},
      {"selective-copy",
       {{"n", 6}, {"m", 11}},
       {.kind = copy, .n = 6, .sigma = 4, .places = 11, .selective = true}},
      {"selective-copy",
       {{"n", 5}, {"m", 40}, {"sigma", 2}},
       {.kind = copy, .n = 5, .sigma = 2, .places = 40, .selective = true}},
      {"tracked-recall",
       {{"n", 6}, {"sigma", 3}, {"w", 9}},
       {.kind = tracked_recall, .n = 6, .sigma = 3, .mark = {MarkLetters::exchanges, 6, 9}}},
      {"tracked-recall",
       {{"n", 5}, {"w", 30}},
       {.kind = tracked_recall, .n = 5, .sigma = 5, .mark = {MarkLetters::rotation, 2, 30}},
       {{"group", "cyclic"}}},
      {"tracked-recall",
       {{"n", 8}, {"w", 12}},
       {.kind = tracked_recall, .n = 8, .sigma = 8, .mark = {MarkLetters::bits, 4, 12}},
       {{"group", "xor"}}},
  };
}

}  // namespace rung::kernels
