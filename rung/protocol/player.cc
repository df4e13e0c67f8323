#include "rung/protocol/player.h"

#include <algorithm>

namespace rung {
namespace {

std::vector<NumberWidth> signed_widths(const std::vector<int>& bits) {
  std::vector<NumberWidth> widths;
  for (const int b : bits) widths.push_back({b, true});
  return widths;
}

std::vector<Int128> widened(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<std::int64_t> narrowed(const std::vector<Int128>& numbers) {
  std::vector<std::int64_t> out;
  for (const Int128 number : numbers) out.push_back(static_cast<std::int64_t>(number));
  return out;
}

}  // namespace

Player::Player(const ModelParts& model, const std::vector<OwnedSegment>& players, std::int64_t self,
               std::span<const std::vector<std::int64_t>> tokens)
    : model_(model), players_(players), self_(self) {
  RUNG_REQUIRE(static_cast<std::int64_t>(tokens.size()) == segment().size(), "{} tokens of {} positions",
               tokens.size(), segment().size());
  x_.resize(tokens.size() * static_cast<std::size_t>(model.width()));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    model.embed(tokens[i].data(), segment().first + static_cast<std::int64_t>(i),
                x_.data() + static_cast<std::int64_t>(i) * model.width());
}

void Player::begin(std::int64_t layer, std::int64_t mixed_width) {
  mixed_width_ = mixed_width;
  u_.resize(x_.size());
  for (std::int64_t i = 0; i < segment().size(); ++i)
    model_.input(layer, x_.data() + i * model_.width(), u_.data() + i * model_.width());
  mixed_.assign(static_cast<std::size_t>(segment().size() * mixed_width), 0);
}

void Player::finish(std::int64_t layer) {
  for (std::int64_t i = 0; i < segment().size(); ++i)
    model_.finish(layer, mixed_.data() + i * mixed_width_, x_.data() + i * model_.width());
}

Message Player::to(const Site& site, std::int64_t receiver, MessageKind kind, std::int64_t tokens) const {
  return {
      .epoch = site.layer, .part = site.part, .from = self_, .to = receiver, .kind = kind, .tokens = tokens};
}

Result<std::vector<std::int64_t>> Player::take_state(Channel& channel, const Site& site,
                                                     const std::vector<int>& widths) const {
  if (first() || widths.empty()) return std::vector<std::int64_t>(widths.size(), 0);
  RUNG_TRY(const auto numbers, channel.receive(site.layer, site.part, self_ - 1, self_, MessageKind::state));
  return narrowed(numbers);
}

Result<void> Player::pass_state(Channel& channel, const Site& site, const std::vector<std::int64_t>& numbers,
                                const std::vector<int>& widths) const {
  RUNG_REQUIRE(numbers.size() == widths.size(), "{} numbers, {} widths", numbers.size(), widths.size());
  if (last() || widths.empty()) return {};
  return channel.send(to(site, self_ + 1, MessageKind::state, 0), widened(numbers), signed_widths(widths));
}

Result<void> Player::hand_over(Channel& channel, const Site& site) {
  const ExactMixer& mixer = *site.mixer;
  std::unique_ptr<ExactState> state;
  if (first()) {
    state = mixer.start();
  } else {
    RUNG_TRY(const auto numbers, take_state(channel, site, mixer.state_widths(segment().first)));
    state = mixer.restore(numbers, segment().first);
  }
  for (std::int64_t i = 0; i < segment().size(); ++i) mixer.step(*state, input(i), output(site, i));
  std::vector<std::int64_t> numbers;
  state->append_numbers(numbers);
  return pass_state(channel, site, numbers, mixer.state_widths(segment().end));
}

Result<void> Player::attend(Channel& channel, const Site& site) {
  const SplitSoftmax& softmax = *site.mixer->softmax();
  const auto widths = softmax.front_widths();
  RUNG_TRY(const auto front, take_state(channel, site, widths));
  attention_ = softmax.open(front);
  for (std::int64_t i = 0; i < segment().size(); ++i) attention_->append(input(i));
  const auto sizes = softmax.sizes();
  sums_.assign(static_cast<std::size_t>(segment().size()),
               std::vector<SoftmaxSums>(static_cast<std::size_t>(sizes.heads), SoftmaxSums(sizes.value_dim)));
  return pass_state(channel, site, attention_->front(), widths);
}

Result<void> Player::ask(Channel& channel, const Site& site, std::int64_t sender) const {
  std::vector<Int128> numbers;
  for (std::int64_t i = 0; i < segment().size(); ++i) {
    const auto query = attention_->query(i);
    numbers.insert(numbers.end(), query.begin(), query.end());
  }
  const NumberWidth width{site.mixer->softmax()->sizes().query_bits, true};
  return channel.send(to(site, sender, MessageKind::query, segment().size()), std::move(numbers),
                      std::span(&width, 1));
}

Result<void> Player::answer(Channel& channel, const Site& site, std::int64_t receiver,
                            SumWidths widths) const {
  const auto sizes = site.mixer->softmax()->sizes();
  RUNG_TRY(const auto heard, channel.receive(site.layer, site.part, receiver, self_, MessageKind::query));
  const auto queries = narrowed(heard);
  const auto row = static_cast<std::size_t>(sizes.heads * sizes.key_dim);
  std::vector<Int128> numbers;
  for (std::size_t i = 0; i < queries.size(); i += row)
    for (const auto& head : attention_->sums(std::span(queries).subspan(i, row), segment().size())) {
      numbers.insert(numbers.end(), head.num.begin(), head.num.end());
      numbers.push_back(head.den);
    }
  std::vector<NumberWidth> declared(static_cast<std::size_t>(sizes.value_dim), {widths.num, true});
  declared.push_back({widths.den, false});
  return channel.send(
      to(site, receiver, MessageKind::partial_sums, static_cast<std::int64_t>(queries.size() / row)),
      std::move(numbers), declared);
}

Result<void> Player::take(Channel& channel, const Site& site, std::int64_t sender) {
  RUNG_TRY(const auto numbers,
           channel.receive(site.layer, site.part, sender, self_, MessageKind::partial_sums));
  auto number = numbers.begin();
  for (auto& heads : sums_)
    for (auto& head : heads) {
      for (auto& entry : head.num) entry += *number++;
      head.den += *number++;
    }
  return {};
}

void Player::close(const Site& site) {
  for (std::int64_t i = 0; i < segment().size(); ++i) {
    auto& heads = sums_[static_cast<std::size_t>(i)];
    const auto own = attention_->sums(attention_->query(i), i + 1);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      for (std::size_t c = 0; c < heads[h].num.size(); ++c) heads[h].num[c] += own[h].num[c];
      heads[h].den += own[h].den;
    }
    site.mixer->softmax()->finish(heads, output(site, i));
  }
}

std::pair<std::int64_t, std::int64_t> Player::own_units(std::int64_t player, std::int64_t unit) const {
  const auto& owner = players_[static_cast<std::size_t>(player)];
  return {owner.first / unit, owner.end / unit};
}

Result<void> Player::select(Channel& channel, const Site& site, const Turn& turn) {
  const auto& selection = *site.mixer->selection();
  const std::int64_t start = segment().first, unit = selection.unit();
  RUNG_TRY(const auto front, take_state(channel, site, selection.front_widths(start)));
  selected_ = selection.open(front, start);
  known_.assign(static_cast<std::size_t>(start), false);
  std::fill(known_.end() - selection.front_tokens(start), known_.end(), true);
  const auto summary_size = selection.summary_widths().size();
  for (std::int64_t j = 0; j < self_; ++j) {
    const auto [low, high] = own_units(j, unit);
    if (low == high) continue;
    RUNG_TRY(const auto heard, channel.receive(site.layer, site.part, j, self_, MessageKind::summary));
    const auto numbers = narrowed(heard);
    for (std::int64_t r = low; r < high; ++r)
      selection.put_summary(
          *selected_, r,
          std::span(numbers).subspan(static_cast<std::size_t>(r - low) * summary_size, summary_size));
  }
  for (std::int64_t i = 0; i < segment().size(); ++i) {
    RUNG_CHECK(read_units(channel, site, selection.wanted(*selected_, input(i)), turn));
    site.mixer->step(*selected_, input(i), output(site, i));
  }
  if (last()) return {};
  if (const auto [low, high] = own_units(self_, unit); low < high) {
    std::vector<Int128> numbers;
    for (std::int64_t r = low; r < high; ++r) {
      const auto one = selection.summary(*selected_, r);
      numbers.insert(numbers.end(), one.begin(), one.end());
    }
    RUNG_CHECK(channel.send(to(site, kLaterPlayers, MessageKind::summary, (high - low) * unit),
                            std::move(numbers), signed_widths(selection.summary_widths())));
  }
  return pass_state(channel, site, selection.front(*selected_), selection.front_widths(segment().end));
}

Result<void> Player::read_units(Channel& channel, const Site& site, const std::vector<std::int64_t>& units,
                                const Turn& turn) {
  const auto& selection = *site.mixer->selection();
  const std::int64_t start = segment().first, unit = selection.unit();
  const NumberWidth name{std::max(1, ceil_lg(static_cast<std::uint64_t>(players_.back().end / unit + 1))),
                         false};
  const auto token_size = selection.token_widths().size();
  for (std::int64_t j = 0; j < self_; ++j) {
    const auto& owner = players_[static_cast<std::size_t>(j)];
    std::vector<Int128> wanted;
    std::vector<std::int64_t> tokens;
    for (const auto r : units) {
      const std::int64_t low = std::max(r * unit, owner.first),
                         high = std::min({(r + 1) * unit, owner.end, start});
      if (low >= high ||
          std::all_of(known_.begin() + low, known_.begin() + high, [](bool known) { return known; }))
        continue;
      wanted.push_back(r);
      for (std::int64_t t = low; t < high; ++t) tokens.push_back(t);
    }
    if (wanted.empty()) continue;
    RUNG_CHECK(channel.send(to(site, j, MessageKind::selection, static_cast<std::int64_t>(tokens.size())),
                            std::move(wanted), std::span(&name, 1)));
    RUNG_CHECK(turn(j));
    RUNG_TRY(const auto heard, channel.receive(site.layer, site.part, j, self_, MessageKind::tokens));
    const auto numbers = narrowed(heard);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      selection.put_token(*selected_, tokens[i], std::span(numbers).subspan(i * token_size, token_size));
      known_[static_cast<std::size_t>(tokens[i])] = true;
    }
  }
  return {};
}

Result<void> Player::answer_selection(Channel& channel, const Site& site, std::int64_t receiver) const {
  const auto& selection = *site.mixer->selection();
  const std::int64_t unit = selection.unit();
  RUNG_TRY(const auto units, channel.receive(site.layer, site.part, receiver, self_, MessageKind::selection));
  std::vector<Int128> numbers;
  std::int64_t tokens = 0;
  for (const Int128 r : units)
    for (std::int64_t t = std::max(static_cast<std::int64_t>(r) * unit, segment().first);
         t < std::min(static_cast<std::int64_t>(r + 1) * unit, segment().end); ++t, ++tokens) {
      const auto one = selection.token(*selected_, t);
      numbers.insert(numbers.end(), one.begin(), one.end());
    }
  return channel.send(to(site, receiver, MessageKind::tokens, tokens), std::move(numbers),
                      signed_widths(selection.token_widths()));
}

Readout Player::read(std::int64_t position) const {
  RUNG_REQUIRE(position >= segment().first && position < segment().end, "position {} of {}..{}", position,
               segment().first, segment().end);
  return model_.read(position, x_.data() + (position - segment().first) * model_.width());
}

}  // namespace rung
