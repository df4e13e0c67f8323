(* A softmax layer in exact integers, with two heads: scores are dot products of integer vectors, weights a table of
   positive integers, sums exact, outputs the rounded quotients floor((2 num + den) / (2 den)). *)
From Coq Require Import List ZArith Arith Bool.
From Rung Require Import Model.
Import ListNotations.
Local Open Scope Z_scope.

Fixpoint dot (a b : list Z) : Z := match a, b with x :: a, y :: b => x * y + dot a b | _, _ => 0 end.
(* Sums of vectors; the empty vector is zero. *)
Fixpoint vadd (a b : list Z) : list Z :=
  match a, b with [], _ => b | _, [] => a | x :: a, y :: b => (x + y) :: vadd a b end.
Definition rounded (num den : Z) : Z := (2 * num + den) / (2 * den).

(* One head: what position j adds is its weight, and its weight times its value vector. *)
Record head_maps (X : Type) := HeadMaps {
  query : nat -> X -> list Z; key_of : nat -> X -> list Z; value_of : nat -> X -> list Z; weight : Z -> Z }.
Arguments query {X}. Arguments key_of {X}. Arguments value_of {X}. Arguments weight {X}.
Definition head_term {X} (h : head_maps X) (i : nat) (x : X) (j : nat) (y : X) : list Z :=
  let e := weight h (dot (query h i x) (key_of h j y)) in e :: map (Z.mul e) (value_of h j y).
Definition head_round (sum : list Z) : list Z :=
  match sum with [] => [] | den :: nums => map (fun num => rounded num den) nums end.

Lemma vadd_assoc a b c : vadd a (vadd b c) = vadd (vadd a b) c.
Proof.
  revert b c. induction a as [|x a IH]; intros [|y b] [|z c]; simpl; auto. now rewrite IH, Z.add_assoc.
Qed.
Lemma vadd_nil a : vadd a [] = a.
Proof. now destruct a. Qed.
Lemma pair_assoc (a b c : list Z * list Z) :
  (vadd (fst a) (vadd (fst b) (fst c)), vadd (snd a) (vadd (snd b) (snd c))) =
  (vadd (vadd (fst a) (fst b)) (fst c), vadd (vadd (snd a) (snd b)) (snd c)).
Proof. now rewrite !vadd_assoc. Qed.
Lemma pair_none (a : list Z * list Z) : (vadd (fst a) [], vadd (snd a) []) = a.
Proof. rewrite !vadd_nil. now destruct a. Qed.

(* Two heads and a position-wise map of their outputs; no recurrent heads. *)
Definition softmax_layer {X} (h k : head_maps X) (mlp : nat -> X -> list Z -> list Z -> X) : layer X :=
  Layer X Datatypes.unit tt (fun _ _ _ => tt)
    (list Z * list Z) ([], []) (fun a b => (vadd (fst a) (fst b), vadd (snd a) (snd b)))
    (fun i x j y => (head_term h i x j y, head_term k i x j y))
    (list Z * list Z) (fun s => (head_round (fst s), head_round (snd s)))
    (fun i x _ o => mlp i x (fst o) (snd o)) pair_assoc pair_none.

(* The retrieval gadget. Position j has the code of j, D signs, and then 1s; the query is the code of its target, and
   -1s: the score is minus twice the number of digits that differ. A value is the D binary digits of a number. *)
Definition sign (b : bool) : Z := if b then 1 else -1.
Definition digit (b : bool) : Z := if b then 1 else 0.
Definition digits (D v : nat) : list bool := map (Nat.testbit v) (seq 0 D).
Definition code (D v : nat) : list Z := map sign (digits D v).
Fixpoint number (bits : list Z) : nat := match bits with [] => 0 | b :: bits => Z.to_nat b + 2 * number bits end%nat.
(* The weight table: 2^D at score 0, and 1 below. *)
Definition table_of (D : nat) (s : Z) : Z := if s =? 0 then 2 ^ Z.of_nat D else 1.
(* Activations are lists of numbers; the first is what others may fetch. *)
Definition fetch (D : nat) (target : list nat -> nat) : head_maps (list nat) :=
  HeadMaps _ (fun _ x => code D (target x) ++ repeat (-1) D) (fun j _ => code D j ++ repeat 1 D)
    (fun _ y => map digit (digits D (hd 0%nat y))) (table_of D).
(* At position `at` (elsewhere nothing changes): fetch two numbers and keep the own first one. *)
Definition lookup (D at' : nat) (first second : list nat -> nat) : layer (list nat) :=
  softmax_layer (fetch D first) (fetch D second)
    (fun i x a b => if (i =? at')%nat then [hd 0%nat x; number a; number b] else x).

(* Eva: one layer. The query token's number is the position it asks for. *)
Definition eva_model (D n : nat) : model :=
  Model (list nat) (fun _ t => [t]) [lookup D n (hd 0%nat) (hd 0%nat)] (fun x => inr (nth 1 x 0%nat)).

(* L-SeqComp: L + 1 layers, `=` fetches z_0, then looks up i_1, .., i_L, and beside i_l fetches w_l. *)
From Rung Require Import Tasks.
Section SeqComp.
Variables (D m : nat) (n : nat -> nat) (L : nat).
Definition hop_target (k : nat) (x : list nat) : nat :=
  match k with
  | 0 => base m n L 0
  | 1 => base m n L 1 + nth 1 x 0
  | S (S j) => base m n L k + (nth 2 x 0 * entries m n j + nth 1 x 0)
  end%nat.
Definition hop_layer (k : nat) : layer (list nat) :=
  lookup D (base m n L 0 + L)%nat (hop_target k) (fun _ => base m n L 0 + k)%nat.
Definition seqcomp_model : model :=
  Model (list nat) (fun _ t => [t]) (map hop_layer (seq 0 (S L))) (fun x => inr (nth 1 x 0%nat)).
End SeqComp.
