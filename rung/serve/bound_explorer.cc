#include "rung/serve/bound_explorer.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "rung/base/nearest_word.h"

namespace rung::serve {
namespace {

Result<std::int64_t> whole_number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorCode::parse, "[serve] {} = {}; expected a whole number", name, rung::quoted(text));
  return value;
}

Result<bool> yes_or_no(const std::string& name, const std::string& text) {
  if (text == "1" || text == "true" || text.empty()) return true;
  if (text == "0" || text == "false") return false;
  return fail(ErrorCode::parse, "[serve] {} = {}; expected 1 or 0", name, rung::quoted(text));
}

// One string for one question: parameters are sorted by name, and neither a name nor a value holds a control
// character.
std::string key_of(const Parameters& parameters, const std::string& document) {
  std::string key;
  for (const auto& [name, value] : parameters) key += name + '\x1f' + value + '\x1e';
  return key + '\x1d' + document;
}

}  // namespace

Result<BoundQuery> read_query(const Parameters& parameters) {
  BoundQuery query;
  ArchitectureChoice& a = query.architecture;
  a.most_layers = kMostLayersServed;
  const std::pair<std::string_view, std::string*> words[] = {{"arch", &a.line}, {"task", &query.task}};
  const std::pair<std::string_view, std::optional<std::string>*> texts[] = {{"norm", &a.norm},
                                                                            {"position", &a.position},
                                                                            {"precision", &a.precision},
                                                                            {"state-dtype", &a.state_dtype},
                                                                            {"conv-dtype", &a.conv_dtype},
                                                                            {"cache-dtype", &a.cache_dtype}};
  const std::pair<std::string_view, std::optional<std::int64_t>*> numbers[] = {
      {"width", &a.width},       {"heads", &a.heads},         {"kv-heads", &a.kv_heads},
      {"head-dim", &a.head_dim}, {"value-dim", &a.value_dim}, {"state", &a.state},
      {"context", &a.context},   {"acc-bits", &a.acc_bits},   {"sum-bits", &query.sum_bits}};
  const std::pair<std::string_view, bool*> switches[] = {{"encoder", &a.encoder},
                                                         {"assume-defaults", &a.assume_defaults},
                                                         {"cot", &query.chain_of_thought},
                                                         {"assume-exact", &query.assume_exact}};
  const auto is_size = [](std::string_view name) {
    for (const auto& word : task_words())
      for (const auto& size : word.sizes)
        if (size.name == name) return true;
    return false;
  };
  const auto is_option = [](std::string_view name) {
    for (const auto& word : task_words())
      for (const auto& option : word.options)
        if (option.name == name) return true;
    return false;
  };
  const auto place_of = [](auto& list, std::string_view name) {
    for (auto& [known, place] : list)
      if (known == name) return place;
    return decltype(list[0].second){nullptr};
  };
  for (const auto& [name, value] : parameters) {
    if (auto* word = place_of(words, name)) {
      *word = value;
    } else if (auto* text = place_of(texts, name)) {
      *text = value;
    } else if (auto* number = place_of(numbers, name)) {
      RUNG_TRY(*number, whole_number(name, value));
    } else if (auto* flag = place_of(switches, name)) {
      RUNG_TRY(*flag, yes_or_no(name, value));
    } else if (is_size(name)) {
      RUNG_TRY(query.sizes[name], whole_number(name, value));
    } else if (is_option(name)) {
      query.form.options[name] = value;
    } else if (name == "variant") {
      RUNG_TRY(query.form.variant, parse_variant(value));
    } else {
      std::vector<std::string_view> known;
      for (const auto& [n, place] : words) known.push_back(n);
      for (const auto& [n, place] : texts) known.push_back(n);
      for (const auto& [n, place] : numbers) known.push_back(n);
      for (const auto& [n, place] : switches) known.push_back(n);
      return fail(ErrorCode::parse, "[serve] unknown parameter {}; {}", rung::quoted(name),
                  suggest(name, known));
    }
  }
  // Nobody names a file of this machine: neither a task of one's own nor the table of a group.
  Parameters words_given = query.form.options;
  words_given["task"] = query.task;
  for (const auto& [name, word] : words_given)
    if (word.find_first_of("/\\.") != std::string::npos)
      return fail(ErrorCode::parse, "[serve] {} = {} is a file; expected a word", name, rung::quoted(word));
  return query;
}

ResponseCache::Text BoundExplorer::recall(const Parameters& parameters, const std::string& document) {
  return memory_.find(key_of(parameters, document));
}

Result<ResponseCache::Text> BoundExplorer::find_out(const Parameters& parameters,
                                                    const std::string& document) {
  const std::string key = key_of(parameters, document);
  if (auto known = memory_.find(key)) return known;  // somebody else asked meanwhile
  RUNG_TRY(const BoundQuery query, read_query(parameters));
  if (query.architecture.line.empty() && document.empty())
    return fail(ErrorCode::missing,
                "[bound] no architecture; expected arch=linear+full*2, or a config.json as the body");
  if (!query.architecture.line.empty() && !document.empty())
    return fail(ErrorCode::parse, "[bound] both arch and a document; expected one of them");
  const auto choose = [&](const ArchitectureChoice& shape) {
    return document.empty() ? shape.choose_line() : shape.choose_document(document);
  };
  RUNG_TRY(const ChosenArchitecture chosen, choose(query.architecture));
  RUNG_CHECK(check_sizes_used(query.architecture, "bound", {.observed = bound_observes, .choose = choose}));
  RUNG_TRY(const BoundReport report, answer_query(query, chosen));
  auto text = std::make_shared<const std::string>(bound_document(report).dump(2) + "\n");
  memory_.keep(key, text);
  return ResponseCache::Text(text);
}

}  // namespace rung::serve
