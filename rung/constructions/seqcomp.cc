// L-SeqComp: which construction a word of layers asks for.
#include <algorithm>

#include "rung/base/nearest_word.h"
#include "rung/constructions/seqcomp_rows.h"

namespace rung {
namespace {

Result<Construction> build_seqcomp(const ConstructionRequest& request) {
  RUNG_TRY(const SeqCompRows rows, SeqCompRows::make(request));
  const auto L = static_cast<std::size_t>(rows.levels());
  const bool encoder = request.option("encoder", "no") == "yes",
             thought = request.option("cot", "no") == "yes";
  const std::string word = request.option("pattern", "");
  for (const char* option : {"carry", "feature", "normalised"})
    if (request.options.contains(option) && word.find('R') == std::string::npos)
      return fail(ErrorCode::range, "[build] `{}` is about the recurrence; expected a `pattern` with R",
                  option);
  if (request.option("carry", "heads") == "columns" && word.find("RR") != std::string::npos)
    return fail(ErrorCode::unsupported,
                "[build] absorption carries with a head a number; expected carry heads");
  if (request.option("carry", "heads") == "columns" && request.option("feature", "relu") == "exp" && L >= 2)
    return fail(
        ErrorCode::unsupported,
        "[build] columns are told apart by 1, 2, 4, ..., which exp does not have; expected relu or elu1");
  if (encoder + thought + !word.empty() > 1)
    return fail(
        ErrorCode::range,
        "[build] `encoder`, `cot` and `pattern` name three forms of seqcomp; expected at most one of them");
  if (encoder) return build_seqcomp_encoder(rows, request);
  if (thought) return build_seqcomp_thought(rows, request);
  const std::size_t full = static_cast<std::size_t>(std::count(word.begin(), word.end(), 'F')),
                    recurrent = word.size() - full;
  if (word.find_first_not_of("FR") != std::string::npos)
    return fail(ErrorCode::parse, "[build] pattern {}; a word over F and R expected, such as RFF",
                rung::quoted(word));
  const std::string repeated(full, 'F');
  if (word.empty() || word == std::string(L + 1, 'F')) return build_seqcomp_full(rows, request);
  if (L >= 2 && word == std::string(2 * L, 'F')) return build_seqcomp_serial(rows, request);
  if (word == fmt::format("R{}", std::string(L, 'F'))) return build_seqcomp_collected(rows, request, false);
  if (word == fmt::format("FR{}", std::string(L - 1, 'F')))
    return build_seqcomp_collected(rows, request, true);
  if (L >= 2 && word == std::string(L, 'F')) return build_seqcomp_precomposed(rows, request, false);
  if (L >= 3 && word == fmt::format("R{}", std::string(L - 1, 'F')))
    return build_seqcomp_precomposed(rows, request, true);
  if (recurrent >= 2 && word == std::string(recurrent, 'R') + repeated && recurrent - 1 + full == L)
    return build_seqcomp_absorbed(rows, request, static_cast<std::int64_t>(recurrent) - 1);
  return fail(
      ErrorCode::unsupported,
      "[build] no construction for pattern {} at L = {}; expected F^{}, F^{} with one head, RF^{}, FRF^{}, "
      "pre-composed F^{}{}, or absorbed RRF^{}",
      word, L, L + 1, 2 * L, L, L - 1, L, L >= 3 ? fmt::format(" or RF^{}", L - 1) : "", L - 1);
}

}  // namespace

ConstructionWord seqcomp_construction() {
  return {.name = "seqcomp",
          .summary = "L functions composed: L+1 full layers, or the form that pattern, encoder or cot names",
          .task = "seqcomp",
          .options = {{"pattern", "seqcomp: a word over F and R, such as RFF", {}},
                      {"carry",
                       "how the recurrence carries its numbers: a head each, or a column each of one head",
                       {"heads", "columns"}},
                      {"feature", "feature map of the recurrence that carries", {"relu", "elu1", "exp"}},
                      {"normalised", "whether it divides by the sum of weights", {"no", "yes"}},
                      {"encoder", "bidirectional layers", {"no", "yes"}},
                      {"cot", "one layer and a chain of thought", {"no", "yes"}}},
          .build = build_seqcomp};
}

}  // namespace rung
