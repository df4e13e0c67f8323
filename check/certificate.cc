#include "check/certificate.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "check/document.h"
#include "check/every_length.h"
#include "check/forced.h"
#include "check/model.h"
#include "check/task.h"

namespace rung_check {
namespace {

// The model's row and answer at one position.
struct Reading {
  Row activation, answer;
};

class Verification {
 public:
  Verification(Members& frame, const Json& document, const std::string* model, Budget& budget)
      : document_(document), budget_(budget), claim_(frame.object("claim")) {
    report_.kind = frame.word("kind");
    read_task(frame.object("task"));
    const bool by_task = report_.kind == "capacity" && claim_.has("by") && claim_.word("by") == "task";
    if (by_task != !frame.has("model"))
      throw Malformed(by_task ? "a capacity certificate by task has no model; this one names one"
                              : "the certificate names no model");
    if (by_task) {
      if (model) throw Malformed("this certificate has no model; omit the model file");
      return;
    }
    check_model_hash(frame, model);
    TensorFile file(*model);
    if (read_header(file).mode == "real") {
      if (report_.kind != "wrong-answer")
        throw Malformed(
            "the model is in mode real; only wrong answers of it are certified, nothing that must be rerun "
            "bit for bit");
      real_ = std::make_unique<RealModel>(*model, budget);
    } else {
      model_ = std::make_unique<Model>(*model, budget);
    }
    check_fit(real_ ? real_->header() : model_->header());
  }

  Report run() {
    const std::string& kind = report_.kind;
    if (kind == "collision")
      collision();
    else if (kind == "sparse-pair")
      sparse_pair();
    else if (kind == "fooling-pair")
      fooling_pair();
    else if (kind == "wrong-answer")
      wrong_answer();
    else if (kind == "construction")
      construction();
    else if (kind == "capacity")
      capacity();
    else
      throw Malformed("the certificate is of an unknown kind");
    claim_.done();
    return report_;
  }

 private:
  void say(const std::string& line) { report_.lines.push_back(line); }

  void read_task(Members m) {
    const std::string name = m.word("name");
    Task::Sizes size;
    std::map<std::string, std::string> options;
    Members sizes = m.object("size"), words = m.object("options");
    for (const auto& [key, value] : m.take("size").items()) size[key] = sizes.number(key);
    for (const auto& [key, value] : m.take("options").items()) options[key] = words.word(key);
    m.done();
    task_ = make_task(name, size, options, budget_);
    std::string line = "task " + name;
    for (const auto& [key, value] : size) line += text(" ", key, "=", value);
    for (const auto& [key, value] : options) line += text(" ", key, "=", value);
    say(text(line, ", ", task_->length, " positions"));
  }

  // Whether the model can be asked the task at all.
  void check_fit(const ModelHeader& model) const {
    const auto &have = model.fields, &want = task_->fields;
    holds(have.size() == want.size(), "the model reads other fields than the task has");
    for (std::size_t f = 0; f < want.size(); ++f)
      holds(have[f].name == want[f].name && have[f].length == want[f].length && have[f].low <= want[f].low &&
                want[f].low + want[f].size <= have[f].low + have[f].size,
            text("the model cannot read the task's field ", want[f].name));
    const Output& output = model.output;
    const std::int64_t sayable = output.kind == "binary"      ? std::int64_t{1} << output.size
                                 : output.kind == "threshold" ? 2
                                                              : output.size;
    holds(task_->vector == (output.kind == "vector") &&
              (task_->vector ? sayable == task_->answer_size : sayable >= task_->answer_size),
          "the model's output cannot say the task's answers");
    holds(model.steps == 0 || task_->queries == Row{task_->length - 1},
          "a chain of thought answers once, after the prompt");
    const std::int64_t positions = task_->length + std::max<std::int64_t>(0, model.steps - 1),
                       context = model.architecture.context;
    holds(context == 0 || positions <= context,
          text("the task needs ", positions, " positions; the model's context is ", context));
  }

  Prompt prompt_of(const Json& json, const std::string& where, std::int64_t positions) const {
    Members m(json, where);
    Prompt prompt{positions, {}};
    for (const auto& field : task_->fields) {
      prompt.fields.push_back(m.numbers(field.name));
      if (static_cast<Int>(prompt.fields.back().size()) != static_cast<Int>(positions) * field.length)
        throw Malformed(text(where, ": field ", field.name, " has ", prompt.fields.back().size(),
                             " numbers; ", positions, " positions of ", field.length, " are expected"));
    }
    m.done();
    return prompt;
  }
  Prompt instance(const std::string& name) {
    Prompt prompt = prompt_of(claim_.take(name), name, task_->length);
    task_->check(prompt);
    return prompt;
  }
  std::vector<Prompt> prompts_of(const Json& array, const std::string& where, std::int64_t positions) const {
    if (!array.is_array()) throw Malformed(text(where, " is not an array"));
    std::vector<Prompt> prompts;
    for (const auto& entry : array) prompts.push_back(prompt_of(entry, where, positions));
    return prompts;
  }
  std::size_t query_index(std::int64_t position) const {
    const auto found = std::lower_bound(task_->queries.begin(), task_->queries.end(), position);
    holds(found != task_->queries.end() && *found == position,
          text("the task has no answer at position ", position));
    return static_cast<std::size_t>(found - task_->queries.begin());
  }
  Row reference(const Prompt& prompt, std::int64_t position) {
    ++report_.answers;
    return task_->answers(prompt)[query_index(position)];
  }
  // The rest of the prompt, up to what `positions` need.
  std::vector<Reading> read(const Prompt& prompt, const Row& positions) {
    auto rows = model_->feed(prompt, model_->architecture().causal ? positions.back() + 1 : prompt.positions,
                             positions);
    std::vector<Reading> all;
    for (const auto position : positions) {
      Reading reading{rows.at(position), {}};
      reading.answer = model_->answer(prompt, reading.activation);
      all.push_back(std::move(reading));
    }
    return all;
  }
  std::vector<Reading> read_afresh(const Prompt& prompt, const Row& positions) {
    ++report_.prompts;
    model_->reset();
    return read(prompt, positions);
  }

  // What every pair says: two prompts that end alike and have different answers.
  struct Pair {
    Prompt first, second;
    std::int64_t position = 0;
    bool forced = false;
    Row activation, answer;
  };
  Pair read_pair() {
    Pair pair{instance("first"), instance("second"), claim_.number("position")};
    const std::string label = claim_.word("label");
    if (label != "found" && label != "forced") throw Malformed("label is neither found nor forced");
    pair.forced = label == "forced";
    pair.activation = claim_.numbers("activation");
    pair.answer = claim_.numbers("answer");
    const Row first = claim_.numbers("first_answer"), second = claim_.numbers("second_answer");
    holds(reference(pair.first, pair.position) == first,
          "first_answer is not the reference answer of the first prompt");
    holds(reference(pair.second, pair.position) == second,
          "second_answer is not the reference answer of the second prompt");
    holds(first != second, "the two reference answers do not differ");
    say(text("position ", pair.position, ": reference answers ", shown(first), " and ", shown(second),
             ", the model's answer ", shown(pair.answer), " for both; label ", label));
    return pair;
  }
  // REQUIRES both readings compared with the claim.
  void one_is_wrong(const Pair& pair) const {
    const std::size_t query = query_index(pair.position);
    holds(wrong(*task_, model_->output(), pair.answer, task_->answers(pair.first)[query]) ||
              wrong(*task_, model_->output(), pair.answer, task_->answers(pair.second)[query]),
          "the model's answer is right for both prompts, within the tolerance");
  }
  void same_end(const Pair& pair, const Reading& reading, const char* which) {
    holds(reading.activation == pair.activation,
          text("the activation of the ", which, " prompt is another one"));
    holds(reading.answer == pair.answer,
          text("the model's answer to the ", which, " prompt is ", shown(reading.answer)));
  }
  static std::string shown(const Row& numbers) {
    std::string out;
    for (std::size_t i = 0; i < numbers.size() && i < 8; ++i) out += text(i ? "," : "", numbers[i]);
    return numbers.size() > 8 ? out + ",..." : out;
  }
  void collision() {
    const Pair pair = read_pair();
    const std::int64_t cut = claim_.number("cut", 1), bits = claim_.number("nominal_bits");
    holds(cut <= task_->length, "cut is beyond the prompt");
    holds(model_->architecture().causal, "an encoder has no memory");
    holds(pair.position >= cut - 1, "position lies before the cut");
    for (std::int64_t t = cut; t < task_->length; ++t)
      holds(row_at(*task_, pair.first, t) == row_at(*task_, pair.second, t),
            text("the prompts differ at position ", t, ", after the cut"));
    const Json& claimed = claim_.take("states");
    if (!claimed.is_array()) throw Malformed("states is not an array");
    std::int64_t counted = 0, numbers = 0;
    for (const bool first : {true, false}) {
      const Prompt& prompt = first ? pair.first : pair.second;
      const char* which = first ? "first" : "second";
      ++report_.prompts;
      model_->reset();
      auto rows = model_->feed(prompt, cut, {pair.position});
      const auto states = model_->states();
      holds(claimed.size() == states.size(), "states has another number of layers than the model");
      counted = numbers = 0;
      for (std::size_t l = 0; l < states.size(); ++l) {
        holds(states[l].numbers == numbers_of(claimed[l], "states"),
              text("the state of layer ", l, " after the cut of the ", which, " prompt is another one"));
        counted += states[l].bits;
        numbers += static_cast<std::int64_t>(states[l].numbers.size());
      }
      if (pair.position >= cut) {
        same_end(pair, read(prompt, {pair.position}).front(), which);
      } else {
        Reading reading{rows.at(pair.position), {}};
        reading.answer = model_->answer(prompt, reading.activation);
        same_end(pair, reading, which);
      }
    }
    one_is_wrong(pair);
    holds(bits == counted, text("nominal_bits is ", bits, "; the state has ", counted));
    say(text("after ", plural(cut, "position"), " both prompts leave the same ", plural(numbers, "number"),
             ", ", plural(counted, "bit"), ", in ", plural(claimed.size(), "layer")));
    if (!pair.forced) return;
    const Beginnings family(*task_, claim_.number("alphabet", 1));
    for (const std::int64_t c : {cut, cut - 1}) {
      if (c < 1 || c > family.most_positions() ||
          row_at(*task_, pair.first, c) != row_at(*task_, pair.second, c))
        continue;
      model_->reset();
      model_->feed(pair.first, c, {});
      std::int64_t states = 0;
      for (const auto& state : model_->states()) states += state.bits;
      if (!family.exceed(c, states, budget_)) continue;
      say(text("forced: ", family.shown(c), ", 2^", states, " states after ", plural(c, "position")));
      return;
    }
    throw Rejected("at least as many states as beginnings: not forced");
  }

  void sparse_pair() {
    const Pair pair = read_pair();
    const std::int64_t r = claim_.number("block", 0);
    Members message = claim_.object("message");
    const Row key = message.numbers("key"), value = message.numbers("value");
    message.done();
    const Json& listed = claim_.take("selected");
    if (!listed.is_array()) throw Malformed("selected is not an array");
    std::vector<Row> selected;
    for (const auto& group : listed) selected.push_back(numbers_of(group, "selected"));

    const auto& layers = model_->architecture().layers;
    std::optional<std::size_t> found;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (!layers[l].sees_other_tokens()) continue;
      holds(!found && layers[l].kind == "sparse" && layers[l].form.plain() && layers[l].window == 0,
            "the model is not one sparse layer without a window branch");
      found = l;
    }
    holds(found.has_value(), "the model has no sparse layer");
    const Shape& shape = layers[*found];
    holds(r < pair.position / shape.block, "the block is not complete before the query's own");
    bool same = true;
    for (std::int64_t t = 0; t < task_->length; ++t) {
      if (row_at(*task_, pair.first, t) == row_at(*task_, pair.second, t)) continue;
      holds(t / shape.block == r, text("the prompts differ at position ", t, ", outside the block"));
      same = false;
    }
    holds(!same, "the prompts do not differ");
    for (const auto& group : selected)
      holds(!std::binary_search(group.begin(), group.end(), r) &&
                std::find(group.begin(), group.end(), r) == group.end(),
            "the block is selected");
    const auto* sparse = dynamic_cast<const SparseView*>(model_->mixer(*found));
    for (const bool first : {true, false}) {
      const char* which = first ? "first" : "second";
      same_end(pair, read_afresh(first ? pair.first : pair.second, {pair.position}).front(), which);
      holds(sparse->compressed_key(r) == key && sparse->compressed_value(r) == value,
            text("the message of the ", which, " prompt's block is another one"));
      holds(sparse->selected(pair.position) == selected, text("the ", which, " prompt selects other blocks"));
    }
    one_is_wrong(pair);
    say(text("block ", r, " of ", shape.block,
             " tokens has one message in both prompts, and no group selects it"));
    if (!pair.forced) return;
    const std::int64_t bits = claim_.number("message_bits", 0);
    holds(bits == sparse->message_bits(),
          text("message_bits is ", bits, "; the message has ", sparse->message_bits()));
    const bool positions = model_->architecture().position != "none";
    say(forced_by_messages(*model_, *task_, shape, bits,
                           positions ? std::optional(claim_.number("values", 1)) : std::nullopt, budget_));
  }

  void fooling_pair() {
    const Pair pair = read_pair();
    same_end(pair, read_afresh(pair.first, {pair.position}).front(), "first");
    same_end(pair, read_afresh(pair.second, {pair.position}).front(), "second");
    one_is_wrong(pair);
    say("both prompts end in the same activation");
    if (!pair.forced) return;
    Members proof = claim_.object("proof");
    if (proof.has("partial_bits")) {
      say(forced_by_partial_sums(*model_, *task_, {pair.first, pair.second}, proof.number("partial_bits", 1),
                                 budget_));
    } else {
      const std::int64_t T = proof.number("T", 1), x0 = proof.number("x0", 1), y = proof.number("y", 1);
      say(forced_by_transcripts(*model_, *task_, {pair.first, pair.second}, T, x0, y, budget_));
    }
    proof.done();
  }

  void wrong_answer() {
    const Prompt prompt = instance("prompt");
    const std::int64_t position = claim_.number("position");
    const Row answer = claim_.numbers("answer"), expected = claim_.numbers("expected");
    holds(reference(prompt, position) == expected, "expected is not the reference answer");
    double margin = std::numeric_limits<double>::infinity();
    const Row given =
        real_ ? Row{real_->answer(prompt, position, margin)} : read_afresh(prompt, {position}).front().answer;
    if (real_) ++report_.prompts;
    holds(given == answer, text("the model answers ", shown(given)));
    holds(wrong(*task_, (real_ ? real_->header() : model_->header()).output, given, expected),
          "the model's answer is right");
    if (real_) say(text("in intervals of doubles: every decision is certain, the closest by ", margin));
    say(text("position ", position, ": the model answers ", shown(given), ", the task ", shown(expected)));
  }

  // SplitMix64 of docs/certificate_v1.md, stream `index` of `seed`.
  class Walk {
   public:
    Walk(std::uint64_t seed, std::uint64_t index) : counter_(mix(mix(seed + kStep) + index * kStep)) {}
    std::uint64_t next() { return mix(counter_ += kStep); }

   private:
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
    static std::uint64_t mix(std::uint64_t z) {
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      return z ^ (z >> 31);
    }
    std::uint64_t counter_;
  };

  std::int64_t choices(const Prompt& prefix) const {
    const std::int64_t count = task_->choices(prefix);
    if (count < 1)
      throw Malformed(text("the prompts of ", task_->name, " cannot be numbered; they can only be listed"));
    return count;
  }
  static std::uint64_t numbers(const Prompt& prompt) {
    std::uint64_t count = 0;
    for (const auto& field : prompt.fields) count += field.size();
    return count;
  }
  Prompt empty() const { return {0, std::vector<Row>(task_->fields.size())}; }

  // An instance that came before is the same evidence, and is passed over.
  void add_instance(const Prompt& prompt) {
    task_->check(prompt);
    const auto expected = task_->answers(prompt);
    report_.answers += expected.size();
    std::string line;
    for (const auto& field : prompt.fields)
      for (const auto value : field) line += text(value, " ");
    line += "->";
    for (const auto& answer : expected)
      for (const auto value : answer) line += text(" ", value);
    line += "\n";
    budget_.work(line.size());
    if (!lines_.insert(line).second) return;
    const auto readings = read_afresh(prompt, task_->queries);
    for (std::size_t i = 0; i < expected.size(); ++i)
      holds(!wrong(*task_, model_->output(), readings[i].answer, expected[i]),
            text("instance ", instances_, " is answered ", shown(readings[i].answer), " at position ",
                 task_->queries[i], "; ", shown(expected[i]), " is right"));
    ++instances_;
    digest_ += line;
    if (digest_.size() > (std::size_t{1} << 28))
      throw OutOfResources("the instances of the certificate need more than 2^28 bytes");
  }
  void walk_all(Prompt& prefix) {
    if (prefix.positions == task_->length) return add_instance(prefix);
    const std::int64_t count = choices(prefix);
    for (std::int64_t choice = 0; choice < count; ++choice) {
      budget_.work(numbers(prefix) + 1);
      Prompt longer = prefix;
      task_->extend(longer, choice);
      walk_all(longer);
    }
  }

  void construction() {
    const Json& sets = claim_.take("checked");
    if (!sets.is_array() || sets.empty()) throw Malformed("checked is not an array of sets");
    const std::int64_t claimed = claim_.number("instances", 1);
    const std::string digest = claim_.word("digest");
    for (const auto& entry : sets) {
      Members set(entry, "checked");
      const std::string mode = set.word("mode");
      const std::uint64_t before = instances_;
      if (mode == "all") {
        holds(task_->length <= 4096, "all instances of a task this long are too many");
        Prompt prefix = empty();
        walk_all(prefix);
      } else if (mode == "walk") {
        const std::int64_t seed = set.number("seed", 0), begin = set.number("begin", 0),
                           end = set.number("end", 0);
        if (begin >= end) throw Malformed("a walk has no instances");
        for (std::int64_t i = begin; i < end; ++i) {
          Walk walk(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(i));
          Prompt prompt = empty();
          while (prompt.positions < task_->length)
            task_->extend(
                prompt, static_cast<std::int64_t>(walk.next() % static_cast<std::uint64_t>(choices(prompt))));
          budget_.work(numbers(prompt));
          add_instance(prompt);
        }
      } else if (mode == "listed") {
        const auto prompts = prompts_of(set.take("prompts"), "prompts", task_->length);
        if (prompts.empty()) throw Malformed("a list has no prompts");
        for (const auto& prompt : prompts) add_instance(prompt);
      } else {
        throw Malformed("checked has an unknown mode");
      }
      set.done();
      say(text(mode, ": ", instances_ - before, before > 0 ? " more" : "",
               " different instances, every answer right"));
    }
    holds(static_cast<std::uint64_t>(claimed) == instances_,
          text("instances is ", claimed, "; there are ", instances_, " different ones"));
    holds(digest == sha256(digest_), "the digest is that of other instances");
  }

  void capacity() {
    const bool by_model = claim_.word("by") == "model";
    if (!by_model && claim_.word("by") != "task") throw Malformed("by is neither task nor model");
    const std::int64_t cut = claim_.number("cut", 1), classes = claim_.number("classes", 2);
    holds(cut < task_->length, "cut leaves nothing to ask");
    const auto prefixes = prompts_of(claim_.take("prefixes"), "prefixes", cut);
    const auto suffixes = prompts_of(claim_.take("suffixes"), "suffixes", task_->length - cut);
    const std::string digest = claim_.word("digest");
    holds(static_cast<std::uint64_t>(classes) == prefixes.size(),
          text("classes is ", classes, "; there are ", prefixes.size(), " prefixes"));
    holds(!by_model || model_->architecture().causal, "an encoder has no memory");
    std::string table;
    std::vector<std::vector<std::vector<Row>>>
        rows;  // answers after the cut, per prefix and suffix; none: no instance
    for (const auto& prefix : prefixes) {
      rows.emplace_back();
      for (std::size_t s = 0; s < suffixes.size(); ++s) {
        Prompt whole = prefix;
        whole.positions = task_->length;
        for (std::size_t f = 0; f < whole.fields.size(); ++f)
          whole.fields[f].insert(whole.fields[f].end(), suffixes[s].fields[f].begin(),
                                 suffixes[s].fields[f].end());
        budget_.work(numbers(whole));
        rows.back().push_back(answers_after(whole, cut, by_model));
        table += s ? " " : "";
        if (rows.back().back().empty()) table += "-";
        bool comma = false;
        for (const auto& answer : rows.back().back())
          for (const auto value : answer) {
            table += text(comma ? "," : "", value);
            comma = true;
          }
      }
      table += "\n";
      if (table.size() > (std::size_t{1} << 28))
        throw OutOfResources("the table of answers needs more than 2^28 bytes");
    }
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = a + 1; b < rows.size(); ++b) {
        bool apart = false;
        for (std::size_t s = 0; s < suffixes.size() && !apart; ++s) {
          const auto &first = rows[a][s], &second = rows[b][s];
          budget_.work(1 + first.size() * (first.empty() ? 0 : first.front().size()));
          for (std::size_t i = 0; i < first.size() && i < second.size() && !apart; ++i)
            apart = by_model ? first[i] != second[i] : differ(*task_, first[i], second[i]);
        }
        holds(apart, text("no suffix keeps the prefixes ", a, " and ", b, " apart"));
      }
    holds(digest == sha256(table), "the digest is that of another table of answers");
    say(text(prefixes.size(), " prefixes of ", cut, " positions are kept apart by ", suffixes.size(),
             " suffixes: ", ceil_lg(prefixes.size()), " bits are ", by_model ? "in use" : "necessary"));
  }
  std::vector<Row> answers_after(const Prompt& prompt, std::int64_t cut, bool by_model) {
    try {
      task_->check(prompt);
    } catch (const Rejected&) {
      return {};
    }
    Row positions;
    std::vector<Row> answers;
    const auto reference = task_->answers(prompt);
    for (std::size_t i = 0; i < task_->queries.size(); ++i) {
      if (task_->queries[i] < cut) continue;
      positions.push_back(task_->queries[i]);
      answers.push_back(reference[i]);
    }
    report_.answers += answers.size();
    if (!by_model || positions.empty()) return answers;
    answers.clear();
    for (auto& reading : read_afresh(prompt, positions)) answers.push_back(std::move(reading.answer));
    return answers;
  }

  const Json& document_;
  Budget& budget_;
  Members claim_;
  Report report_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<RealModel> real_;  // of a wrong answer, in place of model_
  std::uint64_t instances_ = 0;
  std::unordered_set<std::string> lines_;  // of the instances so far
  std::string digest_;
};

}  // namespace

Report verify(const std::string& certificate, const std::string* model, Budget& budget) {
  Json document = parse_json(certificate, "the certificate");
  Members frame(document, "the certificate");
  if (frame.word("schema") != "rung.certificate/1")
    throw Malformed("the certificate's schema is not rung.certificate/1");
  Members notes = frame.object("notes");
  for (const auto& [name, value] : frame.take("notes").items()) notes.word(name);
  const std::string seal = frame.word("seal");
  Report report;
  if (speaks_of_words(frame.word("kind"))) {
    report = verify_words(frame, model, budget);
    frame.done();
  } else {
    Verification verification(frame, document, model, budget);
    frame.done();
    report = verification.run();
  }
  // The seal says that these are the words that were issued; it is looked at last, because it proves nothing.
  Json sealed = document;
  sealed.erase("notes");
  sealed.erase("seal");
  if (seal != sha256(sealed.dump())) throw Rejected("the seal is that of another certificate");
  report.multiply_adds = budget.worked();
  return report;
}

}  // namespace rung_check
