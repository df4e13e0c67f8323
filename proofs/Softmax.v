(* A softmax layer in exact integers, with any number of heads: scores are dot products of integer vectors, weights a table
   of integers, sums exact, outputs the rounded quotients floor((2 num + den) / (2 den)). *)
From Coq Require Import List ZArith NArith Arith Bool.
From Rung Require Import Model Counts.
Import ListNotations.
Local Open Scope Z_scope.

Fixpoint dot (a b : list Z) : Z := match a, b with x :: a, y :: b => x * y + dot a b | _, _ => 0 end.
(* Sums of vectors, and of one vector a head; the empty vector is zero. *)
Fixpoint vadd (a b : list Z) : list Z :=
  match a, b with [], _ => b | _, [] => a | x :: a, y :: b => (x + y) :: vadd a b end.
Fixpoint hadd (a b : list (list Z)) : list (list Z) :=
  match a, b with [], _ => b | _, [] => a | x :: a, y :: b => vadd x y :: hadd a b end.
Definition rounded (num den : Z) : Z := (2 * num + den) / (2 * den).

(* One head: what position j adds is its weight, and its weight times its value vector. *)
Record head_maps (X : Type) := HeadMaps {
  query : nat -> X -> list Z; key_of : nat -> X -> list Z; value_of : nat -> X -> list Z; weight : Z -> Z }.
Arguments HeadMaps {X}. Arguments query {X}. Arguments key_of {X}. Arguments value_of {X}. Arguments weight {X}.
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
Lemma hadd_assoc a b c : hadd a (hadd b c) = hadd (hadd a b) c.
Proof.
  revert b c. induction a as [|x a IH]; intros [|y b] [|z c]; simpl; auto. now rewrite IH, vadd_assoc.
Qed.
Lemma hadd_nil a : hadd a [] = a.
Proof. now destruct a. Qed.

(* Heads and a position-wise map of their outputs, one list a head; no recurrent heads. *)
Definition softmax_layer {X} (hs : list (head_maps X)) (mlp : nat -> X -> list (list Z) -> X) : layer X :=
  Layer X Datatypes.unit tt (fun _ _ _ => tt)
    (list (list Z)) [] hadd (fun i x j y => map (fun h => head_term h i x j y) hs)
    (list (list Z)) (map head_round) (fun i x _ o => mlp i x o) hadd_assoc hadd_nil.

(* A stack that does what `ls` does: its layers in order, each perhaps with more heads, and idle layers between. *)
Definition acts_as {X} (l l' : layer X) := forall a i, apply l' a i = apply l a i.
Definition idle {X} (l : layer X) := forall a i, apply l a i = a i.
Inductive padded {X} : list (layer X) -> list (layer X) -> Prop :=
| padded_nil : padded [] []
| padded_idle l ls ms : idle l -> padded ls ms -> padded ls (l :: ms)
| padded_layer l l' ls ms : acts_as l l' -> padded ls ms -> padded (l :: ls) (l' :: ms).

(* The retrieval gadget. Position j has the code of j, D signs, and then D times 1; the query is beta times the code of its
   target, and D times -beta: the score is -2 beta times the number of digits that differ. A value is V binary digits of a
   number. The weight of the score -s is entry s of the table, and its last entry beyond (Counts.v, `clipped`). *)
Record gadget := Gadget { code_digits : nat; value_digits : nat; beta : N; score_table : list N }.
Definition sign (b : bool) : Z := if b then 1 else -1.
Definition digit (b : bool) : Z := if b then 1 else 0.
Definition digits (D v : nat) : list bool := map (Nat.testbit v) (seq 0 D).
Definition code (D v : nat) : list Z := map sign (digits D v).
Fixpoint number (bits : list Z) : nat := match bits with [] => 0 | b :: bits => Z.to_nat b + 2 * number bits end%nat.
(* Activations are lists of numbers; the first is what others may fetch. *)
Definition fetch (g : gadget) (target : list nat -> nat) : head_maps (list nat) :=
  HeadMaps (fun _ x => map (Z.mul (Z.of_N (beta g))) (code (code_digits g) (target x) ++ repeat (-1) (code_digits g)))
    (fun j _ => code (code_digits g) j ++ repeat 1 (code_digits g))
    (fun _ y => map digit (digits (value_digits g) (hd 0%nat y)))
    (fun s => Z.of_N (clipped (score_table g) (Z.to_N (- s)))).
(* At position `e` (elsewhere nothing changes): a number fetched by every head, and an MLP that writes them down. *)
Definition lookup (g : gadget) (e : nat) (targets : list (list nat -> nat)) (write : list nat -> list nat -> list nat) :=
  softmax_layer (map (fetch g) targets)
    (fun i x o => if (i =? e)%nat then write x (map number o) else x).
(* Numbers of p bits. *)
Definition fits (p : N) (z : Z) := - 2 ^ (Z.of_N p - 1) <= z < 2 ^ (Z.of_N p - 1).

(* A token is its number; the answer is the second number of the last activation. *)
Definition reading (ls : list (layer (list nat))) : model :=
  Model (list nat) (fun _ t => [t]) ls (fun x => inr (nth 1 x 0%nat)).

(* Eva: one layer, one head. The query token's number is the position it asks for. *)
Definition eva_layers (g : gadget) (n : nat) : list (layer (list nat)) :=
  [lookup g n [hd 0%nat] (fun x got => hd 0%nat x :: got)].

(* L-SeqComp: L + 1 layers. Layer 0 fetches z_0, layer l looks up i_l; a second head fetches w_{l+1}, as long as there is one.
   `=` holds its token, i_l, w_l and w_{l+1}. *)
From Rung Require Import Tasks.
Section SeqComp.
Variables (g : gadget) (m : nat) (n : nat -> nat) (L : nat).
Definition hop_target (k : nat) (x : list nat) : nat :=
  match k with
  | 0 => base m n L 0
  | 1 => base m n L 1 + nth 1 x 0
  | S (S j) => base m n L k + (nth 2 x 0 * entries m n j + nth 1 x 0)
  end%nat.
Definition hop_layer (k : nat) : layer (list nat) :=
  lookup g (base m n L 0 + L)%nat
    (hop_target k :: if (k + 1 <? L)%nat then [fun _ => base m n L 0 + (k + 1)]%nat else [])
    (fun x got => [hd 0 x; nth 0 got 0; nth 3 x 0; nth 1 got 0])%nat.
Definition seqcomp_layers : list (layer (list nat)) := map hop_layer (seq 0 (S L)).
End SeqComp.
