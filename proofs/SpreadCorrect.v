(* The spread condition, from binary integers to the numbers of the proof. *)
From Coq Require Import NArith Arith Lia.
From Rung Require Import Logarithm EBound CountsCorrect.

Lemma spread_nat (E U J n T D : N) :
  ((E * T * J) ^ (T * J) * 2 ^ (2 * T * D) < (2 * n * U) ^ (T * J))%N ->
  (N.to_nat E * (N.to_nat T * N.to_nat J)) ^ (N.to_nat T * N.to_nat J) * 2 ^ (2 * (N.to_nat T * N.to_nat D)) <
  (2 * N.to_nat n * N.to_nat U) ^ (N.to_nat T * N.to_nat J).
Proof.
  intros H. apply lt_nat in H. rewrite N2Nat.inj_mul, !N2Nat.inj_pow, !N2Nat.inj_mul in H.
  change (N.to_nat 2) with 2 in H. rewrite !Nat.mul_assoc in *. exact H.
Qed.
Lemma strictly_nat J n T D : spreads_strictly J n T D = true ->
  (above * (N.to_nat T * N.to_nat J)) ^ (N.to_nat T * N.to_nat J) * 2 ^ (2 * (N.to_nat T * N.to_nat D)) <
  (2 * N.to_nat n * unit) ^ (N.to_nat T * N.to_nat J).
Proof. intros H. apply spreads_strictly_sound in H. exact (spread_nat above_e unit_e J n T D H). Qed.
Lemma spreads_nat J n T D : (0 < T)%N -> (0 < J)%N -> spreads J n T D = true ->
  (above * (N.to_nat T * N.to_nat J)) ^ (N.to_nat T * N.to_nat J) * 2 ^ (2 * (N.to_nat T * N.to_nat D)) <
  (2 * N.to_nat n * unit) ^ (N.to_nat T * N.to_nat J).
Proof.
  intros pT pJ H. apply spread_sound in H. apply (spread_nat above_e unit_e J n T D).
  assert (pos : (0 < above_e * T * J)%N) by (apply N.mul_pos_pos; [apply N.mul_pos_pos; [reflexivity|exact pT]|exact pJ]).
  eapply N.lt_le_trans; [|exact H]. rewrite N.pow_add_r.
  generalize dependent (above_e * T * J)%N. intros X _ pX.
  assert (p1 : (0 < X ^ (T * J))%N) by (apply N.neq_0_lt_0, N.pow_nonzero; lia).
  assert (p2 : (0 < 2 ^ (2 * T * D))%N) by (apply N.neq_0_lt_0, N.pow_nonzero; lia).
  apply N.mul_lt_mono_pos_l; [exact p1|]. change (2 ^ 2)%N with 4%N. lia.
Qed.
