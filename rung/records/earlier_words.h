// Documents of earlier versions, brought to the words of today before they are read (docs/formats.md lists them): of 0.1.0
// one function a format. What is of another shape is left for the reader to refuse.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::string_view kFirstHierarchySchema = "rung.hierarchy/1",
                                  kFirstResultsSchema = "rung.results/1";

// A JSON object, bounded as parse_json bounds it. Errors: "`where`: ...".
Result<nlohmann::ordered_json> parse_document(const std::string& text, const std::string& where);
// Its field "schema"; empty where that is no text.
std::string schema_of(const nlohmann::ordered_json& document);

void translate_hierarchy(nlohmann::ordered_json& document);
void translate_results(nlohmann::ordered_json& document);
// Every `arch` and `architecture` of a document, wherever it stands, says its forms: rung 0.2 and earlier left out the plain ones.
void spell_forms(nlohmann::ordered_json& document);
// The text of a plan that rung wrote, as plan_text writes it today; what is no plan stays as it is.
std::string translate_plan(const std::string& text);

}  // namespace rung
