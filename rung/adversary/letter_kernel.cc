// The parts kernel: restore, step, store again. A window's tokens are part of its state: their number
// varies until the window is full, so such a mixer has a place for the number of its stored numbers, and
// unused places are 0. A chunk forgets everything when it is complete.
#include "rung/adversary/letter_kernel.h"

#include <algorithm>

#include "rung/base/ceil_lg.h"
#include "rung/exact/model_parts.h"

namespace rung {
namespace {

struct LetterMixer {
  const ExactMixer* mixer = nullptr;
  std::int64_t most_tokens = 0;  // kept by a window or chunk; 0: the state has one size
  bool chunk = false;
  std::size_t front = 0, token = 0;     // numbers beside the tokens, and of one token in all key heads
  std::size_t first = 0, capacity = 0;  // places of its numbers
  bool counted() const { return most_tokens > 0; }
};

void flatten_mixers(const MixerShape& shape, std::vector<const MixerShape*>& out) {
  if (shape.kind == MixerKind::none) return;
  if (shape.parts.empty()) return out.push_back(&shape);
  for (const auto& part : shape.parts) flatten_mixers(part, out);
}

class LetterParts {
 public:
  explicit LetterParts(const Target& target) : parts_(target.machine->parts()) {
    for (std::int64_t layer = 0; layer < parts_->layers(); ++layer) {
      std::vector<const MixerShape*> shapes;
      flatten_mixers(target.layers[static_cast<std::size_t>(layer)].mixer, shapes);
      const auto mixers = parts_->mixers(layer);
      RUNG_REQUIRE(shapes.size() == mixers.size(), "{} shapes of {} mixers", shapes.size(), mixers.size());
      layers_.emplace_back();
      for (std::size_t i = 0; i < mixers.size(); ++i) layers_.back().push_back(add(*mixers[i], *shapes[i]));
    }
  }

  LetterMixer add(const ExactMixer& mixer, const MixerShape& shape) {
    LetterMixer part{.mixer = &mixer};
    if (shape.kind == MixerKind::full) {
      part.chunk = shape.chunk.has_value();
      part.most_tokens = (part.chunk ? *shape.chunk : *shape.window) - 1;
    }
    const auto widths = mixer.state_widths(part.most_tokens);
    part.front = mixer.state_widths(0).size();
    part.capacity = widths.size();
    if (part.counted()) {
      part.token = (part.capacity - part.front) / static_cast<std::size_t>(part.most_tokens);
      widths_.push_back(1 + ceil_lg(part.most_tokens + 1));
      // Tokens of a window that is not full yet stand elsewhere than later: one width serves all.
      const int widest = *std::max_element(widths.begin(), widths.end());
      part.first = widths_.size();
      widths_.insert(widths_.end(), part.capacity, widest);
    } else {
      part.first = widths_.size();
      widths_.insert(widths_.end(), widths.begin(), widths.end());
    }
    return part;
  }

  const ModelParts* parts_;
  std::vector<std::vector<LetterMixer>> layers_;
  std::vector<int> widths_;
};

class PartsKernel final : public LetterKernel {
 public:
  PartsKernel(LetterParts model, const LetterRows& rows, int task_bits)
      : LetterKernel(model.widths_, task_bits, static_cast<std::int64_t>(rows.size())),
        model_(std::move(model)) {
    for (const auto& row : rows) {
      embedded_.emplace_back(static_cast<std::size_t>(model_.parts_->width()));
      model_.parts_->embed(row.data(), 0, embedded_.back().data());
    }
  }
  std::string_view name() const override { return "parts"; }

  std::vector<std::uint64_t> empty() const override {
    std::vector<std::uint64_t> words(code_.words());
    std::vector<std::int64_t> numbers;
    for (const auto& layer : model_.layers_)
      for (const auto& part : layer) {
        numbers.clear();
        part.mixer->start()->append_numbers(numbers);
        store(part, numbers, 0, words.data());
      }
    return words;
  }

  void read(const std::uint64_t* nodes, std::int64_t count, std::uint64_t* after,
            std::int64_t* answers) const override {
    const auto width = static_cast<std::size_t>(model_.parts_->width());
    std::vector<std::int64_t> x(width), input(width), mixed, numbers;
    std::fill_n(after, static_cast<std::size_t>(count * letters_) * code_.words(), 0);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t l = 0; l < letters_; ++l, after += code_.words(), ++answers) {
        const std::uint64_t* node = nodes + static_cast<std::size_t>(i) * code_.words();
        x = embedded_[static_cast<std::size_t>(l)];
        for (std::size_t layer = 0; layer < model_.layers_.size(); ++layer) {
          const auto& mixers = model_.layers_[layer];
          mixed.clear();
          if (!mixers.empty()) model_.parts_->input(static_cast<std::int64_t>(layer), x.data(), input.data());
          for (const auto& part : mixers) {
            const std::size_t at = mixed.size();
            mixed.resize(at + static_cast<std::size_t>(part.mixer->output_width()));
            const std::int64_t tokens = load(part, node, numbers);
            const auto state = part.mixer->restore(numbers, tokens);
            part.mixer->step(*state, input.data(), mixed.data() + at);
            numbers.clear();
            state->append_numbers(numbers);
            store(part, numbers, tokens + 1, after);
          }
          model_.parts_->finish(static_cast<std::int64_t>(layer), mixed.data(), x.data());
        }
        *answers = model_.parts_->read(0, x.data()).answer.front();
      }
  }

  std::vector<std::vector<std::int64_t>> numbers(const std::uint64_t* node) const override {
    std::vector<std::vector<std::int64_t>> all;
    for (const auto& layer : model_.layers_)
      for (const auto& part : layer) {
        all.emplace_back();
        load(part, node, all.back());
      }
    return all;
  }

 private:
  // The mixer's numbers; returns how many tokens it keeps, which is all that it knows of the position.
  std::int64_t load(const LetterMixer& part, const std::uint64_t* node,
                    std::vector<std::int64_t>& numbers) const {
    const std::int64_t tokens = part.counted() ? code_.get(part.first - 1, node) : 0;
    const std::size_t size =
        part.counted() ? part.front + static_cast<std::size_t>(tokens) * part.token : part.capacity;
    numbers.resize(size);
    for (std::size_t j = 0; j < size; ++j) numbers[j] = code_.get(part.first + j, node);
    return tokens;
  }
  // `tokens`: how many the mixer has seen, where it counts.
  void store(const LetterMixer& part, std::vector<std::int64_t>& numbers, std::int64_t tokens,
             std::uint64_t* node) const {
    if (part.counted()) {
      const std::int64_t kept =
          part.chunk ? tokens % (part.most_tokens + 1) : std::min(tokens, part.most_tokens);
      if (part.chunk && kept == 0) numbers.resize(part.front);
      RUNG_REQUIRE(numbers.size() == part.front + static_cast<std::size_t>(kept) * part.token,
                   "{} numbers of {} tokens", numbers.size(), kept);
      code_.put(part.first - 1, kept, node);
    }
    for (std::size_t j = 0; j < numbers.size(); ++j) code_.put(part.first + j, numbers[j], node);
  }

  LetterParts model_;
  std::vector<std::vector<std::int64_t>> embedded_;  // by letter
};

}  // namespace

std::unique_ptr<LetterKernel> make_parts_kernel(const Target& target, const LetterRows& rows, int task_bits) {
  return std::make_unique<PartsKernel>(LetterParts(target), rows, task_bits);
}

std::unique_ptr<LetterKernel> make_letter_kernel(const Target& target, const LetterRows& rows,
                                                 int task_bits) {
  if (auto lanes = make_letter_lanes(target, rows, task_bits)) return std::move(*lanes);
  return make_parts_kernel(target, rows, task_bits);
}

}  // namespace rung
