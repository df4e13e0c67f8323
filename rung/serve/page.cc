#include "rung/serve/page.h"

#include <nlohmann/json.hpp>

namespace rung::serve {

Result<std::string> live_document(const PageSources&) {
  return nlohmann::ordered_json{{"schema", "rung.report/1"}, {"live", true}, {"hierarchy", nullptr}, {"lab", nlohmann::ordered_json::array()}}.dump() + "\n";
}

Result<std::string> live_page(const PageSources&) {
  return std::string(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>rung</title>\n<h1>rung</h1>\n"
      "<p>Ask <code>/api/bound?arch=full%2Blinear&amp;context=4096</code>.</p></html>\n");
}

}  // namespace rung::serve
