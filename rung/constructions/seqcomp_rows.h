// What the forms of sequential composition share: the rows of a hard-order prompt, and the address step.
//
// N_0 = m, N_l = n_l N_{l-1}; i_0 = z_0, i_1 = z_1(i_0), i_l = z_l(w_{l-1} N_{l-2} + i_{l-1}); the answer i_L
// is read at `=` (rung/tasks/seqcomp_layout.h). Every row holds the code of its position and the bits of its
// token, so a lookup of z_l at an argument is a retrieval of position base_l + argument, and base_l + w
// N_{l-2} + i is affine in the bits of w and i: only its bits cost units (relu_gadgets.h: decoded).
#pragma once

#include "rung/constructions/construction.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"
#include "rung/tasks/seqcomp_layout.h"

namespace rung {

class SeqCompRows {
 public:
  // The task and its layout. Errors: sizes that the task refuses; another order than the hard one.
  static Result<SeqCompRows> make(const ConstructionRequest& request);

  const SeqCompLayout& layout() const { return layout_; }
  std::int64_t levels() const { return layout_.levels(); }     // L
  std::int64_t positions() const { return layout_.length(); }  // T
  const std::shared_ptr<const Task>& task() const { return task_; }
  int address_digits() const { return digits_for(positions()); }                 // D = ⌈lg T⌉
  int value_digits() const { return digits_for(layout_.domain(levels() - 1)); }  // of z_l's values
  int token_digits() const { return digits_for(layout_.equals_token() + 1); }
  int branch_digits() const;  // of the largest w

  // base_l + w N_{l-2} + i as a number below 2^D, for l = 1..L (w is not read at l = 1). Exact wherever the
  // bits are those of a valid w and i; rows where they are not hold some position.
  Number address(ReluCircuit& circuit, std::int64_t level, const Bits& w, const Bits& i) const;
  // The ±1 digits of a number below 2^D.
  Bits code_of(ReluCircuit& circuit, const Number& address) const;

  // Construction with the retrieval lemma's precision and its argument about all inputs.
  Result<Construction> finish(ModelWriter& model, const RetrievalGadget& gadget, std::int64_t keys,
                              std::string claim, std::string reference) const;

 private:
  SeqCompRows(SeqCompLayout layout, std::shared_ptr<const Task> task)
      : layout_(std::move(layout)), task_(std::move(task)) {}
  SeqCompLayout layout_;
  std::shared_ptr<const Task> task_;
};

// Fetched bits, brought back to exact ones (mode Q rounds them; mode X already has).
Bits restored_slot(ReluCircuit& circuit, const Slot& slot);

// Slots of w_1 .. w_{L-1}, by l; that of 0 is empty. `since`: what hands them to `=`; without it layer l reads w_l.
std::vector<Slot> branch_slots(ModelWriter& model, const SeqCompRows& rows,
                               std::optional<std::string> since = std::nullopt);

// The forms, each in its own file.
Result<Construction> build_seqcomp_full(const SeqCompRows& rows,
                                        const ConstructionRequest& request);  // F^{L+1}
Result<Construction> build_seqcomp_serial(const SeqCompRows& rows,
                                          const ConstructionRequest& request);  // F^{2L}
Result<Construction> build_seqcomp_collected(const SeqCompRows& rows, const ConstructionRequest& request,
                                             bool late);  // R F^L, F R F^{L-1}
Result<Construction> build_seqcomp_absorbed(const SeqCompRows& rows, const ConstructionRequest& request,
                                            std::int64_t absorbed);  // R^{1+j} F^{L-j}
Result<Construction> build_seqcomp_precomposed(const SeqCompRows& rows, const ConstructionRequest& request,
                                               bool early);  // F^L, R F^{L-1}
Result<Construction> build_seqcomp_encoder(const SeqCompRows& rows, const ConstructionRequest& request);
Result<Construction> build_seqcomp_thought(const SeqCompRows& rows, const ConstructionRequest& request);

// The recurrent layer that hands the L numbers z_0, w_1 .. w_{L-1} to `=`: linear attention in which the token of number
// k weighs 1 in feature k and every other token 0: relu of code · c(position) - (D-1), or elu1 and exp, whose tables
// round to 0 below 0, of code · c(position) - D. So the state is the number's bits from then on.
//
// Form `heads`: a head a number. Form `columns`: one head whose query weighs feature k by 2^k, so that a coordinate reads
// one number of L bits, which the MLP takes apart. Unnormalised, a stored bit b is the number -b: the one-bit numbers are
// -1 and 0, so a state of B bits holds B bits. Normalised, b is b, and the weights' sum (1, or 2^L - 1) has a sign: two
// bits an entry.
struct Collected {
  Slot value;                 // coordinates of the row that the head carries
  std::int64_t position = 0;  // of the token whose value it is
  Slot into;  // receives the value in every row from then on (0 before); size 0 with columns: nothing does
};
struct CarrierForm {
  bool columns = false, normalised = false;
  FeatureMap feature = FeatureMap::relu;
  int stored_bits() const { return normalised ? 2 : 1; }  // of a state entry
  // Bits of a number that holds what a coordinate reads of `count` numbers.
  int read_bits(std::int64_t count) const { return columns ? static_cast<int>(count) + 1 : 2; }
};
// All L numbers: what `start` holds at the token of z_0 into `value`, and the low coordinates of `bits` at those of w.
std::vector<Collected> collected_numbers(const SeqCompLayout& layout, const Slot& start, const Slot& value,
                                         const Slot& bits, const std::vector<Slot>& w);
// From the options carry, feature and normalised.
CarrierForm carrier_form(const ConstructionRequest& request);
struct Collection {
  LayerWriter& layer;
  std::vector<Bits> numbers;  // as inputs of the layer's MLP
};
// `packed`: where the form `columns` reads into, 0 before and behind. REQUIRES in that form that all values begin at one
// coordinate, and another feature than exp.
Collection write_collection(ModelWriter& model, const CarrierForm& form, const Slot& code, const Slot& one,
                            const std::vector<Collected>& numbers, const Slot& packed, std::string title);
// The slot of that name and meaning, as wide as the widest number.
Slot packed_slot(ModelWriter& model, const SeqCompRows& rows);

}  // namespace rung
