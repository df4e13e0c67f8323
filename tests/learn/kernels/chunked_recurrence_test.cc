// The device's chunked recurrence, its code run on the host lane by lane, against the definition in float64.
#define RUNG_WARP_EMULATION "tests/learn/kernels/warp_emulation.h"

#include "rung/learn/kernels/chunked_recurrence.h"

#include <gtest/gtest.h>

#include "rung/learn/kernels/recurrence_chunk_backward.cuh"
#include "rung/learn/kernels/recurrence_chunk_forward.cuh"
#include "tests/learn/kernels/recurrence_case.h"

namespace rung::kernels {
namespace {

// What the warps of the device do, one after the other.
template <int B, bool Decay, bool Delta, bool Normalised = false>
void recur_in_chunks(RecurrenceCase& given) {
  std::vector<float> de(given.dy.count(), NAN), dk(given.dy.count(), NAN), writes(given.scalars(), NAN),
      divisors(given.scalars(), NAN), ddivisors(given.scalars(), NAN);
  const ChunkScratch scratch{de.data(), dk.data(), divisors.data(), ddivisors.data(), writes.data()};
  const std::int64_t heads = given.shape.sequences * given.shape.heads;
  const auto each_head = [&](const auto& body) {
    for (std::int64_t item = 0; item < heads; ++item)
      emulate({}, [&] { body(HeadPlace(given.shape, item)); });
  };
  const auto forward = std::make_unique<ForwardTiles<B, Delta>>();
  each_head([&](const HeadPlace& head) {
    forward_chunks<B, Decay, Delta, Normalised>(given.inputs(), given.output(), given.error.floats(), head,
                                                *forward);
  });
  const auto reverse = std::make_unique<ReverseTiles<B, Delta>>();
  const auto replay = std::make_unique<ReplayTiles<B, Delta>>();
  const auto reverse_all = [&] {
    each_head([&](const HeadPlace& head) {
      reverse_chunks<B, Decay, Delta, Normalised>(given.inputs(), given.error.floats(),
                                                  given.output_gradient(), given.gradients(), scratch, head,
                                                  *reverse);
    });
  };
  if (!Normalised) reverse_all();
  each_head([&](const HeadPlace& head) {
    replay_chunks<B, Decay, Delta, Normalised>(given.inputs(), given.error.floats(), given.output_gradient(),
                                               given.gradients(), scratch, head, *replay);
  });
  if (Normalised) reverse_all();
}
void recur_in_chunks(RecurrenceCase& given) {
  const auto by_kind = [&]<int B>() {
    if (given.shape.normalised)
      recur_in_chunks<B, false, false, true>(given);
    else if (given.shape.delta)
      given.decays ? recur_in_chunks<B, true, true>(given) : recur_in_chunks<B, false, true>(given);
    else
      given.decays ? recur_in_chunks<B, true, false>(given) : recur_in_chunks<B, false, false>(given);
  };
  if (given.shape.key_size == 16) by_kind.template operator()<1>();
  if (given.shape.key_size == 32) by_kind.template operator()<2>();
  if (given.shape.key_size == 64) by_kind.template operator()<4>();
}

// Outputs are rounded to bfloat16 once, factors are split: y and the gradients of vectors differ by the
// rounding alone (2^-9 at most, 0.0017 on average), float32 outputs by 2^-16 of what is added up.
constexpr double kRounding = 2.2e-3, kScalars = 1e-4;

void expect_agreement(RecurrenceCase& given) {
  const auto expected = given.shape.normalised ? attend_linearly(given) : recur(given);
  for (Buffer* out : {&given.y, &given.dlog_decay, &given.dbeta, &given.error}) out->fill(NAN);
  given.gradient.fill(0.0);
  recur_in_chunks(given);
  EXPECT_LT(distance(given.y, expected.y, given.y.count()), kRounding);
  const auto part = [&](const MutableSlice& slice, std::int64_t size) {
    double difference = 0.0, norm = 0.0;
    const std::int64_t first = (static_cast<const unsigned char*>(slice.data) -
                                static_cast<const unsigned char*>(given.gradient.data())) /
                               2;
    for (std::int64_t row = 0; row < given.shape.sequences * given.shape.positions; ++row)
      for (std::int64_t c = 0; c < given.shape.heads * size; ++c) {
        const std::int64_t at = first + row * given.pitch + c;
        const double apart = given.gradient[at] - expected.gradient[at];
        difference += apart * apart;
        norm += expected.gradient[at] * expected.gradient[at];
      }
    return std::sqrt(difference / (norm > 1e-12 ? norm : 1.0));
  };
  EXPECT_LT(part(given.gradients().dq, given.shape.key_size), kRounding) << "dq";
  EXPECT_LT(part(given.gradients().dk, given.shape.key_size), kRounding) << "dk";
  EXPECT_LT(part(given.gradients().dv, given.shape.value_size), kRounding) << "dv";
  if (given.decays) {
    EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.scalars()), kScalars) << "dlog_decay";
  }
  if (given.shape.delta) {
    EXPECT_LT(distance(given.dbeta, expected.dbeta, given.scalars()), kScalars) << "dbeta";
  }
}

TEST(ChunkedRecurrence, agrees_with_the_definition) {
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t positions : {1, 5, 17, 63, 130})
      for (const bool delta : {false, true})
        for (const bool decays : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << "d=" << size << " T=" << positions << " delta=" << delta << " decays=" << decays);
          RecurrenceCase given({positions < 20 ? 2 : 1, positions, 2, size, size, Element::bf16, delta},
                               decays, 11, true);
          expect_agreement(given);
        }
}

TEST(ChunkedRecurrence, agrees_where_decays_are_strong_and_betas_reach_2) {
  for (const double strongest : {1e-4, 20.0, 200.0})
    for (const bool delta : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "delta=" << delta << " decays to " << -strongest);
      RecurrenceCase given({1, 65, 1, 32, 32, Element::bf16, delta}, true, 5, true, strongest, 2.0);
      expect_agreement(given);
    }
}

TEST(ChunkedRecurrence, divides_by_the_sum_of_the_weights) {
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t positions : {1, 5, 16, 63, 130}) {
      SCOPED_TRACE(::testing::Message() << "d=" << size << " T=" << positions);
      RecurrenceCase given({1, positions, 2, size, size, Element::bf16, false, true}, false, 7, true);
      make_features(given);
      expect_agreement(given);
    }
}

TEST(ChunkedRecurrence, a_wrong_number_is_seen) {
  RecurrenceCase given({1, 40, 1, 16, 16, Element::bf16, true}, true, 3, true);
  const auto expected = recur(given);
  given.log_decay.set(20, given.log_decay[20] - 0.2);
  recur_in_chunks(given);
  EXPECT_GT(distance(given.y, expected.y, given.y.count()), 3 * kRounding);
  EXPECT_GT(distance(given.dlog_decay, expected.dlog_decay, given.scalars()), 3 * kScalars);
}

TEST(ChunkedRecurrence, fits_bfloat16_of_16_32_and_64) {
  EXPECT_TRUE(recurrence_fits_chunks({1, 1, 1, 64, 64, Element::bf16, true}));
  EXPECT_TRUE(recurrence_fits_chunks({1, 1, 1, 32, 32, Element::bf16, false}));
  EXPECT_FALSE(recurrence_fits_chunks({1, 1, 1, 32, 32, Element::f32, false}));
  EXPECT_FALSE(recurrence_fits_chunks({1, 1, 1, 32, 16, Element::bf16, false}));
  EXPECT_FALSE(recurrence_fits_chunks({1, 1, 1, 24, 24, Element::bf16, false}));
}

}  // namespace
}  // namespace rung::kernels
