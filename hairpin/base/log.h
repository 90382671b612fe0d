// Log lines for people, on standard error: time, level, text. Thread-safe.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace hairpin::log {

enum class Level { debug, info, warning, error };

void set_level(Level level);        // default: info
void set_site(std::string_view s);  // "edge", "cloud" or "": a word before each line
void write(Level level, std::string_view line);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hairpin::log
