// A real file (docs/weights.md, "Mode Q") evaluated in intervals: what its weights answer as real numbers,
// where no rounding could change it.
#pragma once

#include "check/model.h"
#include "check/real_mixer.h"

namespace rung_check {

class RealModel {
 public:
  // Malformed: an integer file, a vector output.
  RealModel(const std::string& bytes, Budget& budget);

  const ModelHeader& header() const { return header_; }
  // The answer at a position (with a chain of thought: after the last one). Rejected where the intervals
  // leave it open. `margin` becomes the least distance by which a decision was made.
  std::int64_t answer(const Prompt& prompt, std::int64_t position, double& margin) const;
  // z at a position: all logits.
  Reals outputs(const Prompt& prompt, std::int64_t position) const;

 private:
  struct Embedding {
    char form = 't';  // t table, b binary, l linear
    std::vector<double> rows;
    std::int64_t count = 0;
  };
  struct RealNorm {
    std::vector<double> gain;
    std::int64_t fraction = 0;
    double epsilon = 0;
    std::vector<double> bias;  // of a layer norm, which also takes the mean away
    Reals operator()(Reals x) const;
  };
  struct Layer {
    std::unique_ptr<RealMixer> mixer;
    std::optional<RealNorm> norm1, norm2;
    RealMap out;
    std::vector<RealMap> mlp;
    std::vector<RealFunction> activations;
  };
  Embedding read_embedding(const RealSource& source, const std::string& name, std::int64_t values,
                           std::int64_t length, char only) const;
  RealNorm read_norm(const RealSource& source, const std::string& name) const;
  // How many rows a value is the sum of, at most.
  static std::int64_t added(const Embedding& embedding) {
    return embedding.form == 'b' ? embedding.count : 1;
  }
  void add_row(Reals& x, const Embedding& embedding, std::int64_t value) const;
  Reals embed(const Prompt& prompt, std::int64_t position) const;
  std::int64_t decided(const Reals& z, double& margin) const;

  Budget& budget_;
  ModelHeader header_;
  std::vector<Embedding> embeddings_;
  std::optional<Embedding> position_;
  std::vector<Layer> layers_;
  std::optional<RealNorm> norm_;
  std::vector<double> table_, bias_, threshold_;
  std::int64_t embed_shift_ = 0;
};

}  // namespace rung_check
