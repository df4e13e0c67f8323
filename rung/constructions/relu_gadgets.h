// Arithmetic steps of the constructions as ReLU networks with integer weights. Where a paper writes "an
// arbitrary MLP", these say what it costs. Bits are numbers in {0, 1}; every claim is about integer inputs
// inside the stated intervals, and each gadget is tested on all of them. `layers`: hidden layers above the
// inputs. `units`: hidden units, carries not counted.
#pragma once

#include <span>
#include <vector>

#include "rung/constructions/relu_circuit.h"
#include "rung/constructions/residual_layout.h"

namespace rung {

using Bits = std::vector<Number>;  // lowest first

// A slot's coordinates as inputs of the circuit, all in [low, high].
Bits slot_inputs(ReluCircuit& circuit, const Slot& slot, std::int64_t low = 0, std::int64_t high = 1);

// [x >= k] = max(0, x-k+1) - max(0, x-k). 1 layer, 2 units (none where the interval decides).
Number at_least(ReluCircuit& circuit, const Number& x, std::int64_t k);
// [x = k] = max(0, x-k+1) - 2 max(0, x-k) + max(0, x-k-1). 1 layer, 3 units.
Number equals(ReluCircuit& circuit, const Number& x, std::int64_t k);

// max(0, Σ b - (count-1)). 1 layer, 1 unit. REQUIRES bits.
Number all_of(ReluCircuit& circuit, const Bits& bits);
// 1 - max(0, 1 - Σ b). 1 layer, 1 unit. REQUIRES bits.
Number any_of(ReluCircuit& circuit, const Bits& bits);
// max(0, a-b) + max(0, b-a). 1 layer, 2 units. REQUIRES bits.
Number differ(ReluCircuit& circuit, const Number& a, const Number& b);
// [a = b] of two words of the same length: max(0, 1 - Σ differ). 2 layers, 2·length + 1 units.
Number same_bits(ReluCircuit& circuit, const Bits& a, const Bits& b);

// The value back to {0, 1}: 0 for y <= 1/3, 1 for y >= 2/3 (real y, in mode Q): max(0, 3y-1) - max(0, 3y-2).
// An exact bit stays. 1 layer, 2 units.
Number restored(ReluCircuit& circuit, const Number& y);

// flag ? x : 0 = max(0, x - X(1-flag)), X = x.high(). 1 layer, 1 unit; 2 units where x may be negative.
// REQUIRES flag a bit.
Number gated(ReluCircuit& circuit, const Number& flag, const Number& x);
// flag ? a : b, both gated. 1 layer, 2 to 4 units.
Number chosen(ReluCircuit& circuit, const Number& flag, const Number& a, const Number& b);

// min(x, high) = x - max(0, x - high). 1 layer, 1 unit (none where the interval already says so).
Number clamped(ReluCircuit& circuit, const Number& x, std::int64_t high);

// Σ 2^d b_d. No layer, no unit.
Number recombined(const Bits& bits);
// The `digits` lowest-first bits of x, from the top: b = [rest >= 2^d], rest -= 2^d b. `digits` layers, 2
// units each. REQUIRES 0 <= x < 2^digits.
Bits decoded(ReluCircuit& circuit, const Number& x, int digits);
// The same in 1 layer: b_d = Σ_j (-1)^(j+1) [x >= j 2^d]; about 2^(digits+1) units shared by all bits.
// REQUIRES as decoded.
Bits decoded_wide(ReluCircuit& circuit, const Number& x, int digits);

// residual[slot] ← the numbers (old ones are subtracted). REQUIRES inputs with the interval [low, high] if
// read elsewhere.
void overwrite(ReluCircuit& circuit, const Slot& slot, const Bits& numbers, std::int64_t low = 0,
               std::int64_t high = 1);
// residual[slot] ← 0.
void clear(ReluCircuit& circuit, const Slot& slot, std::int64_t low = 0, std::int64_t high = 1);

}  // namespace rung
