#include "rung/report/sweep_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rung::report {
namespace {

constexpr double kWide = 380, kHigh = 240, kLeft = 64, kTop = 34, kBelow = 44, kLegendLine = 18, kGap = 24;
constexpr const char* kColours[] = {"#1f5fa8", "#c2410c", "#2f7d32", "#7b3fa0", "#a06a00", "#00707a"};
constexpr int kTicks = 5;
constexpr std::size_t kLegendLetters = 52;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

// Whole characters of UTF-8, and a sign where something was left out.
std::string shortened(const std::string& text, std::size_t letters) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++seen > letters)
      return text.substr(0, i) + "…";
  return text;
}

struct Scale {
  double low, high;
  bool powers;  // of two
  double place(double value) const {
    if (powers) return (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low));
    return (value - low) / (high - low);
  }
};

// Numbers that double are shown as such: positive ones, the largest at least four times the least.
Scale x_scale(const SweepFigure& figure) {
  std::set<double> all;
  for (const auto& panel : figure.panels)
    for (const auto& line : panel.lines)
      for (const auto& point : line.points) all.insert(point.x);
  const double low = *all.begin(), high = *all.rbegin();
  if (low == high) return {low - 1, high + 1, false};
  return {low, high, low > 0 && high >= 4 * low};
}

Scale y_scale(const SweepFigure& figure) {
  double low = 0, high = 0;
  for (const auto& panel : figure.panels)
    for (const auto& line : panel.lines)
      for (const auto& point : line.points) {
        low = std::min(low, point.low);
        high = std::max({high, point.high, point.ceiling.value_or(0)});
      }
  if (figure.y == "accuracy") high = 1;
  return {low, high > low ? high : low + 1, false};
}

std::vector<double> x_ticks(const SweepFigure& figure, const Scale& scale) {
  std::set<double> all;
  for (const auto& panel : figure.panels)
    for (const auto& line : panel.lines)
      for (const auto& point : line.points) all.insert(point.x);
  std::vector<double> ticks;
  for (const double x : all)
    if (ticks.empty() || scale.place(x) - scale.place(ticks.back()) > 0.09) ticks.push_back(x);
  return ticks;
}

class Picture {
 public:
  explicit Picture(const SweepFigure& figure)
      : figure_(figure), x_(x_scale(figure)), y_(y_scale(figure)), ticks_(x_ticks(figure, x_)) {}

  std::string draw() {
    double left = kLeft, height = 0;
    for (const SweepPanel& panel : figure_.panels) {
      height = std::max(height, draw_panel(panel, left));
      left += kWide + kLeft + kGap;
    }
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
               "{0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" "
               "height=\"100%\" fill=\"white\"/>\n",
               left - kLeft, height) +
           out_ + "</svg>\n";
  }

 private:
  void text(double x, double y, const char* anchor, const std::string& words, const char* more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor,
                        more, escaped(words));
  }
  void stroke(double x1, double y1, double x2, double y2, const char* colour, const char* more = "") {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n",
                        x1, y1, x2, y2, colour, more);
  }
  double at_y(double value) const { return kTop + kHigh * (1 - y_.place(value)); }

  void axes(double left) {
    for (int i = 0; i <= kTicks; ++i) {
      const double value = y_.low + (y_.high - y_.low) * i / kTicks;
      stroke(left, at_y(value), left + kWide, at_y(value), i == 0 ? "#444" : "#ddd");
      text(left - 8, at_y(value) + 4, "end", fmt::format("{:.3g}", value));
    }
    for (const double x : ticks_)
      text(left + kWide * x_.place(x), kTop + kHigh + 18, "middle", fmt::format("{:.6g}", x));
    text(left + kWide / 2, kTop + kHigh + 36, "middle", figure_.x);
    text(left - kLeft + 14, kTop - 12, "start", figure_.y);
  }

  void curve(const std::vector<std::pair<double, double>>& points, const char* colour, const char* more) {
    if (points.size() < 2) return;
    out_ += "<polyline fill=\"none\" points=\"";
    for (const auto& [x, y] : points) out_ += fmt::format("{:.1f},{:.1f} ", x, y);
    out_.back() = '"';
    out_ += fmt::format(" stroke=\"{}\"{}/>\n", colour, more);
  }

  void marks(const SweepLine& line, double left, const char* colour) {
    std::vector<std::pair<double, double>> means;
    for (const SweepPoint& point : line.points) {
      const double x = left + kWide * x_.place(point.x);
      means.emplace_back(x, at_y(point.mean));
      if (point.low < point.high) {
        stroke(x, at_y(point.low), x, at_y(point.high), colour, " stroke-opacity=\"0.6\"");
        stroke(x - 3, at_y(point.low), x + 3, at_y(point.low), colour, " stroke-opacity=\"0.6\"");
        stroke(x - 3, at_y(point.high), x + 3, at_y(point.high), colour, " stroke-opacity=\"0.6\"");
      }
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x,
                          at_y(point.mean), colour);
      if (!point.label.empty())
        text(x + 5, at_y(point.mean) - 5, "start", point.label, " font-size=\"9\" fill=\"#555\"");
    }
    curve(means, colour, " stroke-width=\"1.6\"");
  }

  // The ceilings of one line, unless another line has the same.
  void ceiling(const SweepLine& line, double left, std::set<std::string>& drawn) {
    std::vector<std::pair<double, double>> ceilings;
    for (const SweepPoint& point : line.points)
      if (point.ceiling && *point.ceiling < 1)
        ceilings.emplace_back(left + kWide * x_.place(point.x), at_y(*point.ceiling));
    std::string places;
    for (const auto& [x, y] : ceilings) places += fmt::format("{:.1f},{:.1f} ", x, y);
    if (!places.empty() && drawn.insert(places).second) curve(ceilings, "#777", " stroke-dasharray=\"5 4\"");
  }

  double draw_panel(const SweepPanel& panel, double left) {
    axes(left);
    if (!panel.name.empty())
      text(left + kWide / 2, 16, "middle", shortened(figure_.panel + " = " + panel.name, kLegendLetters),
           " font-weight=\"bold\"");
    std::set<std::string> ceilings;
    double row = kTop + kHigh + kBelow + kLegendLine / 2;
    for (std::size_t i = 0; i < panel.lines.size(); ++i) {
      const SweepLine& line = panel.lines[i];
      const char* colour = kColours[i % std::size(kColours)];
      ceiling(line, left, ceilings);
      marks(line, left, colour);
      stroke(left, row, left + 18, row, colour, " stroke-width=\"2\"");
      text(left + 26, row + 4, "start", shortened(line.name.empty() ? figure_.y : line.name, kLegendLetters));
      row += kLegendLine;
    }
    if (!ceilings.empty()) {
      stroke(left, row, left + 18, row, "#777", " stroke-dasharray=\"5 4\"");
      text(left + 26, row + 4, "start", "ceiling: no weights are right more often");
      row += kLegendLine;
    }
    return row + 6;
  }

  const SweepFigure& figure_;
  Scale x_, y_;
  std::vector<double> ticks_;
  std::string out_;
};

}  // namespace

std::string sweep_svg(const SweepFigure& figure) { return Picture(figure).draw(); }

}  // namespace rung::report
