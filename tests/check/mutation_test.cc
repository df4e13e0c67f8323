// Every field of every valid certificate changed in turn: numbers moved by one and to extremes, strings
// altered, members and entries dropped, doubled and added, types exchanged. None is accepted as it stands.
// The same mutants with a fresh seal are accepted only where the changed claim is true by the exact machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/exact/machine.h"
#include "tests/check/issued.h"
#include "tests/check/verdict_of.h"

namespace rung {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kLargest = std::int64_t{1} << 62;

std::string reseal(Json document) {
  Json sealed = document;
  sealed.erase("seal");
  sealed.erase("notes");
  document["seal"] = sha256(sealed.dump());
  return document.dump();
}

// Whether a pair or a wrong answer holds, by rung's own machine and tasks. Other kinds: no.
bool holds_by_the_exact_machine(const Json& document, const Weights& weights) {
  const auto& claim = document["claim"];
  const std::string kind = document["kind"];
  if (kind == "capacity") return false;
  const auto task =
      make_task(document["task"]["name"].get<std::string>(), document["task"]["size"].get<TaskSizes>(),
                document["task"]["options"].get<std::map<std::string, std::string>>());
  if (!task) return false;
  const auto machine = Machine::load(
      weights, {.positions = (*task)->prompt_length(), .unrounded = weights.mode == WeightMode::real});
  if (!machine) return false;
  if (kind == "construction") {  // where all prompts were run, what else is listed adds none
    const auto& sets = claim["checked"];
    if (std::none_of(sets.begin(), sets.end(), [](const Json& set) { return set["mode"] == "all"; }))
      return false;
    bool right = true;
    const std::uint64_t all = enumerate(**task, [&](const Instance& instance) {
      const auto readouts = (*machine)->forward(instance.prompt, (*task)->query_positions());
      for (std::size_t i = 0; right && i < instance.answer.size(); ++i)
        right = readouts && readouts->at(i).answer == std::vector<std::int64_t>{instance.answer[i]};
      return right;
    });
    return right && claim["instances"] == all;
  }
  const std::int64_t position = claim["position"];
  const auto queries = (*task)->query_positions();
  const auto query = std::find(queries.begin(), queries.end(), position) - queries.begin();
  const auto prompt_of = [&](const char* name) {
    Prompt prompt{(*task)->prompt_length(), {}};
    for (const auto& field : (*task)->fields())
      prompt.fields.push_back(claim[name][field.name].get<std::vector<std::int64_t>>());
    return prompt;
  };
  const auto one = [&](const char* name, const char* reference, bool activation) {
    const Prompt prompt = prompt_of(name);
    if (!(*task)->validate(prompt)) return false;
    const std::vector<std::int64_t> wanted{position};
    const auto readout = (*machine)->forward(prompt, wanted);
    if (!readout || readout->front().answer != claim["answer"].get<std::vector<std::int64_t>>()) return false;
    if (activation && readout->front().activation != claim["activation"].get<std::vector<std::int64_t>>())
      return false;
    return (*task)->answer(prompt).at(static_cast<std::size_t>(query)) ==
               claim[reference][0].get<std::int64_t>() &&
           claim[reference].size() == 1;
  };
  if (kind == "wrong-answer") return one("prompt", "expected", false) && claim["answer"] != claim["expected"];
  if (!one("first", "first_answer", true) || !one("second", "second_answer", true) ||
      claim["first_answer"] == claim["second_answer"])
    return false;
  if (kind != "collision") return true;
  for (const char* name : {"first", "second"}) {
    const Prompt prompt = prompt_of(name);
    auto session = (*machine)->start();
    for (std::int64_t t = 0; t < claim["cut"].get<std::int64_t>(); ++t)
      if (!(*session)->append(prompt_row(prompt, weights.fields, t), false)) return false;
    if ((*session)->state() != claim["states"].get<std::vector<std::vector<std::int64_t>>>()) return false;
  }
  return true;
}

class Mutator {
 public:
  explicit Mutator(const Issued& issued) : issued_(issued), original_(Json::parse(issued.certificate)) {
    // A mutant that asks for more than twice the work, say an endless walk, ends soon.
    rung_check::Budget budget;
    limit_ =
        2 * rung_check::verify(issued.certificate, issued.model.empty() ? nullptr : &issued.model, budget)
                .multiply_adds +
        1000;
  }

  struct Tally {
    std::size_t mutants = 0, still_true = 0;
  };
  Tally run() {
    for (const auto& [name, value] : original_.items()) {
      if (name != "notes") visit(Json::json_pointer("/" + name), value);
      drop_and_double(Json::json_pointer("/" + name));
    }
    Json more = original_;
    more["extra"] = 1;
    judge(more, "an extra member");
    double_members();
    return tally_;
  }

 private:
  void visit(const Json::json_pointer& at, const Json& value) {
    if (value.is_number()) {
      const auto number = value.get<std::int64_t>();
      for (const std::int64_t other :
           {number - 1, number + 1, kLargest, -kLargest, std::int64_t{0}, -number - 1})
        if (other != number) put(at, other);
      put(at, kLargest + 1);
      put(at, static_cast<double>(number) + 0.5);
      put(at, static_cast<double>(number));
      put(at, std::to_string(number));
      put(at, nullptr);
    } else if (value.is_string()) {
      const auto text = value.get<std::string>();
      put(at, text + "0");
      put(at, "");
      put(at, 7);
      for (std::size_t i = 0; i < text.size(); i += 1 + text.size() / 20) {
        std::string other = text;
        other[i] = static_cast<char>(other[i] == 'a' ? 'b' : 'a');
        put(at, other);
      }
      for (const char* word : {"found", "forced", "task", "model", "collision", "fooling-pair",
                               "wrong-answer", "sparse-pair", "construction", "capacity", "all", "walk",
                               "listed", "eva", "index", "two-sum", "rung.certificate/2"})
        if (text != word) put(at, word);
    } else if (value.is_array()) {
      put(at, Json::object());
      for (const Json& added : {Json(0), Json(1), Json::array()}) {
        Json more = value;
        more.push_back(added);
        put(at, more);
      }
      const std::size_t stride = 1 + value.size() / 40;
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (value.size() <= 40 || i % stride == 0 || i + 8 > value.size()) visit(at / i, value[i]);
        if (i % stride != 0) continue;
        Json less = value, twice = value;
        less.erase(i);
        twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), value[i]);
        put(at, less);
        put(at, twice);
        if (i + 1 < value.size() && value[i] != value[i + 1]) {
          Json swapped = value;
          std::swap(swapped[i], swapped[i + 1]);
          put(at, swapped);
        }
      }
    } else if (value.is_object()) {
      put(at, Json::array());
      Json more = value;
      more["extra"] = 1;
      put(at, more);
      for (const auto& [name, inner] : value.items()) {
        drop_and_double(at / name);
        visit(at / name, inner);
      }
    }
  }
  void put(const Json::json_pointer& at, const Json& value) {
    Json mutant = original_;
    mutant[at] = value;
    judge(mutant, at.to_string() + " = " + value.dump().substr(0, 60));
  }
  void drop_and_double(const Json::json_pointer& at) {
    Json mutant = original_;
    mutant[at.parent_pointer()].erase(at.back());
    judge(mutant, at.to_string() + " dropped");
  }
  // The same member twice can only be written as text.
  void double_members() {
    for (std::size_t i = 0; i < issued_.certificate.size(); ++i) {
      if (issued_.certificate[i] != '{') continue;
      const std::size_t name = issued_.certificate.find_first_not_of(" \n", i + 1);
      if (issued_.certificate[name] != '"') continue;
      const std::size_t end = issued_.certificate.find('"', name + 1);
      const std::string doubled = issued_.certificate.substr(0, i + 1) +
                                  issued_.certificate.substr(name, end + 1 - name) + ": 0," +
                                  issued_.certificate.substr(i + 1);
      ++tally_.mutants;
      EXPECT_EQ(judged(doubled), CheckVerdict::malformed)
          << issued_.name << " with " << issued_.certificate.substr(name, end + 1 - name) << " twice";
    }
  }
  void judge(const Json& mutant, const std::string& what) {
    ++tally_.mutants;
    EXPECT_NE(judged(mutant.dump()), CheckVerdict::verified) << issued_.name << ": " << what;
    if (what.starts_with("/seal")) return;
    ++tally_.mutants;
    if (judged(reseal(mutant)) != CheckVerdict::verified) return;
    ++tally_.still_true;
    EXPECT_TRUE(issued_.weights && holds_by_the_exact_machine(mutant, *issued_.weights))
        << issued_.name << ", sealed afresh: " << what;
  }

  CheckVerdict judged(const std::string& certificate) const {
    return verdict_of(certificate, issued_.model, nullptr, limit_);
  }

  const Issued& issued_;
  Json original_;
  std::uint64_t limit_ = 0;
  Tally tally_;
};

TEST(mutation, no_changed_certificate_is_accepted) {
  std::size_t mutants = 0, still_true = 0;
  for (const auto& issued : issued_certificates()) {
    const auto tally = Mutator(issued).run();
    mutants += tally.mutants;
    still_true += tally.still_true;
    if (HasFailure()) break;
  }
  EXPECT_GE(mutants, 10'000u);
  RecordProperty("mutants", static_cast<int>(mutants));
  std::printf("%zu mutants; %zu sealed afresh say something else that is true\n", mutants, still_true);
}

TEST(mutation, no_certificate_is_accepted_for_another_model_file) {
  std::size_t flips = 0;
  for (const auto& issued : issued_certificates())
    for (std::size_t i = 0; i < issued.model.size(); i += 1 + issued.model.size() / 200) {
      std::string other = issued.model;
      other[i] = static_cast<char>(other[i] ^ (1 << (i % 8)));
      ++flips;
      EXPECT_NE(verdict_of(issued.certificate, other), CheckVerdict::verified)
          << issued.name << " byte " << i;
      // The claim made of the altered file: any verdict may be right, but there is one.
      Json document = Json::parse(issued.certificate);
      document["model"]["sha256"] = sha256(other);
      verdict_of(reseal(document), other);
    }
  EXPECT_GE(flips, 1'000u);
}

TEST(mutation, a_model_that_is_missing_or_not_spoken_of_is_malformed) {
  for (const auto& issued : issued_certificates()) {
    if (issued.model.empty())
      EXPECT_EQ(verdict_of(issued.certificate, "some bytes"), CheckVerdict::malformed);
    else
      EXPECT_EQ(verdict_of(issued.certificate, ""), CheckVerdict::malformed);
  }
}

}  // namespace
}  // namespace rung
