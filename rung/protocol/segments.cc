#include "rung/protocol/segments.h"

#include "rung/base/nearest_word.h"
#include "rung/tasks/seqcomp_layout.h"

namespace rung {
namespace {

constexpr std::string_view kForms[] = {"auto", "two-party", "players", "sparse"};

// The layout of an L-SeqComp prompt in the hard order; nothing for other tasks.
std::optional<SeqCompLayout> hard_layout(const Task& task) {
  if (task.name() != "seqcomp" || task.options().contains("order")) return std::nullopt;
  const auto size = task.size();
  if (!size.contains("L") || !size.contains("m")) return std::nullopt;
  std::vector<std::int64_t> branching;
  for (std::int64_t l = 1; l < size["L"].get<std::int64_t>(); ++l) {
    const std::string name = fmt::format("n{}", l);
    if (!size.contains(name)) return std::nullopt;
    branching.push_back(size[name].get<std::int64_t>());
  }
  auto layout =
      SeqCompLayout::make(size["m"].get<std::int64_t>(), std::move(branching), SeqCompLayout::Order::hard);
  if (!layout) return std::nullopt;
  return *layout;
}

// B of the model's sparse layers; 0 without one, -1 when they differ.
std::int64_t block_of(const std::vector<LayerShape>& layers) {
  std::int64_t block = 0;
  const auto visit = [&](const auto& self, const MixerShape& mixer) -> void {
    for (const auto& part : mixer.parts) self(self, part);
    if (mixer.kind == MixerKind::sparse && mixer.form.plain())
      block = block == 0 || block == mixer.block ? mixer.block : -1;
  };
  for (const auto& layer : layers) visit(visit, layer.mixer);
  return block;
}

std::vector<OwnedSegment> seqcomp_players(const SeqCompLayout& layout) {
  std::vector<OwnedSegment> players;
  for (std::int64_t l = layout.levels(); l >= 1; --l)
    players.push_back({std::to_string(l), fmt::format("z_{}", l), layout.table_position(l),
                       layout.table_position(l) + layout.domain(l - 1)});
  players.push_back({"0", "z_0", layout.start_position(), layout.start_position() + 1});
  const std::string w = layout.levels() == 1   ? ""
                        : layout.levels() == 2 ? "w_1, "
                                               : fmt::format("w_1 ... w_{}, ", layout.levels() - 1);
  players.push_back({"-1", w + "=", layout.start_position() + 1, layout.length()});
  return players;
}

}  // namespace

Result<ProtocolForm> parse_protocol_form(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kForms); ++i)
    if (kForms[i] == text) return static_cast<ProtocolForm>(i);
  return fail(ErrorCode::parse, "[protocol] unknown form {}; {}", quoted(text),
              suggest(text, std::vector<std::string_view>(std::begin(kForms), std::end(kForms))));
}
std::string_view protocol_form_name(ProtocolForm form) { return kForms[static_cast<std::size_t>(form)]; }

std::int64_t natural_cut(const Task& task) {
  if (const auto layout = hard_layout(task)) return layout->domain(layout->levels() - 1);
  if (task.name() == "equality" || task.name() == "disjointness") return task.prompt_length() / 2;
  return task.query_positions().empty() ? task.prompt_length() - 1 : task.query_positions().front();
}

ProtocolForm automatic_form(const Task& task, const std::vector<LayerShape>& layers) {
  if (hard_layout(task)) return ProtocolForm::players;
  return block_of(layers) > 0 ? ProtocolForm::sparse : ProtocolForm::two_party;
}

Result<std::vector<OwnedSegment>> make_segments(const Task& task, const std::vector<LayerShape>& layers,
                                                ProtocolForm form, std::optional<std::int64_t> cut) {
  const std::int64_t length = task.prompt_length();
  if (cut && form != ProtocolForm::two_party)
    return fail(ErrorCode::unsupported, "[protocol] `cut` with the form {}; a cut belongs to two-party",
                protocol_form_name(form));
  switch (form) {
    case ProtocolForm::automatic:
      RUNG_REQUIRE(false, "a form is chosen before its players");
    case ProtocolForm::two_party: {
      const std::int64_t at = cut.value_or(natural_cut(task));
      if (at < 1 || at >= length)
        return fail(ErrorCode::range,
                    "[protocol] cut = {}; expected 1 to {}, so that both parties own tokens{}", at,
                    length - 1, cut ? "" : " (say `cut`)");
      return std::vector<OwnedSegment>{{"Alice", "positions before the cut", 0, at},
                                       {"Bob", "positions from the cut on", at, length}};
    }
    case ProtocolForm::players:
      if (const auto layout = hard_layout(task)) return seqcomp_players(*layout);
      return fail(
          ErrorCode::unsupported,
          "[protocol] the L+2 players are those of seqcomp in the hard order; {} has `form` two-party",
          task.name());
    case ProtocolForm::sparse:
      break;
  }
  const std::int64_t block = block_of(layers);
  if (block == 0)
    return fail(ErrorCode::unsupported,
                "[protocol] no layer has blocks; `form` sparse expects a sparse mixer");
  if (block < 0)
    return fail(ErrorCode::unsupported,
                "[protocol] sparse layers with different blocks; `form` two-party or players runs them");
  const std::int64_t blocks =
      (task.query_positions().empty() ? length - 1 : task.query_positions().back()) / block;
  if (blocks < 1)
    return fail(
        ErrorCode::range,
        "[protocol] no complete block of {} tokens before the answer position; expected a longer prompt",
        block);
  if (blocks >= kMaxPlayers)
    return fail(ErrorCode::resource, "[protocol] {} players; at most {} expected", blocks + 1, kMaxPlayers);
  std::vector<OwnedSegment> players;
  for (std::int64_t r = 0; r < blocks; ++r)
    players.push_back({fmt::format("block {}", r), fmt::format("block {}", r), r * block, (r + 1) * block});
  players.push_back({"query", "the rest, with the query", blocks * block, length});
  return players;
}

}  // namespace rung
