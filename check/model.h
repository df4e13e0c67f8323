// A model file and its forward pass (docs/weights.md): embedding, layers, norms, output, chain of thought.
#pragma once

#include "check/mixer.h"

namespace rung_check {

// The layers of a file, from prompts to residual rows and logits, in one of the two arithmetics.
template <class N>
class Network {
 public:
  const ModelHeader& header() const { return header_; }
  const Mixer<N>* mixer(std::size_t layer) const { return layers_[layer].mixer.get(); }

  // Forgets everything that was fed.
  void reset();
  // The next positions of the prompt, up to `end`. Residual rows after the last layer and norm at those
  // that are wanted. An encoder is fed once.
  std::map<std::int64_t, Numbers<N>> feed(const Prompt& prompt, std::int64_t end, const Row& wanted);

 protected:
  Network(const std::string& bytes, Budget& budget, const char* other_mode);

  struct Embedding {
    char form = 't';  // t table, b binary, l linear
    Weights<N> rows;
    std::int64_t count = 0;  // rows
    // How many rows a value is the sum of, at most.
    std::int64_t added() const { return form == 'b' ? count : 1; }
  };
  struct Norm {
    Length<N> length;
    Weights<N> gain, bias;  // a bias makes it a layer norm: of a real file alone
    Numbers<N> operator()(const Numbers<N>& x) const { return normed<N>(x, length, gain, bias); }
  };
  struct Layer {
    std::unique_ptr<Mixer<N>> mixer;
    std::optional<Norm> norm1, norm2;
    Map<N> out;
    std::vector<Map<N>> mlp;
    std::vector<typename N::Function> activations;  // empty: relu
  };
  Layer read_layer(const Shape& shape, const Part<N>& part) const;
  Embedding read_embedding(const Part<N>& part, const std::string& name, std::int64_t values,
                           std::int64_t length, char only) const;
  Norm read_norm(const Part<N>& part, const std::string& name) const;
  void add_row(Sums<N>& x, const Embedding& embedding, std::int64_t value) const;
  Numbers<N> embed(const Prompt& prompt, std::int64_t position) const;
  void see(const Layer& layer, const Numbers<N>& x) const {
    layer.mixer->see(layer.norm1 ? (*layer.norm1)(x) : x);
  }
  void add_to_stream(Numbers<N>& x, const Numbers<N>& more) const {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = sat(add(x[c], more[c]), stream_bits_);
  }
  void add_mlp(const Layer& layer, Numbers<N>& x) const;
  Sums<N> logits(const Numbers<N>& activation) const;
  // A prompt with one more position, whose first field begins with the token.
  Prompt continued(Prompt prompt, std::int64_t token) const;

  Budget& budget_;
  ModelHeader header_;
  std::vector<Embedding> embeddings_;
  std::optional<Embedding> position_;
  std::vector<Layer> layers_;
  std::optional<Norm> norm_;
  Weights<N> table_, bias_, threshold_;
  std::int64_t embed_shift_ = 0, stream_bits_ = 0;
  std::int64_t fed_ = 0;
  std::uint64_t loaded_ = 0;  // numbers of the weights
};

class Model : public Network<Integers> {
 public:
  Model(const std::string& bytes, Budget& budget);

  const Architecture& architecture() const { return header_.architecture; }
  const std::vector<Field>& fields() const { return header_.fields; }
  const Output& output() const { return header_.output; }
  std::int64_t steps() const { return header_.steps; }

  // Per layer, after the positions fed so far.
  std::vector<State> states() const;
  // Token by token, for models without positions: what is remembered, taking it back, and one more token,
  // given as the numbers of all fields; its answer. REQUIRES reset() before the first.
  Memory memory() const;
  void recall(const Memory& memory);
  Row step(const Row& token);
  // The answer that a residual row stands for; with a chain of thought the prompt must have been fed, and
  // its last row given.
  Row answer(const Prompt& prompt, const Row& activation);

 private:
  Row decode(const Row& activation) const;
};

// A real file (docs/weights.md, "Mode Q"): what its weights answer as real numbers, where no rounding could change it.
class RealModel : public Network<Intervals> {
 public:
  // Malformed: an integer file, a vector output.
  RealModel(const std::string& bytes, Budget& budget);

  // The answer at a position (with a chain of thought: after the last one). Rejected where the intervals
  // leave it open. `margin` becomes the least distance by which a decision was made.
  std::int64_t answer(const Prompt& prompt, std::int64_t position, double& margin);
  // z at a position: all logits.
  Reals outputs(const Prompt& prompt, std::int64_t position);

 private:
  std::int64_t decided(const Reals& z, double& margin) const;
};

}  // namespace rung_check
