// A model that learns: embedding, layers, output, for an ensemble of members that share the architecture.
//
//   RUNG_TRY(Model model, Model::make(spec));
//   Parameters parameters(model.layout(), {seed}, {1.0}, torch::kCPU, torch::kFloat32);
//   torch::Tensor z = model.forward(batch, parameters.leaves, pass);    // [E, B * Q, outputs]
//   write_weights("model.safetensors", model.weights(parameters, /*member=*/0));
//
// The file means the same to the exact machine in mode Q; tests/learn compares the two.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rung/learn/mixer.h"
#include "rung/records/training_plan.h"
#include "rung/tasks/task.h"

namespace rung::learn {

struct ModelSpec {
  Architecture architecture;  // its context holds the longest prompt with its chain of thought
  std::vector<FieldSpec> fields;
  TokenEmbedding embedding = TokenEmbedding::table;  // scalar fields beyond kLargestTable are binary always
  OutputSpec output;  // logits, or vector (its numbers count units of 2^-fraction)
  DecodeSpec decode;
  std::string task;  // the weights file's note of the task
  // Linear maps that are taught from the stream and belong to no file (rung/records/training_plan.h, DeepReadout).
  struct Readout {
    DeepReadout place;
    std::int64_t size = 1;  // values that it tells apart
  };
  std::vector<Readout> readouts = {};
  // Scalars of the file that are not learned (epsilons, bounds, scales), by name; what is left out is what a fresh
  // model has.
  std::map<std::string, double> scalars = {};
};

// Scalar fields with more values than this are embedded by their binary code.
inline constexpr std::int64_t kLargestTable = 4096;

// Prompts of one length, as tensors on the model's device.
struct Inputs {
  std::vector<torch::Tensor>
      fields;  // one a field: [E, B, T] int64, values from 0; vector fields [E, B, T, length] float32
  // [Q] int64, increasing: the positions that are read; [E, B, Q] where they are each row's own; undefined: all.
  torch::Tensor wanted;
};

class Model {
 public:
  // Errors: opaque mixers, sizes that do not resolve, values of an rwkv7 layer that is not there, an output that
  // cannot be learned.
  static Result<Model> make(const ModelSpec& spec);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  const ModelSpec& spec() const { return spec_; }
  const ParameterLayout& layout() const { return *layout_; }
  // The parameters of a file: all but those of readouts, which come last.
  std::span<const ParameterSpec> kept() const;
  const std::vector<LayerShape>& layers() const { return shapes_; }
  // Released forms that no kernel computes there (LearnedMixer::unfused), as messages name them, each once.
  std::vector<std::string> unfused(bool on_device) const;

  // One line on a mixer that has no integer form, which activations could be rounded for.
  Result<void> roundable(ActivationRounding::Places places) const;

  // The outputs at the wanted positions, [E, B * Q, size], in the compute type.
  // `read`: what the readouts say, [E, B * Q, size] each; REQUIRES inputs.wanted [Q] of questions' last positions.
  torch::Tensor forward(const Inputs& inputs, const Leaves& leaves, const ForwardContext& pass,
                        std::vector<torch::Tensor>* read = nullptr) const;

  // Member e as a weights file; `notes` are added to its metadata.
  Weights weights(const Parameters& parameters, std::int64_t member,
                  const std::map<std::string, std::string>& notes = {}) const;
  // The reverse: fills member e of the master copy, readouts excepted. Errors: another architecture, a tensor missing or of
  // another shape, a tensor or scalar of a layer that this model would not have written.
  Result<void> load(const Weights& weights, Parameters& parameters, std::int64_t member) const;

 private:
  struct Layer {
    std::unique_ptr<LearnedMixer> mixer;  // null: MLP only
    ParameterLayout::Index norm1 = 0, norm2 = 0, output = 0;
    std::vector<std::pair<ParameterLayout::Index, ParameterLayout::Index>> mlp;  // weight, bias
  };
  Model() = default;
  torch::Tensor embed(const Inputs& inputs, const Leaves& leaves, bool plain) const;
  torch::Tensor activation(const torch::Tensor& x) const;
  // x and what the MLP of a layer adds to it.
  torch::Tensor feed_forward_block(const torch::Tensor& x, std::size_t index, const Leaves& leaves,
                                   const ForwardContext& pass) const;
  bool by_table(const FieldSpec& field) const {
    return field.length == 1 && field.size <= kLargestTable && spec_.embedding == TokenEmbedding::table;
  }
  bool normed() const { return spec_.architecture.dimensions.norm == Norm::rms; }

  ModelSpec spec_;
  std::vector<LayerShape> shapes_;
  std::unique_ptr<ParameterLayout> layout_;
  std::vector<Layer> layers_;
  std::vector<ParameterLayout::Index> embeddings_;
  std::vector<std::pair<ParameterLayout::Index, ParameterLayout::Index>> readouts_;  // weight, bias
  ParameterLayout::Index position_ = 0, norm_ = 0, output_ = 0, output_bias_ = 0;
};

}  // namespace rung::learn
