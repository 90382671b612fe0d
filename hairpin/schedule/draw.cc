#include "hairpin/schedule/draw.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace hairpin::schedule {
namespace {

constexpr double kLabelWidth = 150, kWidth = 1400, kRow = 26, kBar = 20, kTop = 40;
constexpr double kLetter = 6.5;  // pixels, about

const char* colour_of(Bar::What what) {
  switch (what) {
    case Bar::What::forward: return "#7fb3d5";
    case Bar::What::backward: return "#f0b27a";
    case Bar::What::weights: return "#a9d18e";
    case Bar::What::transfer: return "#c3a6d8";
  }
  return "#cccccc";
}

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) {
    switch (c) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += c;
    }
  }
  return made;
}

std::string draw_bar(const Bar& bar, double y, double scale) {
  const double x = kLabelWidth + bar.start * scale, width = (bar.end - bar.start) * scale;
  const std::string name = escaped(bar.name);
  std::string made = fmt::format(
      "<g><title>{}: {:g} to {:g}, slack {:g}</title>"
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:g}\" fill=\"{}\" "
      "stroke=\"{}\"/>",
      name, bar.start, bar.end, bar.slack, x, y, width, kBar, colour_of(bar.what),
      bar.critical ? "#c0392b" : "#ffffff");
  if (kLetter * static_cast<double>(bar.name.size()) < width)
    made += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>", x + 2, y + 14, name);
  return made + "</g>\n";
}

}  // namespace

std::string svg_of(const Timeline& timeline) {
  const double scale = timeline.end > 0 ? kWidth / timeline.end : 0;
  const double height = kTop + kRow * static_cast<double>(timeline.lanes.size()) + 10;
  std::string made = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
      "viewBox=\"0 0 {0:g} {1:g}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"8\" y=\"20\" font-size=\"14\">{2}, {3:g} in all; outlined: the critical "
      "path</text>\n",
      kLabelWidth + kWidth + 10, height, escaped(timeline.title), timeline.end);
  double y = kTop;
  for (const Lane& lane : timeline.lanes) {
    made += fmt::format("<text x=\"8\" y=\"{:.2f}\">{}</text>\n", y + 14, escaped(lane.name));
    for (const Bar& bar : lane.bars) made += draw_bar(bar, y, scale);
    y += kRow;
  }
  return made + "</svg>\n";
}

std::string html_of(const Timeline& timeline) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta "
      "charset=\"utf-8\"><title>{}</title></head>\n"
      "<body>\n{}</body>\n</html>\n",
      escaped(timeline.title), svg_of(timeline));
}

std::string trace_of(const Timeline& timeline) {
  auto events = nlohmann::ordered_json::array();
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", lane},
                      {"args", {{"name", timeline.lanes[lane].name}}}});
    for (const Bar& bar : timeline.lanes[lane].bars)
      events.push_back({{"name", bar.name},
                        {"cat", bar.what == Bar::What::transfer ? "link" : "op"},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", lane},
                        {"ts", bar.start},
                        {"dur", bar.end - bar.start},
                        {"args", {{"slack", bar.slack}, {"critical", bar.critical}}}});
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace hairpin::schedule
