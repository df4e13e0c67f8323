// docs/constructions.md shows every construction in every form: its console blocks are run by another test,
// this one asks that none is missing, and that the lines of the page speak of every coordinate of the row and
// of every layer.
#include <algorithm>
#include <fstream>

#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

constexpr std::string_view kPrompt = "$ rung build ", kFlag = " --explain";

std::vector<std::string> explained_lines() {
  std::ifstream page(std::string(RUNG_SOURCE_DIR) + "/docs/constructions.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with(kPrompt) && line.ends_with(kFlag))
      lines.push_back(line.substr(kPrompt.size(), line.size() - kPrompt.size() - kFlag.size()));
  return lines;
}

std::map<std::string, std::string> said(const ConstructionRequest& request) {
  auto options = request.options;
  options.erase("block");
  return options;
}

TEST(ConstructionsPage, shows_every_form) {
  const auto lines = explained_lines();
  for (const auto& form : forms())
    EXPECT_TRUE(std::any_of(form.lines.begin(), form.lines.end(), [&](const auto& own) {
      const auto wanted = request_of_line(own);
      return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
        const auto shown = request_of_line(line);
        const auto L = [](const ConstructionRequest& request) {
          return request.sizes.contains("L") ? request.sizes.at("L") : 0;
        };
        return shown.name == wanted.name && said(shown) == said(wanted) && L(shown) == L(wanted);
      });
    })) << form.name;
}

TEST(ConstructionsPage, shows_every_word_and_option_of_the_list) {
  const auto lines = explained_lines();
  const auto shown = [&](std::string_view name, std::string_view option, std::string_view word) {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
      const auto request = request_of_line(line);
      const auto found = request.options.find(std::string(option));
      return request.name == name &&
             (option.empty() || (found != request.options.end() && found->second == word));
    });
  };
  for (const auto& word : construction_words()) {
    EXPECT_TRUE(shown(word.name, "", "")) << word.name;
    for (const auto& option : word.options)
      for (std::size_t i = 1; i < option.words.size(); ++i)  // the first is the default
        EXPECT_TRUE(shown(word.name, option.name, option.words[i]))
            << word.name << " --" << option.name << " " << option.words[i];
  }
}

// "name[3..5]: what it holds", one line a slot, without a gap; and one heading a layer.
TEST(ConstructionsPage, has_a_line_for_every_coordinate_and_layer) {
  for (const auto& line : explained_lines()) {
    const Construction made = built(request_of_line(line));
    std::istringstream layout(made.weights.notes.at("layout"));
    std::int64_t next = 0;
    for (std::string slot; std::getline(layout, slot);) {
      const auto open = slot.rfind('[', slot.find("]: ")), close = slot.find("]: ");
      ASSERT_NE(close, std::string::npos) << line << ": " << slot;
      const std::string range = slot.substr(open + 1, close - open - 1);
      const auto dots = range.find("..");
      EXPECT_EQ(std::stoll(range), next) << line << ": " << slot;
      next = std::stoll(dots == std::string::npos ? range : range.substr(dots + 2)) + 1;
      EXPECT_GT(slot.size(), close + 3) << line << ": " << slot << " holds nothing";
    }
    EXPECT_EQ(next, made.weights.architecture.dimensions.width) << line;
    const std::string& invariant = made.weights.notes.at("invariant");
    for (std::size_t l = 1; l <= made.weights.architecture.stack.layers.size(); ++l)
      EXPECT_NE(invariant.find(fmt::format("after layer {} ", l)), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace rung
