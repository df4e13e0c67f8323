// Strict JSON: a name that comes twice, a number with a fraction or an exponent, a number outside ±2^62,
// nesting deeper than 16 and a member that nobody asked for are all malformed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "check/verdict.h"

namespace rung_check {

using Json = nlohmann::json;

// `where` begins the message of what is wrong.
Json parse_json(const std::string& content, const std::string& where);

// One object of a document. Its members are taken by name; done() asks that none is left over.
class Members {
 public:
  Members(const Json& object, std::string where);
  bool has(const std::string& name) const;
  const Json& take(const std::string& name);
  std::int64_t number(const std::string& name, std::int64_t low = -kLargestNumber,
                      std::int64_t high = kLargestNumber);
  std::string word(const std::string& name);
  Row numbers(const std::string& name);
  Members object(const std::string& name);
  void done() const;
  const std::string& where() const { return where_; }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> taken_;
};

Row numbers_of(const Json& array, const std::string& where);

std::string sha256(const std::string& bytes);  // lower-case hexadecimal

// The same of what comes piece by piece.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  void add(const std::string& bytes);
  std::string hexadecimal();  // once, at the end

 private:
  void* context_;
};

}  // namespace rung_check
