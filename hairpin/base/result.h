// Failures that come from outside the program: a file, a job, a peer, a user's text.
//
// Such a failure is a value, `Result<T>`, whose message is one sentence a user can act on: what is
// wrong, where, and what to do. A broken invariant of our own is not an `Error`; see check.h.
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace hairpin {

// The process's exit code for each kind of failure (spec, section 13).
enum class ErrorKind {
  internal = 1,   // anything that is not one of the others
  bad_input = 2,  // bad configuration, file or data; nothing was written
  peer = 3,       // the peer refused or is wrong: certificate, contract, version, frames
  link_lost = 4,  // the link was down for longer than allowed
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

// return bad_input("{}: no such file; check model.path", path);
template <class... Args>
tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

template <class... Args>
tl::unexpected<Error> bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::bad_input, format, std::forward<Args>(args)...);
}

}  // namespace hairpin

// HAIRPIN_TRY(auto file, MappedFile::open(path));   declares `file` or returns the error
// HAIRPIN_CHECK_OK(writer.close());                 returns the error, if any
#define HAIRPIN_CONCAT_INNER(a, b) a##b
#define HAIRPIN_CONCAT(a, b) HAIRPIN_CONCAT_INNER(a, b)
#define HAIRPIN_TRY_IMPL(tmp, declaration, expression)              \
  auto tmp = (expression);                                          \
  if (!tmp) return ::tl::unexpected<::hairpin::Error>(tmp.error()); \
  declaration = std::move(*tmp)
#define HAIRPIN_TRY(declaration, expression) \
  HAIRPIN_TRY_IMPL(HAIRPIN_CONCAT(hairpin_try_, __LINE__), declaration, expression)
#define HAIRPIN_CHECK_OK(expression)                                            \
  do {                                                                          \
    if (auto hairpin_ok = (expression); !hairpin_ok)                            \
      return ::tl::unexpected<::hairpin::Error>(std::move(hairpin_ok).error()); \
  } while (false)
