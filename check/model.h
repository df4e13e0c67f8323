// A model file and its forward pass (docs/weights.md): embedding, layers, norms, output, chain of thought.
#pragma once

#include <map>

#include "check/interval.h"
#include "check/mixer.h"

namespace rung_check {

// One field of every position: `length` numbers, each in [low, low + size).
struct Field {
  std::string name;
  std::int64_t size = 0, length = 1, low = 0;
};
struct Prompt {
  std::int64_t positions = 0;
  std::vector<Row> fields;  // position after position, `length` numbers each
};

struct Output {
  std::string kind;  // logits, binary, threshold, vector
  std::int64_t size = 1, fraction = 0;
};

// What the metadata says.
struct ModelHeader {
  Architecture architecture;
  std::string mode, accumulator = "exact";
  std::vector<Field> fields;
  Output output;
  std::int64_t steps = 0;  // of the chain of thought; 0: none
  std::optional<std::int64_t> stop;
  std::map<std::string, RealFunction> functions;  // by the table that they stand for
};
ModelHeader read_header(const TensorFile& file);

// Which of the forms an embedding has, and under which name. Marks the tensor as read.
struct EmbeddingForm {
  char form = 't';  // t table, b binary, l linear
  std::int64_t rows = 0;
  std::string tensor;
};
// How many positions a code must tell apart. Malformed: a table without a context.
std::int64_t positions_coded(const Architecture& architecture);
EmbeddingForm read_embedding_form(const Source& source, const std::string& name, std::int64_t values,
                                  std::int64_t length, char only);

class Model {
 public:
  Model(const std::string& bytes, Budget& budget);

  const ModelHeader& header() const { return header_; }
  const Architecture& architecture() const { return header_.architecture; }
  const std::vector<Field>& fields() const { return header_.fields; }
  const Output& output() const { return header_.output; }
  std::int64_t steps() const { return header_.steps; }
  const Mixer* mixer(std::size_t layer) const { return layers_[layer].mixer.get(); }

  // Forgets everything that was fed.
  void reset();
  // The next positions of the prompt, up to `end`. Residual rows after the last layer and norm at those
  // that are wanted. An encoder is fed once.
  std::map<std::int64_t, Row> feed(const Prompt& prompt, std::int64_t end, const Row& wanted);
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
  struct Embedding {
    char form = 't';  // t table, b binary, l linear
    Row rows;
    std::int64_t count = 0;  // rows
  };
  struct Norm {
    Row gain;
    std::int64_t fraction = 0, extra = 0, bits = 0;
    Row operator()(const Row& x) const {
      return normalised(x, gain, static_cast<std::int64_t>(x.size()), fraction, extra, bits);
    }
  };
  struct Layer {
    std::unique_ptr<Mixer> mixer;
    std::optional<Norm> norm1, norm2;
    Map out;
    std::vector<Map> mlp;
    std::vector<Table> activations;
  };
  Embedding read_embedding(const Source& source, const std::string& name, std::int64_t values,
                           std::int64_t length, char only) const;
  Norm read_norm(const Source& source, const std::string& name) const;
  void add_row(std::vector<Int>& x, const Embedding& embedding, std::int64_t value) const;
  Row embed(const Prompt& prompt, std::int64_t position) const;
  void add_mlp(const Layer& layer, Row& x) const;
  Row decode(const Row& activation) const;

  Budget& budget_;
  ModelHeader header_;
  std::vector<Embedding> embeddings_;
  std::optional<Embedding> position_;
  std::vector<Layer> layers_;
  std::optional<Norm> norm_;
  Row table_, bias_, threshold_;
  std::int64_t embed_shift_ = 0, stream_bits_ = 0;
  std::int64_t fed_ = 0;
  std::uint64_t loaded_ = 0;  // numbers of the weights
};

}  // namespace rung_check
