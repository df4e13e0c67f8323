(* The hypotheses of the aperiodicity theorem: layers without positions whose recurrences and sums come to rest. *)
From Coq Require Import List Arith.
From Rung Require Import Model.
Import ListNotations.

Section Layer.
Context {X : Type} (l : layer X).
(* No map looks at a position. *)
Definition position_free :=
  (forall i x q, step l i x q = step l 0 x q) /\
  (forall i x j y, term l i x j y = term l 0 x 0 y) /\
  (forall i x q h, out l i x q h = out l 0 x q h).
(* Reading a word again and again, any word, leaves a fixed state after K times. *)
Definition along (xs : list X) (q : state l) : state l := fold_left (fun q x => step l 0 x q) xs q.
Definition steady_states := exists K, forall xs q, along xs (Nat.iter K (along xs) q) = Nat.iter K (along xs) q.
(* At a query x, behind p positions, n times the same W > 0 positions, and d more: the rounded outputs are one from some
   number of repetitions on. *)
Fixpoint times (n : nat) (c : part l) : part l := match n with 0 => none l | S k => add l (times k c) c end.
Definition steady_sums := forall x (pre per post : nat -> X) p W d, 0 < W ->
  let sum n := add l (add l (partial l 0 x pre 0 p) (times n (partial l 0 x per 0 W))) (partial l 0 x post 0 d) in
  exists N, forall n, N <= n -> round l (sum n) = round l (sum N).
Definition steady := position_free /\ steady_states /\ steady_sums.
End Layer.

Definition unplaced (m : model) := forall i j t, embed m i t = embed m j t.

(* Words. *)
Fixpoint power (w : list nat) (n : nat) : list nat := match n with 0 => [] | S k => w ++ power w k end.
Definition prompt_of (word : list nat) (i : nat) : nat := nth i word 0.
(* What the model says at the last token of a word, without chain of thought. *)
Definition said (m : model) (word : list nat) : nat + nat :=
  says m (last_activation m (prompt_of word) (length word)).

(* An automaton task: `start`, then letters; the answer is out of the state reached. `solved_at_every_length`: on every word. *)
Record automaton := Automaton { place : Type; initial : place; move : place -> nat -> place; answer : place -> nat }.
Definition reach (a : automaton) (q : place a) (word : list nat) : place a := fold_left (move a) word q.
Definition solved_at_every_length (m : model) (a : automaton) (start : nat) (letter : nat -> Prop) :=
  forall word, Forall letter word -> said m (start :: word) = inr (answer a (reach a (initial a) word)).
(* Finite, and no two places answer every continuation alike. *)
Definition finite_places (a : automaton) (size : nat) :=
  exists code : place a -> nat, (forall q, code q < size) /\ (forall q r, code q = code r -> q = r).
Definition minimal (a : automaton) (letter : nat -> Prop) :=
  forall q r, (forall v, Forall letter v -> answer a (reach a q v) = answer a (reach a r v)) -> q = r.
Definition parity : automaton := Automaton bool false (fun q t => if t =? 1 then negb q else q) (fun q => if q then 1 else 0).
