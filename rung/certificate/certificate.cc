#include "rung/certificate/certificate.h"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "rung/base/staged_file.h"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

// Incremental, so that a model of gigabytes needs no copy of itself.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    RUNG_REQUIRE(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
                 "SHA-256 is not available");
  }
  void add(std::string_view bytes) {
    RUNG_REQUIRE(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "bytes={}", bytes.size());
  }
  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    RUNG_REQUIRE(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1, "digest");
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Json prompt_json(const Prompt& prompt, const std::vector<std::string>& names) {
  RUNG_REQUIRE(prompt.fields.size() == names.size(), "fields={} names={}", prompt.fields.size(),
               names.size());
  Json object = Json::object();
  for (std::size_t f = 0; f < names.size(); ++f) object[names[f]] = prompt.fields[f];
  return object;
}

Json prompts_json(const std::vector<Prompt>& prompts, const std::vector<std::string>& names) {
  Json array = Json::array();
  for (const auto& prompt : prompts) array.push_back(prompt_json(prompt, names));
  return array;
}

void add_pair(Json& claim, const EndAlike& pair, const std::vector<std::string>& names) {
  claim["first"] = prompt_json(pair.first, names);
  claim["second"] = prompt_json(pair.second, names);
  claim["position"] = pair.position;
  claim["activation"] = pair.activation;
  claim["answer"] = pair.answer;
  claim["first_answer"] = pair.first_answer;
  claim["second_answer"] = pair.second_answer;
  claim["label"] = pair.label == ClaimLabel::forced ? "forced" : "found";
}

struct ClaimWriter {
  const CertifiedTask& task;
  const std::vector<std::string>& names = task.field_names;

  Json operator()(const CollisionClaim& c) const {
    RUNG_REQUIRE(c.alphabet.has_value() == (c.pair.label == ClaimLabel::forced), "alphabet goes with forced");
    Json claim = Json::object();
    add_pair(claim, c.pair, names);
    claim["cut"] = c.cut;
    claim["states"] = c.states;
    claim["nominal_bits"] = c.nominal_bits;
    if (c.alphabet) claim["alphabet"] = *c.alphabet;
    return claim;
  }
  Json operator()(const SparsePairClaim& c) const {
    RUNG_REQUIRE(c.message_bits.has_value() == (c.pair.label == ClaimLabel::forced),
                 "message_bits goes with forced");
    Json claim = Json::object();
    add_pair(claim, c.pair, names);
    claim["block"] = c.block;
    claim["message"]["key"] = c.key;
    claim["message"]["value"] = c.value;
    claim["selected"] = c.selected;
    if (c.message_bits) claim["message_bits"] = *c.message_bits;
    if (c.values) claim["values"] = *c.values;
    return claim;
  }
  Json operator()(const FoolingPairClaim& c) const {
    RUNG_REQUIRE(c.proof.has_value() == (c.pair.label == ClaimLabel::forced), "proof goes with forced");
    Json claim = Json::object();
    add_pair(claim, c.pair, names);
    if (!c.proof) return claim;
    if (const auto* transcripts = std::get_if<FoolingPairClaim::Transcripts>(&*c.proof)) {
      claim["proof"]["T"] = transcripts->T;
      claim["proof"]["x0"] = transcripts->x0;
      claim["proof"]["y"] = transcripts->y;
    } else {
      claim["proof"]["partial_bits"] = std::get<FoolingPairClaim::PartialSums>(*c.proof).bits;
    }
    return claim;
  }
  Json operator()(const WrongAnswerClaim& c) const {
    Json claim = Json::object();
    claim["prompt"] = prompt_json(c.prompt, names);
    claim["position"] = c.position;
    claim["answer"] = c.answer;
    claim["expected"] = c.expected;
    return claim;
  }
  Json operator()(const ConstructionClaim& c) const {
    Json claim = Json::object();
    claim["checked"] = Json::array();
    for (const auto& set : c.checked) {
      Json entry = Json::object();
      if (std::holds_alternative<ConstructionClaim::All>(set)) {
        entry["mode"] = "all";
      } else if (const auto* walk = std::get_if<ConstructionClaim::Walk>(&set)) {
        entry["mode"] = "walk";
        entry["seed"] = walk->seed;
        entry["begin"] = walk->begin;
        entry["end"] = walk->end;
      } else {
        entry["mode"] = "listed";
        entry["prompts"] = prompts_json(std::get<std::vector<Prompt>>(set), names);
      }
      claim["checked"].push_back(std::move(entry));
    }
    claim["instances"] = c.instances;
    claim["digest"] = c.digest;
    return claim;
  }
  Json operator()(const CapacityClaim& c) const {
    Json claim = Json::object();
    claim["by"] = c.by_model ? "model" : "task";
    claim["cut"] = c.cut;
    claim["prefixes"] = prompts_json(c.prefixes, names);
    claim["suffixes"] = prompts_json(c.suffixes, names);
    claim["classes"] = c.prefixes.size();
    claim["digest"] = c.digest;
    return claim;
  }
  static Json automaton_json(const CertifiedAutomaton& a) {
    Json object = Json::object();
    object["letters"] = a.letters;
    if (a.begin) object["begin"] = *a.begin;
    object["start"] = a.start;
    object["next"] = a.next;
    object["answers"] = a.answers;
    return object;
  }
  Json operator()(const EveryLengthClaim& c) const {
    Json claim = Json::object();
    claim["automaton"] = automaton_json(c.automaton);
    claim["states"] = c.states;
    claim["edges"] = c.edges;
    claim["depth"] = c.depth;
    claim["digest"] = c.digest;
    return claim;
  }
  Json operator()(const WrongWordClaim& c) const {
    Json claim = Json::object();
    claim["automaton"] = automaton_json(c.automaton);
    claim["word"] = c.word;
    claim["answer"] = c.answer;
    claim["expected"] = c.expected;
    if (c.proof) {
      claim["proof"]["before"] = c.proof->before;
      claim["proof"]["word"] = c.proof->word;
      claim["proof"]["after"] = c.proof->after;
      claim["proof"]["letters"] = c.proof->letters;
    }
    return claim;
  }
};

bool numbers_only(const Json& value) {
  for (const auto& item : value)
    if (!item.is_number()) return false;
  return true;
}

// Objects over several lines, arrays of numbers on one: a certificate is read by people, too.
void print(const Json& value, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
  const bool object = value.is_object();
  if (!(object || (value.is_array() && !numbers_only(value))) || value.empty()) {
    out += value.dump();
    return;
  }
  out += object ? "{\n" : "[\n";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) out += ",\n";
    first = false;
    out += indent;
    if (object) out += fmt::format("{}: ", Json(key).dump());
    print(item, depth + 1, out);
  }
  out += fmt::format("\n{}{}", indent.substr(2), object ? '}' : ']');
}

}  // namespace

const EndAlike* claimed_pair(const Claim& claim) {
  if (const auto* c = std::get_if<CollisionClaim>(&claim)) return &c->pair;
  if (const auto* c = std::get_if<SparsePairClaim>(&claim)) return &c->pair;
  if (const auto* c = std::get_if<FoolingPairClaim>(&claim)) return &c->pair;
  return nullptr;
}

std::string_view claim_kind(const Claim& claim) {
  constexpr std::array<std::string_view, std::variant_size_v<Claim>> kNames = {
      "collision",    "sparse-pair", "fooling-pair", "wrong-answer",
      "construction", "capacity",    "every-length", "wrong-word"};
  return kNames[claim.index()];
}

std::string certificate_text(const Certificate& certificate) {
  Json document = Json::object();
  document["schema"] = kCertificateSchema;
  document["kind"] = claim_kind(certificate.claim);
  if (!certificate.model_sha256.empty()) document["model"]["sha256"] = certificate.model_sha256;
  document["task"]["name"] = certificate.task.name;
  document["task"]["size"] = certificate.task.size;
  document["task"]["options"] = Json::object();
  for (const auto& [name, word] : certificate.task.options) document["task"]["options"][name] = word;
  document["claim"] = std::visit(ClaimWriter{certificate.task}, certificate.claim);
  document["seal"] = sha256(nlohmann::json::parse(document.dump()).dump());  // members sorted, no white space
  document["notes"] = Json::object();
  for (const auto& [name, text] : certificate.notes) document["notes"][name] = text;
  std::string text;
  print(document, 0, text);
  return text + "\n";
}

std::string instance_line(const Prompt& prompt, const std::vector<std::int64_t>& answers) {
  std::string line;
  for (const auto& field : prompt.fields)
    for (const auto value : field) line += fmt::format("{} ", value);
  line += "->";
  for (const auto value : answers) line += fmt::format(" {}", value);
  return line + "\n";
}

bool InstanceList::add(const Prompt& prompt, const std::vector<std::int64_t>& answers) {
  std::string line = instance_line(prompt, answers);
  if (seen_.contains(line)) return false;
  lines_ += line;
  seen_.insert(std::move(line));
  return true;
}
std::string InstanceList::digest() const { return sha256(lines_); }

NodeDigest::NodeDigest() : hash_(new Sha256, [](void* hash) { delete static_cast<Sha256*>(hash); }) {}
void NodeDigest::add(const std::vector<std::vector<std::int64_t>>& memory, std::int64_t state) {
  std::string line;
  for (const auto& numbers : memory) {
    for (const auto number : numbers) line += std::to_string(number) + " ";
    line += "| ";
  }
  static_cast<Sha256*>(hash_.get())->add(line + std::to_string(state) + "\n");
}
std::string NodeDigest::hexadecimal() { return static_cast<Sha256*>(hash_.get())->hexadecimal(); }

Result<void> write_certificate(const std::string& path, const Certificate& certificate) {
  RUNG_TRY(auto file, StagedFile::open(path, /*replace=*/true));
  RUNG_CHECK(file.write(certificate_text(certificate)));
  return file.commit();
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hexadecimal();
}

Result<std::string> file_sha256(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return fail(ErrorCode::io, "[certificate] cannot read {}", path);
  Sha256 hash;
  std::vector<char> block(std::size_t{1} << 20);
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get()))
    hash.add({block.data(), got});
  if (std::ferror(file.get())) return fail(ErrorCode::io, "[certificate] reading {} failed", path);
  return hash.hexadecimal();
}

}  // namespace rung
