#include <algorithm>

#include "rung/base/nearest_word.h"
#include "rung/constructions/construction.h"

// The explicit list: a construction is added by adding its file, which defines ConstructionWord
// NAME_construction(), and its line here.
#define RUNG_CONSTRUCTION_LIST(CONSTRUCTION) \
  CONSTRUCTION(eva)                          \
  CONSTRUCTION(retrieval)                    \
  CONSTRUCTION(two_sum)                      \
  CONSTRUCTION(two_sum_exists)               \
  CONSTRUCTION(seqcomp)                      \
  CONSTRUCTION(equality)                     \
  CONSTRUCTION(disjointness)                 \
  CONSTRUCTION(counting)                     \
  CONSTRUCTION(dyck)                         \
  CONSTRUCTION(index)                        \
  CONSTRUCTION(mqar)                         \
  CONSTRUCTION(cgram)                        \
  CONSTRUCTION(nearest)                      \
  CONSTRUCTION(sparse_average)               \
  CONSTRUCTION(parity)                       \
  CONSTRUCTION(modulo)                       \
  CONSTRUCTION(group)                        \
  CONSTRUCTION(flipflop)                     \
  CONSTRUCTION(automaton)                    \
  CONSTRUCTION(tracked_recall)

namespace rung {

#define RUNG_DECLARE_CONSTRUCTION(name) ConstructionWord name##_construction();
RUNG_CONSTRUCTION_LIST(RUNG_DECLARE_CONSTRUCTION)

std::span<const ConstructionWord> construction_words() {
#define RUNG_CALL_CONSTRUCTION(name) name##_construction(),
  static const std::vector<ConstructionWord> words = {RUNG_CONSTRUCTION_LIST(RUNG_CALL_CONSTRUCTION)};
  return words;
}

Result<const ConstructionWord*> find_construction_word(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& word : construction_words()) {
    if (word.name == name) return &word;
    names.push_back(word.name);
  }
  return fail(ErrorCode::parse, "[build] unknown construction {}; {}", rung::quoted(name),
              suggest(name, names));
}

std::string ConstructionRequest::option(const std::string& wanted, const std::string& fallback) const {
  const auto found = options.find(wanted);
  return found == options.end() ? fallback : found->second;
}

Result<Construction> build_construction(const ConstructionRequest& request) {
  RUNG_TRY(const ConstructionWord* word, find_construction_word(request.name));
  std::vector<std::string_view> names;
  for (const auto& option : word->options) names.push_back(option.name);
  for (const auto& [name, value] : request.options) {
    const auto option = std::find_if(word->options.begin(), word->options.end(),
                                     [&wanted = name](const auto& known) { return known.name == wanted; });
    if (option == word->options.end())
      return fail(ErrorCode::parse, "[build] {} has no option `{}`{}{}", word->name, name,
                  names.empty() ? "" : "; ", names.empty() ? std::string() : suggest(name, names));
    if (!option->words.empty() &&
        std::find(option->words.begin(), option->words.end(), value) == option->words.end())
      return fail(ErrorCode::parse, "[build] unknown `{}` {} of {}; {}", name, rung::quoted(value),
                  word->name, suggest(value, option->words));
  }
  if (request.precision && (*request.precision < 2 || *request.precision > 48))
    return fail(ErrorCode::range, "[build] precision {}; 2 to 48 bits, or auto, expected",
                *request.precision);
  return word->build(request);
}

Result<Construction> finish_construction(ModelWriter& model, std::shared_ptr<const Task> task,
                                         std::string claim, std::string reference) {
  Construction made;
  RUNG_TRY(made.weights, model.finish());
  made.weights.notes["claim"] = claim;
  made.weights.notes["reference"] = reference;
  made.slots = model.layout().slots();
  made.task = std::move(task);
  made.claim = std::move(claim);
  made.reference = std::move(reference);
  made.mlp = model.mlp_cost();
  made.paper_mlp = made.mlp.depth == 0 ? "none" : "one arbitrary position-wise function a layer";
  return made;
}

}  // namespace rung
