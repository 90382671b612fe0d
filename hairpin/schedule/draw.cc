#include "hairpin/schedule/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

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

// Of a timeline in microseconds the whole ones.
std::string number(const Timeline& timeline, double time) {
  return timeline.unit.empty() ? fmt::format("{:g}", time) : fmt::format("{:.0f}", time);
}

std::string tooltip(const Timeline& timeline, const Bar& bar) {
  const auto text = fmt::format("{}: {} to {}", escaped(bar.name), number(timeline, bar.start),
                                number(timeline, bar.end));
  return timeline.measured ? text : text + ", slack " + number(timeline, bar.slack);
}

std::string draw_bar(const Timeline& timeline, const Bar& bar, double y, double scale) {
  const double x = kLabelWidth + bar.start * scale, width = (bar.end - bar.start) * scale;
  std::string made = fmt::format(
      "<g><title>{}</title>"
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:g}\" fill=\"{}\" "
      "stroke=\"{}\"/>",
      tooltip(timeline, bar), x, y, width, kBar, colour_of(bar.what),
      bar.critical ? "#c0392b" : "#ffffff");
  if (kLetter * static_cast<double>(bar.name.size()) < width)
    made +=
        fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>", x + 2, y + 14, escaped(bar.name));
  return made + "</g>\n";
}

double height_of(const Timeline& timeline) {
  return kTop + kRow * static_cast<double>(timeline.lanes.size());
}

// From `top` on.
std::string draw(const Timeline& timeline, double top, double scale) {
  std::string made = fmt::format(
      "<text x=\"8\" y=\"{:g}\" font-size=\"14\">{}, {}{}{} in all{}</text>\n", top + 20,
      escaped(timeline.title), number(timeline, timeline.end), timeline.unit.empty() ? "" : " ",
      timeline.unit, timeline.measured ? "" : "; outlined: the critical path");
  double y = top + kTop;
  for (const Lane& lane : timeline.lanes) {
    made += fmt::format("<text x=\"8\" y=\"{:.2f}\">{}</text>\n", y + 14, escaped(lane.name));
    for (const Bar& bar : lane.bars) made += draw_bar(timeline, bar, y, scale);
    y += kRow;
  }
  return made;
}

std::string title_of(const std::vector<Timeline>& timelines) {
  return timelines.empty() ? std::string() : timelines.front().title;
}

void add_events(const Timeline& timeline, int process, nlohmann::ordered_json& events) {
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", lane},
                      {"args", {{"name", timeline.lanes[lane].name}}}});
    for (const Bar& bar : timeline.lanes[lane].bars) {
      auto arguments = nlohmann::ordered_json::object();
      if (!timeline.measured) arguments = {{"slack", bar.slack}, {"critical", bar.critical}};
      events.push_back({{"name", bar.name},
                        {"cat", bar.what == Bar::What::transfer ? "link" : "op"},
                        {"ph", "X"},
                        {"pid", process},
                        {"tid", lane},
                        {"ts", bar.start},
                        {"dur", bar.end - bar.start},
                        {"args", std::move(arguments)}});
    }
  }
}

std::string trace_text(nlohmann::ordered_json events) {
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace

std::string svg_of(const std::vector<Timeline>& timelines) {
  double end = 0, height = 10;
  for (const Timeline& timeline : timelines) {
    end = std::max(end, timeline.end);
    height += height_of(timeline);
  }
  std::string made = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
      "viewBox=\"0 0 {0:g} {1:g}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      kLabelWidth + kWidth + 10, height);
  double top = 0;
  for (const Timeline& timeline : timelines) {
    made += draw(timeline, top, end > 0 ? kWidth / end : 0);
    top += height_of(timeline);
  }
  return made + "</svg>\n";
}

std::string svg_of(const Timeline& timeline) { return svg_of(std::vector{timeline}); }

std::string html_of(const std::vector<Timeline>& timelines) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta "
      "charset=\"utf-8\"><title>{}</title></head>\n"
      "<body>\n{}</body>\n</html>\n",
      escaped(title_of(timelines)), svg_of(timelines));
}

std::string html_of(const Timeline& timeline) { return html_of(std::vector{timeline}); }

std::string trace_of(const Timeline& timeline) {
  auto events = nlohmann::ordered_json::array();
  add_events(timeline, 0, events);
  return trace_text(std::move(events));
}

std::string trace_of(const std::vector<Timeline>& timelines) {
  auto events = nlohmann::ordered_json::array();
  int process = 0;
  for (const Timeline& timeline : timelines) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", 0},
                      {"args", {{"name", timeline.title}}}});
    add_events(timeline, process++, events);
  }
  return trace_text(std::move(events));
}

}  // namespace hairpin::schedule
