// Makes a `Field` of a pair of member pointers: how each C++ type of job.h is read from and written
// as a TOML value. Included by fields.cc alone.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hairpin/config/rule.h"

namespace hairpin::config {

// How a C++ type appears in TOML. `from` is empty when the value has another form.
template <class T>
struct Form {
  static std::string name() { return form_name(Value(T{})); }
  static std::optional<T> from(const Value& value) {
    const auto* held = std::get_if<T>(&value);
    return held ? std::optional<T>(*held) : std::nullopt;
  }
  static Value to(const T& value) { return value; }
};
template <>
struct Form<double> {  // a whole number is a number too
  static std::string name() { return "a number"; }
  static std::optional<double> from(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    const auto* held = std::get_if<double>(&value);
    return held ? std::optional<double>(*held) : std::nullopt;
  }
  static Value to(double value) { return value; }
};
template <>
struct Form<std::uint64_t> {  // a negative one comes out above every range of `between`
  static std::string name() { return "a whole number"; }
  static std::optional<std::uint64_t> from(const Value& value) {
    const auto* held = std::get_if<std::int64_t>(&value);
    return held ? std::optional(static_cast<std::uint64_t>(*held)) : std::nullopt;
  }
  static Value to(std::uint64_t value) { return static_cast<std::int64_t>(value); }
};
template <>
struct Form<std::filesystem::path> {
  static std::string name() { return "a path as a string"; }
  static std::optional<std::filesystem::path> from(const Value& value) {
    const auto* held = std::get_if<std::string>(&value);
    return held ? std::optional<std::filesystem::path>(*held) : std::nullopt;
  }
  static Value to(const std::filesystem::path& value) { return value.string(); }
};

// An optional table or key comes into being when it is written; null when it is read and is not.
template <class T>
T& writable(T& target) {
  return target;
}
template <class T>
T& writable(std::optional<T>& target) {
  return target ? *target : target.emplace();
}
template <class T>
const T* readable(const T& source) {
  return &source;
}
template <class T>
const T* readable(const std::optional<T>& source) {
  return source ? &*source : nullptr;
}

template <class T>
struct Unwrap {
  using type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
};

// `T` is the member's type, without optional.
template <class Table, class Owner, class Member>
Field bind_key(std::string table, std::string key, Table Job::* at, Member Owner::* member,
               Rule<typename Unwrap<Member>::type> rule, std::string meaning) {
  using T = typename Unwrap<Member>::type;
  const auto name = Form<T>::name();
  Field field{std::move(table),
              std::move(key),
              false,
              rule.words.empty() ? name : fmt::format("{}, {}", name, rule.words),
              std::move(meaning),
              {},
              {}};
  field.store = [=, check = std::move(rule.check)](const Value& value, Job& job) -> Complaint {
    const auto converted = Form<T>::from(value);
    if (!converted) return fmt::format("is {}; give {}", form_name(value), name);
    if (auto complaint = check(*converted)) return complaint;
    writable(writable(job.*at).*member) = *converted;
    return {};
  };
  field.value_in = [=](const Job& job) -> std::optional<Value> {
    const auto* owner = readable(job.*at);
    const T* held = owner ? readable(owner->*member) : nullptr;
    return held ? std::optional<Value>(Form<T>::to(*held)) : std::nullopt;
  };
  return field;
}

// An enum whose values 0, 1, ... are called `names` in that order.
template <class Table, class Owner, class Enum>
Field bind_enum(std::string table, std::string key, Table Job::* at, Enum Owner::* member,
                std::vector<std::string> names, std::string meaning) {
  const auto rule = one_of(names);
  Field field{std::move(table),
              std::move(key),
              false,
              fmt::format("a string, {}", rule.words),
              std::move(meaning),
              {},
              {}};
  field.store = [=](const Value& value, Job& job) -> Complaint {
    const auto* name = std::get_if<std::string>(&value);
    if (!name) return fmt::format("is {}; give a string, {}", form_name(value), rule.words);
    if (auto complaint = rule.check(*name)) return complaint;
    const auto index = std::find(names.begin(), names.end(), *name) - names.begin();
    writable(job.*at).*member = static_cast<Enum>(index);
    return {};
  };
  field.value_in = [=](const Job& job) -> std::optional<Value> {
    const auto* owner = readable(job.*at);
    if (!owner) return std::nullopt;
    return names.at(static_cast<std::size_t>(owner->*member));
  };
  return field;
}

inline Field required(Field field) {
  field.required = true;
  return field;
}

}  // namespace hairpin::config
