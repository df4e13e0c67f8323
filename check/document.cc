#include "check/document.h"

#include <openssl/evp.h>

#include <nlohmann/json.hpp>

namespace rung_check {
namespace {

constexpr int kDeepestDocument = 16;

}  // namespace

Json parse_json(const std::string& content, const std::string& where) {
  std::vector<std::set<std::string>> open;  // the names seen so far in every object that is still open
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth > kDeepestDocument) throw Malformed(text(where, " nests deeper than ", kDeepestDocument));
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.get<std::string>()).second)
      throw Malformed(text(where, " has the member \"", value.get<std::string>(), "\" twice"));
    if (event == Event::value && value.is_number()) {
      if (!value.is_number_integer())
        throw Malformed(text(where, " has the number ", value.dump(), "; whole ones are expected"));
      const bool large = value.is_number_unsigned()
                             ? value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestNumber)
                             : value.get<std::int64_t>() < -kLargestNumber;
      if (large) throw Malformed(text(where, " has the number ", value.dump(), ", beyond 2^62"));
    }
    return true;
  };
  try {
    return Json::parse(content, watch);
  } catch (const Json::exception& error) {
    std::string reason = error.what();
    if (reason.size() > 200) reason = reason.substr(0, 200) + "...";
    for (auto& c : reason)
      if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
    throw Malformed(text(where, " is no JSON: ", reason));
  }
}

Members::Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.is_object()) throw Malformed(text(where_, " is not an object"));
}
bool Members::has(const std::string& name) const { return object_.contains(name); }
const Json& Members::take(const std::string& name) {
  const auto found = object_.find(name);
  if (found == object_.end()) throw Malformed(text(where_, " has no member \"", name, "\""));
  taken_.insert(name);
  return *found;
}
std::int64_t Members::number(const std::string& name, std::int64_t low, std::int64_t high) {
  const Json& value = take(name);
  if (!value.is_number_integer()) throw Malformed(text(where_, ": \"", name, "\" is not a whole number"));
  const auto number = value.get<std::int64_t>();
  if (number < low || number > high)
    throw Malformed(text(where_, ": \"", name, "\" is ", number, "; ", low, " to ", high, " expected"));
  return number;
}
std::string Members::word(const std::string& name) {
  const Json& value = take(name);
  if (!value.is_string()) throw Malformed(text(where_, ": \"", name, "\" is not a string"));
  return value.get<std::string>();
}
Row Members::numbers(const std::string& name) {
  return numbers_of(take(name), text(where_, ": \"", name, "\""));
}
Members Members::object(const std::string& name) { return Members(take(name), text(where_, ".", name)); }
void Members::done() const {
  for (const auto& [name, value] : object_.items())
    if (!taken_.contains(name)) throw Malformed(text(where_, " has the unknown member \"", name, "\""));
}

Row numbers_of(const Json& array, const std::string& where) {
  if (!array.is_array()) throw Malformed(text(where, " is not an array of numbers"));
  Row numbers;
  numbers.reserve(array.size());
  for (const auto& entry : array) {
    if (!entry.is_number_integer())
      throw Malformed(text(where, " holds something that is not a whole number"));
    numbers.push_back(entry.get<std::int64_t>());
  }
  return numbers;
}

namespace {

std::string hexadecimal_of(const unsigned char* digest, unsigned length) {
  std::string hexadecimal;
  for (unsigned i = 0; i < length; ++i) {
    hexadecimal += "0123456789abcdef"[digest[i] >> 4];
    hexadecimal += "0123456789abcdef"[digest[i] & 15];
  }
  return hexadecimal;
}

EVP_MD_CTX* hash_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

std::string sha256(const std::string& bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.hexadecimal();
}

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(hash_of(context_), EVP_sha256(), nullptr) != 1)
    throw OutOfResources("SHA-256 is not available");
}
Digest::~Digest() { EVP_MD_CTX_free(hash_of(context_)); }
void Digest::add(const std::string& bytes) {
  if (EVP_DigestUpdate(hash_of(context_), bytes.data(), bytes.size()) != 1)
    throw OutOfResources("SHA-256 is not available");
}
std::string Digest::hexadecimal() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_DigestFinal_ex(hash_of(context_), digest, &length) != 1)
    throw OutOfResources("SHA-256 is not available");
  return hexadecimal_of(digest, length);
}

}  // namespace rung_check
