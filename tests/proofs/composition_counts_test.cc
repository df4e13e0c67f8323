// 2-SeqComp: what `certify` decides is what the extracted predicates decide, at parameters that the library's own
// searches propose and at neighbours of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "rung/base/random.h"
#include "rung/theory/one_full_layer.h"
#include "rung/theory/two_full_layers.h"
#include "tests/proofs/extracted.h"

namespace rung {
namespace {

Integer log_uniform(Random& random, unsigned bits) {
  return 1 + Integer(random.next() >> (64 - 1 - random.below(bits)));
}
// A factor between a half and two, most often close to one.
Integer jitter(Random& random, const Integer& value) {
  const Integer step = value >> (1 + random.below(12));
  const Integer moved = value + (random.below(2) == 0 ? step : -step) + random.between(-1, 1);
  return std::max<Integer>(1, moved);
}

TEST(composition_counts, agree_on_one_full_layer_with_late_recurrence) {
  Random random(21);
  std::vector<CountSetting> settings;
  while (settings.size() < settings_a_theorem()) {
    const OneFullLayer layer{log_uniform(random, 12), 0, log_uniform(random, 14) - 1,
                             Integer(random.below(3))};
    const auto smallest = smallest_proof(layer, Objective::arguments);
    ASSERT_TRUE(smallest);
    for (int i = 0; i < 20; ++i) {
      SeqcompProof proof = *smallest;
      if (i > 0) {
        proof.sizes.m = jitter(random, proof.sizes.m);
        proof.sizes.n[0] = jitter(random, proof.sizes.n[0]);
        proof.T[0] = jitter(random, proof.T[0]);
        proof.x0 = jitter(random, proof.x0);
        proof.y = jitter(random, proof.y);
      }
      settings.push_back({"one-full-layer-late",
                          {layer.partial, layer.after, layer.spare, proof.sizes.m, proof.sizes.n[0],
                           proof.T[0], proof.x0, proof.y},
                          certify(layer, proof)});
    }
  }
  expect_agreement(settings);
}

TEST(composition_counts, agree_on_one_full_layer_with_early_recurrence) {
  Random random(26);
  std::vector<CountSetting> settings;
  while (settings.size() < settings_a_theorem()) {
    const OneFullLayer layer{log_uniform(random, 8), log_uniform(random, 8), log_uniform(random, 10) - 1,
                             Integer(random.below(3))};
    const auto smallest = smallest_proof(layer, Objective::arguments);
    ASSERT_TRUE(smallest);
    for (int i = 0; i < 100; ++i) {
      SeqcompProof proof = *smallest;
      if (i > 0) {
        proof.sizes.m = jitter(random, proof.sizes.m);
        proof.sizes.n[0] = jitter(random, proof.sizes.n[0]);
        proof.T[0] = jitter(random, proof.T[0]);
        proof.x0 = jitter(random, proof.x0);
        proof.y = std::min(jitter(random, proof.y), proof.sizes.n[0]);
      }
      settings.push_back({"one-full-layer-early",
                          {layer.partial, layer.before, layer.after, layer.spare, proof.sizes.m,
                           proof.sizes.n[0], proof.T[0], proof.x0, proof.y},
                          certify(layer, proof)});
    }
  }
  expect_agreement(settings);
}

TEST(composition_counts, agree_on_two_full_layers_with_heads_beside_them) {
  Random random(22);
  std::vector<CountSetting> settings;
  while (settings.size() < settings_a_theorem()) {
    TwoFullLayers layers{.partial = log_uniform(random, 6), .outputs = log_uniform(random, 5)};
    layers.recurrence_follows = random.below(2) == 1;
    if (layers.recurrence_follows) layers.after = log_uniform(random, 8);
    if (random.below(2) == 1) {
      layers.beside_first = log_uniform(random, 6);
      layers.beside_second = log_uniform(random, 6);
    }
    const auto smallest = smallest_proof(layers, Objective::arguments);
    ASSERT_TRUE(smallest);
    for (int i = 0; i < 50; ++i) {
      SeqcompProof proof = *smallest;
      if (i > 0) {
        proof.sizes.m = jitter(random, proof.sizes.m);
        proof.sizes.n[0] = jitter(random, proof.sizes.n[0]);
        proof.T[0] = jitter(random, proof.T[0]);
        proof.x0 = jitter(random, proof.x0);
        proof.y = std::min(jitter(random, proof.y), proof.sizes.n[0]);
      }
      settings.push_back({"two-full-layers",
                          {layers.partial, layers.outputs, layers.recurrence_follows ? 1 : 0, layers.after,
                           layers.beside_first, layers.beside_second, proof.sizes.m, proof.sizes.n[0],
                           proof.T[0], proof.x0, proof.y},
                          certify(layers, proof)});
    }
  }
  expect_agreement(settings);
}

}  // namespace
}  // namespace rung
