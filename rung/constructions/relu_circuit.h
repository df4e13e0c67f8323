// A ReLU network written down as arithmetic, then compiled to the integer matrices of a layer's MLP.
//
//   ReluCircuit c;
//   auto x = c.input(3, 0, 15);                    // residual coordinate 3, known to lie in [0, 15]
//   c.add(7, at_least(c, x, 9));                   // residual coordinate 7 += [x >= 9]   (relu_gadgets.h)
//   c.compile(width, c.depth());                   // mlp.0, mlp.1, ...
//
// A Number is an affine form Σ weight · unit + constant over hidden units (and residual coordinates), with
// the interval that it can take. A hidden unit is max(0, Number) and stands one layer above the highest unit
// that it reads; what it reads from further below is carried up (a unit per layer for what is never negative,
// two where the sign is open). Affine arithmetic costs no units.
//
// Invariant: a unit of layer k reads only units of layer k-1; the interval of every unit is known, so the
// width of each layer's numbers is chosen to hold them and nothing saturates.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rung {

class ReluCircuit;

// weight · unit sums. Intervals are those of independent units: valid, perhaps wide.
class Number {
 public:
  Number(std::int64_t constant = 0) : constant_(constant), low_(constant), high_(constant) {}

  std::int64_t low() const { return low_; }
  std::int64_t high() const { return high_; }
  bool is_constant() const { return terms_.empty(); }
  // States an interval beside the one derived; both hold. REQUIRES that it is true of every input.
  Number within(std::int64_t low, std::int64_t high) const;

  friend Number operator+(const Number& a, const Number& b);
  friend Number operator*(std::int64_t factor, const Number& a);
  friend Number operator-(const Number& a) { return -1 * a; }
  friend Number operator-(const Number& a, const Number& b) { return a + (-1 * b); }

 private:
  friend class ReluCircuit;
  std::map<int, std::int64_t> terms_;  // unit -> weight, none zero
  std::int64_t constant_, low_, high_;
};

// One map of an MLP, dense, row-major; bits hold every pre-activation's positive part (and sign).
struct ReluMap {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int64_t> weight, bias;
  int bits = 2;
};

class ReluCircuit {
 public:
  // A residual coordinate as the MLP sees it, with the interval that the construction's invariant promises.
  Number input(std::int64_t coordinate, std::int64_t low, std::int64_t high);
  // max(0, x): one unit, or none where the interval already decides.
  Number relu(const Number& x);
  // residual[coordinate] += x.
  void add(std::int64_t coordinate, const Number& x);

  bool empty() const { return outputs_.empty(); }
  // Hidden layers needed; at least 1 for a circuit that adds anything.
  int depth() const;
  // The maps of an MLP with `depth` hidden layers over residual rows of `width` numbers; the last has `width`
  // rows. REQUIRES depth >= this->depth(). Hidden layer k has exactly the rows it needs (at least 1).
  std::vector<ReluMap> compile(std::int64_t width, int depth) const;

 private:
  struct Unit {
    int layer = 0;                // 0: a residual coordinate
    std::int64_t coordinate = 0;  // of layer 0
    std::int64_t low = 0, high = 0;
    Number reads;  // layers above 0
  };
  Number unit(int index, std::int64_t weight = 1) const;
  int layer_of(const Number& x) const;
  int new_unit(const Number& x, int layer);
  // The same number over units of `layer` alone.
  Number lifted(const Number& x, int layer);
  Number carried(int index, int layer);

  std::vector<Unit> units_;
  std::map<std::int64_t, int> inputs_;             // coordinate -> unit
  std::map<std::pair<int, int>, Number> carried_;  // (unit, layer) -> the same value there
  std::map<std::int64_t, Number> outputs_;         // coordinate -> what is added
};

}  // namespace rung
