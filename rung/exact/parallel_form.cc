#include "rung/exact/parallel_form.h"

#include <numeric>

#include "rung/exact/model_parts.h"

namespace rung {
namespace {

// Rows that are held in memory.
class HeldRows final : public Rows<std::int64_t> {
 public:
  HeldRows(std::int64_t count, std::int64_t width)
      : count_(count), width_(width), numbers_(static_cast<std::size_t>(count * width)) {}
  std::int64_t count() const override { return count_; }
  std::int64_t width() const override { return width_; }
  void read(std::int64_t begin, std::int64_t end, std::int64_t* out) const override {
    std::copy(numbers_.begin() + begin * width_, numbers_.begin() + end * width_, out);
  }
  std::int64_t* row(std::int64_t t) { return numbers_.data() + t * width_; }

 private:
  std::int64_t count_, width_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace

Result<FormComparison> compare_forms(const Machine& machine, const std::vector<FieldSpec>& fields,
                                     const Prompt& prompt) {
  const ModelParts* parts = machine.parts();
  if (!parts)
    return fail(ErrorCode::unsupported,
                "[exact] the forms of linear attention are compared in integers (mode X) alone");
  FormComparison comparison;
  bool any = false;
  for (std::int64_t layer = 0; layer < parts->layers(); ++layer)
    for (const ExactMixer* mixer : parts->mixers(layer)) {
      any = any || mixer->parallel_form() != ParallelForm::none;
      comparison.rounds = comparison.rounds || mixer->parallel_form() == ParallelForm::rounded;
    }
  if (!any)
    return fail(
        ErrorCode::unsupported,
        "[exact] no layer has a parallel form beside its recurrence; expected causal linear attention");
  RUNG_CHECK(parts->check(prompt));

  const std::int64_t count = prompt.positions, width = parts->width();
  std::vector<HeldRows> recurrent(static_cast<std::size_t>(parts->layers()), HeldRows(count, width));
  const std::int64_t last = count - 1;
  RUNG_TRY([[maybe_unused]] const auto readouts,
           machine.forward(prompt, std::span(&last, 1),
                           [&](std::int64_t layer, std::int64_t position, std::span<const std::int64_t> row) {
                             std::copy(row.begin(), row.end(),
                                       recurrent[static_cast<std::size_t>(layer)].row(position));
                           }));

  HeldRows x(count, width);
  for (std::int64_t t = 0; t < count; ++t) parts->embed(prompt_row(prompt, fields, t).data(), t, x.row(t));
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t layer = 0; layer < parts->layers(); ++layer) {
    HeldRows input(count, width);
    for (std::int64_t t = 0; t < count; ++t) parts->input(layer, x.row(t), input.row(t));
    const auto mixers = parts->mixers(layer);
    std::int64_t mixed_width = 0;
    for (const ExactMixer* mixer : mixers) mixed_width += mixer->output_width();
    HeldRows mixed(count, mixed_width);
    std::int64_t offset = 0;
    for (const ExactMixer* mixer : mixers) {
      std::vector<std::int64_t> y(static_cast<std::size_t>(count * mixer->output_width()));
      if (mixer->parallel_form() == ParallelForm::none)
        mixer->forward(input, all, y.data());
      else
        mixer->forward_parallel(input, all, y.data());
      for (std::int64_t t = 0; t < count; ++t)
        std::copy_n(y.begin() + t * mixer->output_width(), mixer->output_width(), mixed.row(t) + offset);
      offset += mixer->output_width();
    }
    for (std::int64_t t = 0; t < count; ++t) {
      parts->finish(layer, mixed.row(t), x.row(t));
      ++comparison.rows;
      for (std::int64_t c = 0; c < width && !comparison.first; ++c) {
        const std::int64_t other = recurrent[static_cast<std::size_t>(layer)].row(t)[c];
        if (x.row(t)[c] != other) comparison.first = FormDifference{layer, t, c, x.row(t)[c], other};
      }
    }
  }
  return comparison;
}

}  // namespace rung
