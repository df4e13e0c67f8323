#include "rung/protocol/transcript_json.h"

#include "rung/base/plural.h"
#include "rung/spec/accounting.h"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

Json message_json(const Message& message, const std::vector<OwnedSegment>& players) {
  const auto name = [&](std::int64_t player) {
    return player == kLaterPlayers ? std::string("later") : players[static_cast<std::size_t>(player)].name;
  };
  return {{"from", name(message.from)}, {"to", name(message.to)},   {"kind", message_kind_name(message.kind)},
          {"part", message.part},       {"tokens", message.tokens}, {"numbers", message.numbers},
          {"bits", message.bits},       {"widest", message.widest}, {"charged", is_charged(message.kind)}};
}

Json epochs_json(const Transcript& transcript) {
  Json epochs = Json::array();
  auto message = transcript.messages.begin();
  for (std::size_t layer = 0; layer < transcript.epochs.size(); ++layer) {
    const auto& epoch = transcript.epochs[layer];
    Json messages = Json::array(), terms = Json::array();
    for (; message != transcript.messages.end() && message->epoch == static_cast<std::int64_t>(layer);
         ++message)
      messages.push_back(message_json(*message, transcript.players));
    for (const auto& term : epoch.terms)
      terms.push_back({{"part", term.part},
                       {"kind", message_kind_name(term.kind)},
                       {"text", term.text},
                       {"bits", term.bits}});
    epochs.push_back({{"layer", layer},
                      {"mixer", epoch.mixer},
                      {"letters", epoch.letters},
                      {"messages", messages},
                      {"formula", terms},
                      {"charged_bits", epoch.charged_bits},
                      {"formula_bits", epoch.formula_bits},
                      {"asked_bits", epoch.asked_bits},
                      {"read_bits", epoch.read_bits}});
  }
  return epochs;
}

std::string positions_text(std::int64_t first, std::int64_t end) {
  return end - first == 1 ? fmt::format("position {}", first)
                          : fmt::format("positions {}..{}", first, end - 1);
}

// What player i knows after `epochs` epochs.
Json knowledge_json(const Transcript& transcript, std::size_t i, std::size_t epochs) {
  const auto& player = transcript.players[i];
  const std::int64_t received = epochs == 0 ? 0 : transcript.epochs[epochs - 1].received[i];
  std::string line = epochs == 0 ? fmt::format("the tokens of {}", positions_text(player.first, player.end))
                                 : fmt::format("the rows of {} after layer {}",
                                               positions_text(player.first, player.end), epochs - 1);
  if (i == 0)
    line += ", from its own tokens alone";
  else if (epochs > 0)
    line += fmt::format(", from its own tokens and {} about {}", counted(received, "bit"),
                        positions_text(0, player.first));
  return {{"player", player.name}, {"received_bits", received}, {"line", line}};
}

Json all_knowledge(const Transcript& transcript, std::size_t epochs) {
  Json all = Json::array();
  for (std::size_t i = 0; i < transcript.players.size(); ++i)
    all.push_back(knowledge_json(transcript, i, epochs));
  return all;
}

}  // namespace

std::vector<std::string> token_symbols(const Task& task, const Prompt& prompt, std::int64_t first,
                                       std::int64_t end) {
  const auto fields = task.fields();
  std::vector<std::string> symbols;
  for (std::int64_t t = first; t < end; ++t) {
    std::string symbol;
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; i < fields[f].length; ++i) {
        if (f > 0 || i > 0) symbol += ':';
        symbol += task.symbol(f, prompt.fields[f][static_cast<std::size_t>(t * fields[f].length + i)]);
      }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

Json transcript_json(const Transcript& transcript, const TranscriptSubject& subject) {
  Json document{{"schema", "rung.protocol/1"},
                {"model", subject.model},
                {"architecture", format_spelled_stack(subject.weights.architecture.stack)},
                {"task", subject.task.name()},
                {"size", subject.task.size()}};
  if (const auto options = subject.task.options(); !options.empty()) document["options"] = options;
  document["form"] = protocol_form_name(transcript.form);
  document["sum_bits"] = subject.sum_bits ? Json(*subject.sum_bits) : Json(nullptr);
  Json players = Json::array();
  for (const auto& player : transcript.players)
    players.push_back({{"name", player.name},
                       {"owns", player.owns},
                       {"first", player.first},
                       {"last", player.end - 1},
                       {"tokens", token_symbols(subject.task, subject.prompt, player.first, player.end)}});
  document["players"] = players;
  document["epochs"] = epochs_json(transcript);
  document.update({{"charged_bits", transcript.charged_bits},
                   {"formula_bits", transcript.formula_bits},
                   {"counts_equal", transcript.counts_equal},
                   {"asked_bits", transcript.asked_bits},
                   {"read_bits", transcript.read_bits},
                   {"rows_compared", transcript.rows_compared},
                   {"row_width", subject.weights.architecture.dimensions.width},
                   {"equal_rows", transcript.equal_rows}});
  document["first_difference"] = nullptr;
  if (const auto& difference = transcript.first_difference)
    document["first_difference"] = {{"layer", difference->layer},
                                    {"position", difference->position},
                                    {"coordinate", difference->coordinate},
                                    {"protocol", difference->protocol},
                                    {"machine", difference->machine}};
  document.update({{"answer_positions", subject.task.query_positions()},
                   {"answer", transcript.answer},
                   {"machine_answer", transcript.machine_answer},
                   {"reference", transcript.reference},
                   {"notes", transcript.notes}});
  return document;
}

Json trace_json(const Transcript& transcript, const TranscriptSubject& subject) {
  Json document = transcript_json(transcript, subject);
  document["schema"] = "rung.protocol-trace/1";
  document["knowledge"] = all_knowledge(transcript, 0);
  for (std::size_t layer = 0; layer < transcript.epochs.size(); ++layer)
    document["epochs"][layer]["knowledge"] = all_knowledge(transcript, layer + 1);
  return document;
}

}  // namespace rung
