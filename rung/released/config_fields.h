// The fields of one configuration, with the class defaults behind them and the three ways to be absent:
// not in the file, null, or not in the class. Every field that a reader looks at is remembered, so that one
// that describes layers and was not looked at can be refused by name.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rung/released/released.h"

namespace rung {

class ConfigFields {
 public:
  // `defaults`: the class's literal defaults, null where the class is not known here. REQUIRES
  // object.is_object(), both outlive this.
  ConfigFields(std::string model_type, const nlohmann::json& object, const nlohmann::json* defaults,
               const ConfigOptions& options)
      : model_type_(std::move(model_type)), object_(object), defaults_(defaults), options_(options) {}

  using Names = std::initializer_list<std::string_view>;  // of one field: shipped files and classes differ

  // A number in 1..kMaxSize. From the file, else the class default (where that is allowed), else an error.
  Result<std::int64_t> size(Names names);
  Result<std::int64_t> size(std::string_view name) { return size({name}); }
  Result<std::int64_t> offset(std::string_view name);  // 0 is allowed
  // The same, with the value that the class's code computes where the field is null, "auto" or not in
  // the class.
  Result<std::int64_t> size_or(std::string_view name, std::int64_t computed);
  // In the file (not null), or absent. Class defaults are not asked.
  Result<std::optional<std::int64_t>> stated(std::string_view name) const;
  Result<std::int64_t> stated_count(std::string_view name) const;  // 0 when absent
  // A positive factor such as expand_v = 2.0 or expand = 2.
  Result<double> factor(Names names);
  Result<std::int64_t> scaled(std::string_view name, double factor,
                              std::int64_t base) const;  // base·factor, whole
  Result<bool> flag(std::string_view name, bool computed);
  Result<std::string> text(std::string_view name);
  std::optional<std::string> stated_text(std::string_view name) const;
  std::optional<bool> stated_flag(std::string_view name) const;
  Result<std::vector<std::string>> words(std::string_view name);
  Result<std::vector<std::int64_t>> numbers(std::string_view name, std::int64_t low, std::int64_t high);
  // One number for all layers, or a list of one a layer; `computed` for all where the field is absent.
  Result<std::vector<std::int64_t>> one_or_each(std::string_view name, std::int64_t layers,
                                                std::int64_t computed);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void passed_over(Names names) const {  // known, and of no consequence beside what was read
    for (const auto name : names) find(name);
  }
  // An object field with the same rules and no defaults. REQUIRES nothing; error when absent.
  Result<ConfigFields> object(std::string_view name);
  // The objects of a field that is one object or a list of them; none when absent.
  Result<std::vector<ConfigFields>> objects(std::string_view name);

  Result<std::int64_t> layers(std::string_view name = "num_hidden_layers");  // at most kMaxLayers
  Error disagree(std::string_view name, std::string_view other) const;  // two accounts of the same layers
  Result<void> same_length(std::string_view name, std::size_t length, std::int64_t layers) const;
  Result<std::int64_t> quotient(std::string_view what, std::int64_t large, std::string_view by,
                                std::int64_t small) const;

  // A field that was not looked at and describes layers, or stands in an object that does, is an error that
  // names it. REQUIRES that the reader of the family has run and found this many layers.
  Result<void> refuse_unread(std::size_t layers) const;
  bool was_read(std::string_view name) const;
  Error unknown(std::string_view name) const;  // of a field that describes layers

  void note(std::string text);
  Error missing(std::string_view name, std::string_view why) const;
  Error wrong(std::string_view name, std::string_view expected) const;
  Error refused(ErrorCode code, const std::string& what) const;

  const std::string& model_type() const { return model_type_; }
  std::vector<std::string> notes() const;  // with one line on the class defaults that were used

 private:
  const nlohmann::json* find(std::string_view name) const;  // in the file, not null
  ConfigFields inside(std::string_view name, const nlohmann::json& value) const;
  Result<const nlohmann::json*> value(Names names, bool optional);  // null: absent and allowed to be

  std::string model_type_;
  const nlohmann::json& object_;
  const nlohmann::json* defaults_;
  ConfigOptions options_;
  std::vector<std::string> notes_, used_defaults_;
  // The fields that were looked at, of this object and of those inside, which share the map.
  struct Read {
    std::string path;  // "linear_attn_config."; empty: the configuration itself
    std::set<std::string, std::less<>> names;
  };
  std::shared_ptr<std::map<const nlohmann::json*, Read>> read_ =
      std::make_shared<std::map<const nlohmann::json*, Read>>();
};

}  // namespace rung
