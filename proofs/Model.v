(* The model, once for all theorems: a causal stack of layers over positions 0, 1, 2, ...

   An activation is anything (type X); nothing bounds its width. Every layer has recurrent heads, full heads, or both:
   - recurrent heads carry a `state` along the prompt, `step` by `step`;
   - full heads add up one `term` for every earlier position (weight and weighted value of every head: exact integer
     sums, so an associative `add`), and `round` the sum to head outputs (the division);
   - then a position-wise map `out` (MLP, norm, residual, positions) of the own activation, the state and the head
     outputs gives the next activation.
   Queries and keys are position-wise: `term i x j y` is what position j with activation y adds at position i with
   activation x. Every map may depend on the position. Nothing is assumed of any map but `add`. *)
From Coq Require Import List Arith.
Import ListNotations.

Record layer (X : Type) := Layer {
  state : Type;
  init : state;
  step : nat -> X -> state -> state;
  part : Type;
  none : part;
  add : part -> part -> part;
  term : nat -> X -> nat -> X -> part;
  head : Type;
  round : part -> head;
  out : nat -> X -> state -> head -> X;
  add_assoc : forall a b c, add a (add b c) = add (add a b) c;
  add_none : forall a, add a none = a
}.
Arguments state {X}. Arguments init {X}. Arguments step {X}. Arguments part {X}. Arguments none {X}.
Arguments add {X}. Arguments term {X}. Arguments head {X}. Arguments round {X}. Arguments out {X}.
Arguments add_assoc {X}. Arguments add_none {X}.

Section Semantics.
Context {X : Type}.

(* The state after the positions below n, on the activations a. *)
Fixpoint state_after (l : layer X) (a : nat -> X) (n : nat) : state l :=
  match n with
  | 0 => init l
  | S k => step l k (a k) (state_after l a k)
  end.

(* What the positions from .. from + len - 1 add at position i with activation x: a partial softmax sum. *)
Fixpoint partial (l : layer X) (i : nat) (x : X) (a : nat -> X) (from len : nat) : part l :=
  match len with
  | 0 => none l
  | S k => add l (partial l i x a from k) (term l i x (from + k) (a (from + k)))
  end.

(* Decoder: position i reads positions 0 .. i. *)
Definition heads (l : layer X) (a : nat -> X) (i : nat) : head l := round l (partial l i (a i) a 0 (S i)).
Definition apply (l : layer X) (a : nat -> X) (i : nat) : X :=
  out l i (a i) (state_after l a (S i)) (heads l a i).
Fixpoint run (ls : list (layer X)) (a : nat -> X) : nat -> X :=
  match ls with
  | [] => a
  | l :: rest => run rest (apply l a)
  end.

(* The bits. `state_fits l T s`: the states that T tokens can reach are at most 2^s. `parts_fit l T M`: the partial sums over segments of a prompt
   of T tokens take at most 2^M values. `any_parts_fit`: so do those over
   any positions. `heads_fit l O`: so do the rounded outputs. `crosses l c s`: all that layer l
   carries over the cut before position c is one of 2^s values. *)
Definition is_state (l : layer X) (T : nat) (q : state l) := exists a k, k <= T /\ q = state_after l a k.
Definition state_fits (l : layer X) (T s : nat) :=
  exists code : state l -> nat,
    (forall q, is_state l T q -> code q < 2 ^ s) /\
    (forall q r, is_state l T q -> is_state l T r -> code q = code r -> q = r).
Definition is_part (l : layer X) (T : nat) (v : part l) :=
  exists i x a from len, from + len <= T /\ v = partial l i x a from len.
Definition parts_fit (l : layer X) (T M : nat) :=
  exists code : part l -> nat,
    (forall v, is_part l T v -> code v < 2 ^ M) /\
    (forall v w, is_part l T v -> is_part l T w -> code v = code w -> v = w).
(* The same for sums over some of the positions below len, in layers whose sums do not depend on the order. *)
Fixpoint partial_of (l : layer X) (i : nat) (x : X) (a : nat -> X) (chosen : nat -> bool) (len : nat) : part l :=
  match len with
  | 0 => none l
  | S k => if chosen k then add l (partial_of l i x a chosen k) (term l i x k (a k)) else partial_of l i x a chosen k
  end.
Definition commutes (l : layer X) := forall u v, add l u v = add l v u.
Definition is_part_of (l : layer X) (T : nat) (v : part l) :=
  exists i x a chosen len, len <= T /\ v = partial_of l i x a chosen len.
Definition any_parts_fit (l : layer X) (T M : nat) :=
  exists code : part l -> nat,
    (forall v, is_part_of l T v -> code v < 2 ^ M) /\
    (forall v w, is_part_of l T v -> is_part_of l T w -> code v = code w -> v = w).
Definition heads_fit (l : layer X) (O : nat) :=
  exists code : head l -> nat,
    (forall q, code q < 2 ^ O) /\ (forall q r, code q = code r -> q = r).
Definition crosses (l : layer X) (c s : nat) :=
  exists code : state l -> nat,
    (forall a, code (state_after l a c) < 2 ^ s) /\
    (forall a b, code (state_after l a c) = code (state_after l b c) ->
       forall x, step l c x (state_after l a c) = step l c x (state_after l b c)).

(* A recurrent layer has no full heads: all sums are one. *)
Definition no_full_heads (l : layer X) := forall i x j y, term l i x j y = none l.

(* A position-wise layer has neither full heads nor a state. *)
Definition position_wise (l : layer X) := no_full_heads l /\ forall q r : state l, q = r.

(* A recurrent stack whose layers hand s bits in all over the cut before position c. *)
Inductive recurrent_at (c : nat) : list (layer X) -> nat -> Prop :=
| recurrent_at_nil : recurrent_at c [] 0
| recurrent_at_cons l ls s t :
    no_full_heads l -> crosses l c s -> recurrent_at c ls t -> recurrent_at c (l :: ls) (s + t).
End Semantics.

(* A model: tokens and positions to activations, a stack, and what the last activation says: one more token, or the
   answer. *)
Record model := Model {
  activation : Type;
  embed : nat -> nat -> activation;
  stack : list (layer activation);
  says : activation -> nat + nat  (* inl t: append the token t; inr y: the answer is y *)
}.

Definition input (m : model) (p : nat -> nat) : nat -> activation m := fun i => embed m i (p i).
Definition last_activation (m : model) (p : nat -> nat) (T : nat) : activation m :=
  run (stack m) (input m p) (pred T).

(* Without chain of thought: the answer at the last of T tokens. *)
Definition answers (m : model) (p : nat -> nat) (T y : nat) := says m (last_activation m p T) = inr y.

(* With a chain of thought of any length: append what the model says until it answers. *)
Definition append (p : nat -> nat) (T t : nat) : nat -> nat := fun i => if i =? T then t else p i.
Fixpoint chain (m : model) (fuel : nat) (p : nat -> nat) (T : nat) : option nat :=
  match says m (last_activation m p T) with
  | inr y => Some y
  | inl t => match fuel with 0 => None | S k => chain m k (append p T t) (S T) end
  end.
Definition answers_by_thought (m : model) (p : nat -> nat) (T y : nat) :=
  exists steps, chain m steps p T = Some y.
