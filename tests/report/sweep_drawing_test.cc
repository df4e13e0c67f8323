// The picture of a sweep: every point once, ceilings that coincide once, nothing of a record as markup.
#include "rung/report/sweep_drawing.h"

#include <gtest/gtest.h>

namespace rung::report {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

SweepFigure drawn_figure() {
  SweepFigure figure{.x = "size.n", .y = "accuracy", .series = {"arch"}};
  figure.panels = {{.name = "", .lines = {{.name = "full"}, {.name = "linear"}, {.name = "delta"}}}};
  for (std::size_t line = 0; line < 3; ++line)
    for (const double n : {8.0, 16.0, 64.0})
      figure.panels[0].lines[line].points.push_back(
          {.x = n, .mean = 0.5, .low = 0.25, .high = 0.75, .count = 3, .label = line == 1 ? "C" : ""});
  return figure;
}

TEST(sweep_drawing, has_every_point_its_spread_and_its_label) {
  const std::string svg = sweep_svg(drawn_figure());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(occurrences(svg, "<circle "), 9U);
  EXPECT_EQ(occurrences(svg, "stroke-opacity"), 27U);
  EXPECT_EQ(occurrences(svg, ">C</text>"), 3U);
  EXPECT_EQ(occurrences(svg, "dasharray"), 0U);
}

TEST(sweep_drawing, draws_ceilings_that_coincide_once) {
  SweepFigure figure = drawn_figure();
  for (std::size_t line = 1; line < 3; ++line)
    for (SweepPoint& point : figure.panels[0].lines[line].points) point.ceiling = 4 / point.x;
  EXPECT_EQ(occurrences(sweep_svg(figure), "dasharray"), 2U);  // the line, and its sign in the legend
  figure.panels[0].lines[2].points[1].ceiling = 0.9;
  EXPECT_EQ(occurrences(sweep_svg(figure), "dasharray"), 3U);
}

TEST(sweep_drawing, takes_names_as_text_and_shortens_them_with_a_sign) {
  SweepFigure figure = drawn_figure();
  figure.panels[0].lines[0].name = "<script>&";
  figure.panels[0].lines[1].name = std::string(200, 'x');
  const std::string svg = sweep_svg(figure);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script>&amp;"), std::string::npos);
  EXPECT_NE(svg.find("xxx…</text>"), std::string::npos);
}

TEST(sweep_drawing, one_value_of_x_and_panels_are_drawn_too) {
  SweepFigure figure = drawn_figure();
  for (SweepLine& line : figure.panels[0].lines) line.points.resize(1);
  figure.panel = "task";
  figure.panels[0].name = "eva";
  figure.panels.push_back(figure.panels[0]);
  const std::string svg = sweep_svg(figure);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "task = eva"), 2U);
}

}  // namespace
}  // namespace rung::report
