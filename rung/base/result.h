// Result<T>: the second of the three kinds of error, the outside world (a file, a parse, a user's number).
// A message is one line: [operation] what was wrong, where, what was expected.
//   Result<Stack> r = parse_stack(text);
//   if (!r) return r.error();
//   use(*r);
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "rung/base/require.h"

namespace rung {

// The closed list. Every code but `resource` and `io` is bad input (exit code 2); so are those two on the
// command line, but a caller may want to retry them.
enum class ErrorCode {
  parse,        // text that does not follow its grammar
  range,        // a number outside its domain, sizes that do not fit each other
  format,       // a file whose structure contradicts its format document
  io,           // the file system said no
  unsupported,  // well formed, understood, and not something rung can do
  missing,      // information that must not be guessed
  resource,     // too large for the stated limits
};

struct Error {
  ErrorCode code = ErrorCode::parse;
  std::string message;
};

// fail(ErrorCode::range, "[task] n = {} is below 1", n)
template <class... Args>
[[nodiscard]] Error fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, fmt::format(text, std::forward<Args>(args)...)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  // REQUIRES ok().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    RUNG_REQUIRE(ok(), "{}", std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  const T& value() const {
    RUNG_REQUIRE(ok(), "{}", std::get<1>(state_).message);
    return std::get<0>(state_);
  }

  // REQUIRES !ok().
  const Error& error() const {
    RUNG_REQUIRE(!ok(), "error() of a good result");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  const Error& error() const {
    RUNG_REQUIRE(!ok(), "error() of a good result");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace rung

#define RUNG_CONCAT_INNER(a, b) a##b
#define RUNG_CONCAT(a, b) RUNG_CONCAT_INNER(a, b)
// RUNG_TRY(auto stack, parse_stack(text)): declares stack, or returns the error from the enclosing function.
#define RUNG_TRY(declaration, expression)                                                 \
  auto RUNG_CONCAT(rung_try_, __LINE__) = (expression);                                   \
  if (!RUNG_CONCAT(rung_try_, __LINE__)) return RUNG_CONCAT(rung_try_, __LINE__).error(); \
  declaration = std::move(*RUNG_CONCAT(rung_try_, __LINE__))
// RUNG_CHECK(write(...)): the same for Result<void>.
#define RUNG_CHECK(expression)                                                     \
  do {                                                                             \
    if (auto rung_check_ = (expression); !rung_check_) return rung_check_.error(); \
  } while (false)
