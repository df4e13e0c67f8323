#include "check/settling.h"

namespace rung_check {
namespace {

class Settling {
 public:
  Settling(const ModelHeader& header, TensorFile& file, std::int64_t length, Budget& budget)
      : header_(header), file_(file), length_(length), budget_(budget) {}

  // Copies of the word until the mixer's output repeats, after its input does.
  Int copies(const Shape& shape, const std::string& prefix) {
    if (shape.kind == "heads") {
      Int most = 0;
      for (std::size_t part = 0; part < shape.parts.size(); ++part)
        most = std::max(most, copies(shape.parts[part], text(prefix, "part.", part, ".")));
      return most;
    }
    Int found = shape.conv > 1 ? whole(shape.conv - 1) : 0;
    if (shape.kind == "identity" || shape.kind == "none" || shape.kind == "conv") return found;
    if (shape.kind == "full" && shape.window > 0 && shape.chunk == 0) return found + whole(shape.window - 1);
    const bool state_space = shape.kind == "mamba" || shape.kind == "mamba2";
    holds(state_space || (shape.kind == "linear" && header_.accumulator == "round"),
          text("a layer ", shape.kind, " is not known to come to rest"));
    holds(header_.accumulator != "wrap", "the states wrap");
    if (state_space) {
      const std::string table =
          prefix + (shape.kind == "mamba" || shape.form.step ? "decay.table" : "gate.table");
      for (const auto decay : file_.integers(table, file_.take(table).shape, budget_))
        holds(decay >= 0, text(table, " holds a negative decay"));
    }
    const std::int64_t bits = header_.architecture.accumulator_bits;
    // A chain of 2^bits values in one direction; of a single letter the value before the first copy
    // counts, too.
    return found + (static_cast<Int>(1) << bits) - (length_ == 1 ? 2 : 1);
  }

 private:
  Int whole(std::int64_t tokens) const { return (tokens + length_ - 1) / length_; }

  const ModelHeader& header_;
  TensorFile& file_;
  std::int64_t length_;
  Budget& budget_;
};

}  // namespace

Int rests_after(const ModelHeader& header, const std::string& model, std::int64_t length, Budget& budget) {
  holds(header.architecture.position == "none", "the model has a position code");
  holds(header.architecture.context == 0, "the model has a context");
  TensorFile file(model);
  Settling settling(header, file, length, budget);
  Int rests = 1;
  for (std::size_t l = 0; l < header.architecture.layers.size(); ++l)
    rests += settling.copies(header.architecture.layers[l], text("layers.", l, "."));
  return rests;
}

}  // namespace rung_check
