// Every construction in every form, as `rung build` takes it: the rows of the matrix `construction × size ×
// p`, of the cost comparison, of the failures of one thing less, of the comparison with torch, and of the
// page docs/constructions.md.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string>
#include <vector>

#include "rung/constructions/construction.h"

namespace rung {

struct Form {
  std::string name;  // for people: "seqcomp_early"
  std::vector<std::string>
      lines;  // "seqcomp --L 2 --m 2 --n1 2 --pattern RFF": one a size, the smallest first
};
inline void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

// The request of a line. A word without a value is a switch.
inline ConstructionRequest request_of_line(const std::string& line) {
  std::istringstream words(line);
  ConstructionRequest request;
  words >> request.name;
  std::string flag, value;
  while (words >> flag) {
    flag = flag.substr(2);
    if (flag == "encoder" || flag == "cot") {
      request.options[flag] = "yes";
      continue;
    }
    words >> value;
    if (flag != "block" && flag != "rows" && value.find_first_not_of("0123456789") == std::string::npos)
      request.sizes[flag] = std::stoll(value);
    else
      request.options[flag] = value;
  }
  return request;
}

inline const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"eva", {"eva --n 3", "eva --n 8", "eva --n 64", "eva --n 1000"}},
      {"eva_linear", {"eva --n 4 --by linear", "eva --n 10 --by linear", "eva --n 64 --by linear"}},
      {"eva_linear_rows",
       {"eva --n 4 --by linear --rows 1", "eva --n 10 --by linear --rows 4",
        "eva --n 9 --by loglinear --rows 1"}},
      {"eva_loglinear",
       {"eva --n 4 --by loglinear", "eva --n 10 --by loglinear", "eva --n 64 --by loglinear"}},
      {"eva_delta", {"eva --n 4 --by delta", "eva --n 10 --by delta", "eva --n 64 --by delta"}},
      {"eva_mamba2", {"eva --n 4 --by mamba2", "eva --n 10 --by mamba2", "eva --n 64 --by mamba2"}},
      {"eva_sparse", {"eva --n 5 --by sparse", "eva --n 64 --by sparse", "eva --n 200 --by sparse"}},
      {"retrieval",
       {"retrieval --n 2", "retrieval --n 20 --D 9 --sigma 5", "retrieval --n 100 --D 20 --sigma 1000"}},
      {"two_sum_threshold", {"two-sum --n 3 --M 5", "two-sum --n 16", "two-sum --n 64 --M 300"}},
      {"two_sum_counting",
       {"two-sum --n 3 --M 5 --blank counting", "two-sum --n 16 --blank counting",
        "two-sum --n 64 --M 300 --blank counting"}},
      {"two_sum_binary",
       {"two-sum --n 3 --M 5 --by binary", "two-sum --n 16 --by binary",
        "two-sum --n 64 --M 300 --by binary"}},
      {"two_sum_sparse",
       {"two-sum --n 4 --M 5 --by sparse", "two-sum --n 17 --M 40 --by sparse --block 4",
        "two-sum --n 64 --by sparse"}},
      {"two_sum_exists",
       {"two-sum-exists --n 4 --M 5", "two-sum-exists --n 12", "two-sum-exists --n 20 --M 50"}},
      {"seqcomp_full",
       {"seqcomp --L 2 --m 2 --n1 2", "seqcomp --L 1 --m 9", "seqcomp --L 3 --m 5 --n1 3 --n2 2"}},
      {"seqcomp_early",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern RFF", "seqcomp --L 1 --m 9 --pattern RF",
        "seqcomp --L 3 --m 5 --n1 3 --n2 2 --pattern RFFF"}},
      {"seqcomp_serial",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern FFFF", "seqcomp --L 3 --m 3 --n1 2 --n2 2 --pattern FFFFFF"}},
      {"seqcomp_columns",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern RFF --carry columns",
        "seqcomp --L 2 --m 2 --n1 2 --pattern FRF --carry columns --feature elu1 --normalised yes",
        "seqcomp --L 3 --m 3 --n1 2 --n2 2 --pattern RFFF --carry columns --feature elu1 --normalised yes"}},
      {"seqcomp_carriers",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern RFF --feature exp --normalised yes",
        "seqcomp --L 2 --m 2 --n1 2 --pattern FRF --feature elu1",
        "seqcomp --L 3 --m 3 --n1 2 --n2 2 --pattern RFF --carry columns --feature relu --normalised yes"}},
      {"seqcomp_late",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern FRF", "seqcomp --L 1 --m 9 --pattern FR",
        "seqcomp --L 3 --m 5 --n1 3 --n2 2 --pattern FRFF"}},
      {"seqcomp_precomposed",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern FF", "seqcomp --L 2 --m 7 --n1 5 --pattern FF"}},
      {"seqcomp_precomposed_early",
       {"seqcomp --L 3 --m 2 --n1 1 --n2 2 --pattern RFF",
        "seqcomp --L 3 --m 4 --n1 2 --n2 3 --pattern RFF"}},
      {"seqcomp_absorbed",
       {"seqcomp --L 2 --m 2 --n1 2 --pattern RRF", "seqcomp --L 2 --m 11 --n1 3 --pattern RRF",
        "seqcomp --L 2 --m 5 --n1 2 --pattern RRR"}},
      {"seqcomp_encoder",
       {"seqcomp --L 2 --m 2 --n1 2 --encoder", "seqcomp --L 1 --m 9 --encoder",
        "seqcomp --L 3 --m 3 --n1 2 --n2 2 --encoder"}},
      {"seqcomp_thought",
       {"seqcomp --L 2 --m 2 --n1 2 --cot", "seqcomp --L 1 --m 9 --cot",
        "seqcomp --L 3 --m 5 --n1 3 --n2 2 --cot"}},
      {"equality", {"equality --n 4", "equality --n 40"}},
      {"disjointness", {"disjointness --n 4", "disjointness --n 40"}},
      {"counting", {"counting --n 4 --sigma 3", "counting --n 30"}},
      {"dyck", {"dyck --n 6 --k 2 --depth 2", "dyck --n 30 --k 1 --depth 7", "dyck --n 60 --k 3 --depth 4"}},
      {"index_full", {"index --n 5 --sigma 3", "index --n 60 --sigma 7"}},
      {"index_positions", {"index --n 5 --sigma 3 --by positions", "index --n 60 --sigma 70 --by positions"}},
      {"index_linear", {"index --n 5 --sigma 3 --by linear", "index --n 60 --sigma 70 --by linear"}},
      {"index_thought", {"index --n 5 --sigma 3 --by cot", "index --n 60 --sigma 7 --by cot"}},
      {"mqar", {"mqar --n 2 --queries 2", "mqar --n 12 --queries 3"}},
      {"cgram", {"cgram --n 6 --c 3 --sigma 2", "cgram --n 24"}},
      {"nearest_softmax",
       {"nearest --n 2 --margin 128 --by softmax", "nearest --n 12 --margin 128 --by softmax"}},
      {"nearest_thresholds",
       {"nearest --n 2 --d 2 --margin 16 --by thresholds", "nearest --n 12 --by thresholds"}},
      {"sparse_average", {"sparse-average --n 3 --q 2 --f 0", "sparse-average --n 24 --q 3 --d 2"}},
      {"sparse_average_last",
       {"sparse-average --n 3 --q 2 --f 0 --read last", "sparse-average --n 24 --q 3 --d 2 --read last"}},
  };
  return all;
}

}  // namespace rung
