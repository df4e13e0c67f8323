#include "rung/protocol/protocol.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "rung/protocol/player.h"
#include "rung/spec/accounting.h"

namespace rung {
namespace {

// One mixer of one layer, all players.
Result<void> run_mixer(std::vector<Player>& players, Channel& channel, const Player::Site& site,
                       std::int64_t length, std::optional<int> sum_bits) {
  const auto count = static_cast<std::int64_t>(players.size());
  if (const SplitSoftmax* softmax = site.mixer->softmax()) {
    const auto widths = sum_widths(softmax->sizes(), length, sum_bits);
    for (auto& player : players) RUNG_CHECK(player.attend(channel, site));
    for (std::int64_t i = 1; i < count; ++i)
      for (std::int64_t j = 0; j < i; ++j) {
        auto &receiver = players[static_cast<std::size_t>(i)], &sender = players[static_cast<std::size_t>(j)];
        RUNG_CHECK(receiver.ask(channel, site, j));
        RUNG_CHECK(sender.answer(channel, site, i, widths));
        RUNG_CHECK(receiver.take(channel, site, j));
      }
    for (auto& player : players) player.close(site);
    return {};
  }
  if (site.mixer->selection()) {
    for (std::int64_t i = 0; i < count; ++i)
      RUNG_CHECK(players[static_cast<std::size_t>(i)].select(channel, site, [&](std::int64_t j) {
        return players[static_cast<std::size_t>(j)].answer_selection(channel, site, i);
      }));
    return {};
  }
  for (auto& player : players) RUNG_CHECK(player.hand_over(channel, site));
  return {};
}

// All rows after a layer, in the order of the positions.
std::vector<std::int64_t> all_rows(const std::vector<Player>& players) {
  std::vector<std::int64_t> rows;
  for (const auto& player : players) rows.insert(rows.end(), player.rows().begin(), player.rows().end());
  return rows;
}

// REQUIRES messages by epoch.
void count(Transcript& transcript, const std::vector<FormulaTerm>& terms) {
  std::map<std::tuple<std::int64_t, std::int64_t, MessageKind>, std::int64_t> sent,
      counted;  // theorem's kinds only
  std::vector<std::int64_t> received(transcript.players.size(), 0);
  auto message = transcript.messages.begin();
  for (std::size_t layer = 0; layer < transcript.epochs.size(); ++layer) {
    auto& epoch = transcript.epochs[layer];
    for (; message != transcript.messages.end() && message->epoch == static_cast<std::int64_t>(layer);
         ++message) {
      const bool charged = is_charged(message->kind), read = message->kind == MessageKind::tokens;
      (charged ? epoch.charged_bits : read ? epoch.read_bits : epoch.asked_bits) += message->bits;
      if (charged) sent[{message->epoch, message->part, message->kind}] += message->bits;
      if (!charged && !read) continue;
      if (message->to != kLaterPlayers)
        received[static_cast<std::size_t>(message->to)] += message->bits;
      else
        for (std::size_t i = static_cast<std::size_t>(message->from) + 1; i < received.size(); ++i)
          received[i] += message->bits;
    }
    epoch.received = received;
  }
  RUNG_REQUIRE(message == transcript.messages.end(), "messages out of order");
  for (const auto& term : terms) {
    counted[{term.layer, term.part, term.kind}] += term.bits;
    auto& epoch = transcript.epochs[static_cast<std::size_t>(term.layer)];
    epoch.formula_bits += term.bits;
    epoch.terms.push_back(term);
  }
  transcript.counts_equal = sent == counted;
  for (const auto& epoch : transcript.epochs) {
    transcript.charged_bits += epoch.charged_bits;
    transcript.formula_bits += epoch.formula_bits;
    transcript.asked_bits += epoch.asked_bits;
    transcript.read_bits += epoch.read_bits;
  }
}

Result<void> check_request(const Weights& weights, const Task& task, const Prompt& prompt,
                           const ProtocolOptions& options) {
  if (weights.mode == WeightMode::real)
    return fail(ErrorCode::unsupported,
                "[protocol] real weights have no exact partial sums; expected integer weights, which rung "
                "quantise makes");
  if (!weights.architecture.dimensions.causal)
    return fail(ErrorCode::unsupported,
                "[protocol] an encoder's positions all see each other; expected a decoder, whose players "
                "hear from earlier ones alone");
  if (options.sum_bits && (*options.sum_bits < 1 || *options.sum_bits > kMaxProtocolSumBits))
    return fail(ErrorCode::range, "[protocol] `sum-bits` {}; expected 1 to {}", *options.sum_bits,
                kMaxProtocolSumBits);
  if (prompt.positions != task.prompt_length())
    return fail(ErrorCode::range, "[protocol] a prompt of {} positions; {} at this size has {}",
                prompt.positions, task.name(), task.prompt_length());
  RUNG_CHECK(task.validate(prompt));
  const auto& stack = weights.architecture.stack.layers;
  const std::int64_t width = weights.architecture.dimensions.width;
  if (!stack.empty() && prompt.positions > kMaxProtocolNumbers / std::max<std::int64_t>(1, width) /
                                               static_cast<std::int64_t>(stack.size()))
    return fail(ErrorCode::resource,
                "[protocol] {} rows of {} numbers after {} layers; at most {} numbers expected",
                prompt.positions, width, stack.size(), kMaxProtocolNumbers);
  return {};
}

}  // namespace

Result<Transcript> run_protocol(const Weights& weights, const Task& task, const Prompt& prompt,
                                const ProtocolOptions& options) {
  RUNG_CHECK(check_request(weights, task, prompt, options));
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  RUNG_TRY(const auto machine, Machine::load(weights, {.positions = prompt.positions}));
  const ModelParts& model = *machine->parts();
  RUNG_CHECK(model.check(prompt));

  Transcript transcript;
  transcript.form = options.form == ProtocolForm::automatic
                        ? (options.cut ? ProtocolForm::two_party : automatic_form(task, shapes))
                        : options.form;
  RUNG_TRY(transcript.players, make_segments(task, shapes, transcript.form, options.cut));
  const auto accounts = account(weights.architecture, shapes, {}).layers;
  for (const auto& layer : accounts)
    transcript.epochs.push_back({.mixer = layer.text, .letters = layer.letters});
  if (weights.decode.steps > 0)
    transcript.notes.push_back("a chain of thought follows the prompt; the protocol runs the prompt alone");

  std::vector<Player> players;
  for (std::size_t i = 0; i < transcript.players.size(); ++i) {
    const auto& segment = transcript.players[i];
    std::vector<std::vector<std::int64_t>> tokens;
    for (std::int64_t t = segment.first; t < segment.end; ++t)
      tokens.push_back(prompt_row(prompt, weights.fields, t));
    players.emplace_back(model, transcript.players, static_cast<std::int64_t>(i), tokens);
  }

  Channel channel(options.tamper);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t layer = 0; layer < model.layers(); ++layer) {
    const auto mixers = model.mixers(layer);
    std::int64_t mixed_width = 0;
    for (const auto* mixer : mixers) mixed_width += mixer->output_width();
    for (auto& player : players) player.begin(layer, mixed_width);
    Player::Site site{.layer = layer};
    for (const auto* mixer : mixers) {
      site.mixer = mixer;
      RUNG_CHECK(run_mixer(players, channel, site, prompt.positions, options.sum_bits));
      ++site.part;
      site.offset += mixer->output_width();
    }
    for (auto& player : players) player.finish(layer);
    channel.end_epoch();
    rows.push_back(all_rows(players));
  }
  transcript.messages = channel.log();
  count(transcript, formula_terms(model, transcript.players, options.sum_bits));

  // The machine runs apart, after the protocol is over.
  transcript.equal_rows = true;
  const auto differ = [&](const Transcript::Difference& difference) {
    transcript.equal_rows = false;
    if (!transcript.first_difference) transcript.first_difference = difference;
  };
  const LayerObserver observer = [&](std::int64_t layer, std::int64_t position,
                                     std::span<const std::int64_t> row) {
    ++transcript.rows_compared;
    const std::int64_t* own = rows[static_cast<std::size_t>(layer)].data() + position * model.width();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (own[c] != row[c]) return differ({layer, position, static_cast<std::int64_t>(c), own[c], row[c]});
  };
  auto queries = task.query_positions();
  if (queries.empty() || queries.back() + 1 != prompt.positions)
    queries.push_back(prompt.positions - 1);  // so that every row is seen
  RUNG_TRY(const auto readouts, machine->forward(prompt, queries, observer));
  for (std::size_t q = 0; q < task.query_positions().size(); ++q) {
    const auto owner = std::find_if(players.begin(), players.end(),
                                    [&](const Player& player) { return queries[q] < player.segment().end; });
    const Readout own = owner->read(queries[q]);
    if (own.activation != readouts[q].activation || own.logits != readouts[q].logits ||
        own.answer != readouts[q].answer)
      differ({model.layers(), queries[q], 0, own.logits.front(), readouts[q].logits.front()});
    transcript.answer.insert(transcript.answer.end(), own.answer.begin(), own.answer.end());
    transcript.machine_answer.insert(transcript.machine_answer.end(), readouts[q].answer.begin(),
                                     readouts[q].answer.end());
  }
  transcript.reference = task.answer(prompt);
  return transcript;
}

}  // namespace rung
