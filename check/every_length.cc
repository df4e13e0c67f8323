// The graph of (memory of the model, state of the task) is explored here from its start, in the order of a
// queue; nothing that the certificate says of it is used before the end, where the counts are compared.
#include "check/every_length.h"

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "check/settling.h"
#include "check/task.h"

namespace rung_check {
namespace {

constexpr std::int64_t kMostTaskStates = 1 << 20, kMostLetters = 1 << 16;

// A complete deterministic automaton over rows of a prompt.
struct Automaton {
  std::vector<Row> letters, next;  // next[state][letter]
  std::optional<Row> begin;
  Row answers;
  std::int64_t start = 0;

  std::int64_t states() const { return static_cast<std::int64_t>(answers.size()); }
};

std::vector<Row> rows_of(const Json& array, const std::string& where) {
  if (!array.is_array()) throw Malformed(text(where, " is not an array"));
  std::vector<Row> rows;
  for (const auto& entry : array) rows.push_back(numbers_of(entry, where));
  return rows;
}

Automaton read_automaton(Members m) {
  Automaton a;
  a.answers = m.numbers("answers");
  a.letters = rows_of(m.take("letters"), "letters");
  a.next = rows_of(m.take("next"), "next");
  if (a.answers.empty() || a.states() > kMostTaskStates || a.letters.empty() ||
      static_cast<std::int64_t>(a.letters.size()) > kMostLetters)
    throw Malformed("the automaton has no states or letters, or too many");
  a.start = m.number("start", 0, a.states() - 1);
  if (m.has("begin")) a.begin = m.numbers("begin");
  m.done();
  if (a.next.size() != a.answers.size()) throw Malformed("next has another number of states than answers");
  for (const auto& row : a.next) {
    if (row.size() != a.letters.size())
      throw Malformed("next has a state without a transition for each letter");
    for (const auto to : row)
      if (to < 0 || to >= a.states()) throw Malformed("next leads to a state that does not exist");
  }
  for (const auto answer : a.answers)
    if (answer < 0) throw Malformed("an answer is negative");
  for (std::size_t i = 0; i < a.letters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (a.letters[i] == a.letters[j]) throw Malformed("two letters are the same row");
  return a;
}

// The automaton of a task that this program knows by name: letters are the tokens 0, 1, ..., and the token
// behind them begins; states are answers.
Automaton named_automaton(const Task& task) {
  const std::int64_t letters = task.fields.front().size - 1;
  Automaton a;
  for (std::int64_t l = 0; l < letters; ++l) a.letters.push_back({l});
  a.begin = Row{letters};
  for (std::int64_t q = 0; q < task.answer_size; ++q) {
    a.answers.push_back(q);
    a.next.emplace_back();
    for (std::int64_t l = 0; l < letters; ++l) a.next.back().push_back(task.follow(q, l));
  }
  return a;
}

class WordVerification {
 public:
  WordVerification(Members& frame, const std::string* model, Budget& budget)
      : budget_(budget), bytes_(model), claim_(frame.object("claim")) {
    report_.kind = frame.word("kind");
    automaton_ = read_automaton(claim_.object("automaton"));
    Members m = frame.object("task");
    const std::string name = m.word("name");
    Members size = m.object("size"), options = m.object("options");
    if (name != "automaton") {
      Task::Sizes sizes;
      std::map<std::string, std::string> words;
      for (const auto& [key, value] : m.take("size").items()) sizes[key] = size.number(key);
      for (const auto& [key, value] : m.take("options").items()) words[key] = options.word(key);
      const Automaton known = named_automaton(*make_task(name, sizes, words, budget));
      holds(known.letters == automaton_.letters && known.next == automaton_.next &&
                known.begin == automaton_.begin && known.answers == automaton_.answers &&
                known.start == automaton_.start,
            text("the automaton is not that of ", name));
    }
    size.done();
    options.done();
    m.done();
    say(text("task ", name, ": an automaton of ", plural(automaton_.states(), "state"), " and ",
             plural(automaton_.letters.size(), "letter")));
    check_model_hash(frame, model);
    model_ = std::make_unique<Model>(*model, budget);
    check_fit();
  }

  Report run() {
    if (report_.kind == "every-length")
      every_length();
    else
      wrong_word();
    claim_.done();
    return report_;
  }

 private:
  void say(const std::string& line) { report_.lines.push_back(line); }

  void check_fit() const {
    const ModelHeader& header = model_->header();
    std::size_t numbers = 0;
    for (const auto& field : header.fields) numbers += at(field.length);
    for (const auto& row : automaton_.letters)
      holds(row.size() == numbers, "a letter has another number of numbers than the model reads");
    holds(!automaton_.begin || automaton_.begin->size() == numbers,
          "the token that begins has another number of numbers than the model reads");
    const Output& output = header.output;
    holds(output.kind != "vector", "the model answers with vectors");
    const std::int64_t sayable = output.kind == "binary"      ? std::int64_t{1} << output.size
                                 : output.kind == "threshold" ? 2
                                                              : output.size;
    for (const auto answer : automaton_.answers)
      holds(answer < sayable, "the model's output cannot say the task's answers");
    holds(header.architecture.causal, "the model is an encoder");
    holds(header.steps == 0, "the model answers by a chain of thought");
  }

  static void check_finite(const Shape& shape, const std::string& accumulator) {
    for (const auto& part : shape.parts) check_finite(part, accumulator);
    const std::string& kind = shape.kind;
    holds(kind != "topk" && kind != "sparse" && kind != "loglinear" &&
              (kind != "full" || shape.window > 0 || shape.chunk > 0) &&
              (kind != "linear" || accumulator != "exact"),
          text("the memory of a layer ", kind, " grows with the prompt: no graph of it is finite"));
  }

  void every_length() {
    const ModelHeader& header = model_->header();
    holds(header.architecture.position == "none", "the model has a position code");
    holds(header.architecture.context == 0, "the model has a context");
    for (const auto& shape : header.architecture.layers) check_finite(shape, header.accumulator);
    const std::int64_t states = claim_.number("states", 1), edges = claim_.number("edges", 1),
                       depth = claim_.number("depth", 0);
    const std::string digest = claim_.word("digest");

    struct Node {
      Memory memory;
      std::int64_t state = 0, depth = 0;
    };
    std::deque<Node> queue;
    std::unordered_set<std::string> seen;
    Digest lines;
    std::int64_t deepest = 0;
    const auto find = [&](Memory memory, std::int64_t state, std::int64_t at_depth) {
      std::string line;
      for (const auto& row : memory) {
        for (const auto number : row) line += std::to_string(number) + " ";
        line += "| ";
      }
      line += std::to_string(state) + "\n";
      budget_.work(line.size());
      if (seen.contains(line)) return;
      budget_.store(line.size() + 32);
      lines.add(line);
      seen.insert(std::move(line));
      queue.push_back({std::move(memory), state, at_depth});
      deepest = at_depth;
    };
    model_->reset();
    if (automaton_.begin) model_->step(*automaton_.begin);
    find(model_->memory(), automaton_.start, 0);
    std::int64_t compared = 0;
    while (!queue.empty()) {
      const Node node = std::move(queue.front());
      queue.pop_front();
      for (std::size_t l = 0; l < automaton_.letters.size(); ++l) {
        const std::uint64_t stored = budget_.stored();
        model_->recall(node.memory);
        const std::int64_t given = model_->step(automaton_.letters[l]).front(),
                           state = automaton_.next[at(node.state)][l];
        Memory after = model_->memory();
        budget_.release_to(stored);
        ++compared;
        holds(given == automaton_.answers[at(state)],
              text("a word of ", node.depth + 1, " letters is answered ", given, "; ",
                   automaton_.answers[at(state)], " is right"));
        find(std::move(after), state, node.depth + 1);
      }
    }
    report_.prompts = static_cast<std::uint64_t>(compared);
    report_.answers = static_cast<std::uint64_t>(compared);
    const auto found = static_cast<std::int64_t>(seen.size());
    holds(found == states, text("states is ", states, "; the graph has ", found));
    holds(compared == edges, text("edges is ", edges, "; the graph has ", compared));
    holds(deepest == depth, text("depth is ", depth, "; the graph has ", deepest));
    holds(digest == lines.hexadecimal(), "the digest is that of another graph");
    say(text("right at every length: ", plural(found, "reachable state"), ", all ", plural(compared, "edge"),
             " compared"));
  }

  void wrong_word() {
    const Row word = claim_.numbers("word");
    const std::int64_t answer = claim_.number("answer"), expected = claim_.number("expected");
    if (word.empty()) throw Malformed("the word is empty");
    std::int64_t state = automaton_.start;
    std::vector<Row> rows;
    if (automaton_.begin) rows.push_back(*automaton_.begin);
    for (const auto letter : word) {
      if (letter < 0 || letter >= static_cast<std::int64_t>(automaton_.letters.size()))
        throw Malformed("the word has a letter that does not exist");
      state = automaton_.next[at(state)][at(letter)];
      rows.push_back(automaton_.letters[at(letter)]);
    }
    holds(expected == automaton_.answers[at(state)], "expected is not the task's answer");
    model_->reset();
    Prompt prompt{0, std::vector<Row>(model_->fields().size())};
    for (const auto& row : rows) {
      auto number = row.begin();
      for (std::size_t f = 0; f < prompt.fields.size(); ++f)
        for (std::int64_t i = 0; i < model_->fields()[f].length; ++i) prompt.fields[f].push_back(*number++);
      ++prompt.positions;
    }
    const std::int64_t last = prompt.positions - 1;
    const Row given = model_->answer(prompt, model_->feed(prompt, prompt.positions, {last}).at(last));
    report_.prompts = report_.answers = 1;
    holds(given.front() == answer, text("the model answers ", given.front()));
    holds(answer != expected, "the model's answer is right");
    say(text("a word of ", plural(word.size(), "letter"), ": the model answers ", answer, ", the task ",
             expected));
    if (claim_.has("proof")) forced();
  }

  // Why some word had to be wrong: u wⁿ v is answered periodically by the task, and alike by any model of
  // these shapes from some n on.
  void forced() {
    Members proof = claim_.object("proof");
    const Row before = proof.numbers("before"), word = proof.numbers("word"), after = proof.numbers("after");
    const std::int64_t letters = proof.number("letters", 1);
    proof.done();
    if (word.empty()) throw Malformed("the word of the proof is empty");
    const auto run = [&](std::int64_t state, const Row& path) {
      for (const auto letter : path) {
        if (letter < 0 || letter >= static_cast<std::int64_t>(automaton_.letters.size()))
          throw Malformed("the proof has a letter that does not exist");
        state = automaton_.next[at(state)][at(letter)];
        budget_.work(1);
      }
      return state;
    };
    // The answers to u wⁿ v while new states come, and the place that the states come back to.
    std::map<std::int64_t, std::int64_t> seen;
    Row answers;
    std::int64_t state = run(automaton_.start, before);
    for (; !seen.contains(state); state = run(state, word)) {
      seen[state] = static_cast<std::int64_t>(answers.size());
      answers.push_back(automaton_.answers[at(run(state, after))]);
    }
    const auto found = static_cast<std::int64_t>(answers.size()), cycle = found - seen[state];
    const auto answer = [&](std::int64_t n) {
      return answers[at(n < found ? n : found - cycle + (n - found) % cycle)];
    };
    std::int64_t period = 0;
    for (std::int64_t p = 1; p <= cycle && period == 0; ++p) {
      bool repeats = cycle % p == 0;
      for (std::int64_t n = 0; repeats && n < found; ++n) repeats = answer(n) == answer(n + p);
      budget_.work(at(found));
      if (repeats) period = p;
    }
    holds(period >= 2, "the task's answers to the words of the proof are not periodic, or all alike");
    bool always = true;  // neighbours differ
    for (std::int64_t n = 0; n < period; ++n) always = always && answer(n) != answer(n + 1);
    const auto length = static_cast<std::int64_t>(word.size());
    const Int counted = static_cast<Int>(before.size()) + static_cast<Int>(after.size()) +
                        (rests_after(model_->header(), *bytes_, length, budget_) + (always ? 1 : period)) *
                            static_cast<Int>(length);
    holds(static_cast<Int>(letters) >= counted, text("letters is ", letters, "; more are counted"));
    say(text("forced: whatever its weights, a model of these shapes is wrong on a word of at most ",
             plural(letters, "letter")));
  }

  Budget& budget_;
  const std::string* bytes_;
  Members claim_;
  Report report_;
  Automaton automaton_;
  std::unique_ptr<Model> model_;
};

}  // namespace

void check_model_hash(Members& frame, const std::string* model) {
  if (!model) throw Malformed("this certificate has a model; its file is expected on the command line");
  Members named = frame.object("model");
  const std::string hash = named.word("sha256");
  named.done();
  if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Malformed("model.sha256 is not a SHA-256 in lower case");
  holds(hash == sha256(*model), "the model file is another one: its SHA-256 differs");
}

bool speaks_of_words(const std::string& kind) { return kind == "every-length" || kind == "wrong-word"; }

Report verify_words(Members& frame, const std::string* model, Budget& budget) {
  return WordVerification(frame, model, budget).run();
}

}  // namespace rung_check
