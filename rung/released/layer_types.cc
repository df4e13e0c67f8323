#include "rung/released/layer_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "rung/base/json_text.h"
#include "rung/released/released.h"

namespace rung {
namespace {

using Document = nlohmann::ordered_json;

// The object that describes the text model: the document, or its text_config.
Document& text_model(Document& document) {
  const auto inner = document.find("text_config");
  return inner != document.end() && inner->is_object() ? *inner : document;
}

Result<Stack> stack_of(const Document& document) {
  RUNG_TRY(const ReleasedModel model, read_config(document.dump(), {}));
  return model.architecture.stack;
}

}  // namespace

Result<std::string> with_layer_types(const std::string& json, const Stack& stack) {
  RUNG_TRY([[maybe_unused]] const auto checked, parse_json(json, "config"));
  Document document = Document::parse(json, nullptr, false);
  if (document.is_discarded()) document = Document(checked);  // bare NaN and Infinity are null there
  RUNG_TRY(const Stack before, stack_of(document));
  Document& model = text_model(document);
  std::string field;
  for (const char* name : {"layer_types", "layers_block_type"})
    if (field.empty() && model.contains(name) && model[name].is_array()) field = name;
  if (field.empty())
    return fail(ErrorCode::unsupported,
                "[config] the file has no list layer_types or layers_block_type that another layout could be "
                "written to");
  const Document words = model[field];
  if (words.size() < before.layers.size())
    return fail(ErrorCode::unsupported, "[config] {} has {} words for {} layers; expected one a layer", field,
                words.size(), before.layers.size());
  std::vector<std::pair<Mixer, Document>> known;
  for (std::size_t i = 0; i < before.layers.size(); ++i)
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto& one) { return one.first == before.layers[i]; }))
      known.emplace_back(before.layers[i], words[i]);
  Document list = Document::array();
  for (const Mixer& mixer : stack.layers) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == mixer; });
    if (found == known.end())
      return fail(ErrorCode::unsupported, "[config] {} has no word for {}", field, format_mixer(mixer));
    list.push_back(found->second);
  }
  model[field] = std::move(list);
  model["num_hidden_layers"] = stack.layers.size();
  // A period says the same a second time; it goes where it no longer does.
  if (!stack_of(document) || *stack_of(document) != stack)
    for (const char* name : {"full_attention_interval", "sliding_window_pattern"}) model.erase(name);
  RUNG_TRY(const Stack after, stack_of(document));
  if (after != stack)
    return fail(ErrorCode::unsupported, "[config] the family does not read this layout back from {}", field);
  return document.dump(2) + "\n";
}

}  // namespace rung
