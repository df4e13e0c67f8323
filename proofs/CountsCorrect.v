(* From counts on binary integers to the inequalities on which the proofs run. *)
From Coq Require Import List NArith Arith Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Logarithm Counts Subsets.

Lemma exceeds_nat a b c : exceeds a b c = true -> 2 ^ N.to_nat c < N.to_nat b ^ N.to_nat a.
Proof.
  intros H. apply exceeds_sound in H. apply (N.compare_lt_iff) in H.
  rewrite <- (N2Nat.id (2 ^ c)), <- (N2Nat.id (b ^ a)), <- Nat2N.inj_compare in H.
  apply Nat.compare_lt_iff in H. rewrite !N2Nat.inj_pow in H. exact H.
Qed.
Lemma lt_nat a b : (a < b)%N -> N.to_nat a < N.to_nat b.
Proof. lia. Qed.
Lemma pow_lt_nat s c : (2 ^ s < c)%N -> 2 ^ N.to_nat s < N.to_nat c.
Proof. intros H. apply lt_nat in H. rewrite N2Nat.inj_pow in H. exact H. Qed.

Lemma absorption n k : S k * binom (S n) (S k) = S n * binom n k.
Proof.
  revert k. induction n as [|n IH]; intros k.
  - destruct k as [|[|k]]; simpl; lia.
  - cbn [binom]. destruct k as [|k].
    + assert (b0 : forall q, binom q 0 = 1) by (now destruct q). pose proof (IH 0) as i. rewrite !b0 in *.
      cbn [binom] in i. rewrite b0 in i. lia.
    + pose proof (IH (S k)) as i. pose proof (IH k) as j. cbn [binom] in *. nia.
Qed.
Lemma binom_next n k : binom n (S k) * S k = binom n k * (n - k).
Proof.
  destruct (le_lt_dec k n).
  - pose proof (absorption n k) as a. cbn [binom] in a. nia.
  - assert (z : forall n k, n < k -> binom n k = 0).
    { clear. induction n as [|n IH]; intros [|k] lt; simpl; try lia. rewrite !IH; lia. }
    rewrite !z by lia. auto.
Qed.

Lemma binomial_nat M k : N.to_nat (binomial M k) = binom (N.to_nat M) k.
Proof.
  induction k as [|k IH]; [now destruct (N.to_nat M)|].
  cbn [binomial]. rewrite N2Nat.inj_div, N2Nat.inj_mul, N2Nat.inj_sub, IH, !Nat2N.id, <- binom_next.
  apply Nat.div_mul. lia.
Qed.
Lemma binomials_up_to_nat M n :
  let (c, sum) := binomials_up_to M n in N.to_nat c = binom (N.to_nat M) n /\ N.to_nat sum = binoms (N.to_nat M) 1 n.
Proof.
  induction n as [|n IH]; [split; [now destruct (N.to_nat M)|reflexivity]|].
  cbn [binomials_up_to]. destruct (binomials_up_to M n) as [c sum]. destruct IH as [ec es].
  assert (e : N.to_nat (c * (M - N.of_nat n) / N.of_nat (S n)) = binom (N.to_nat M) (S n)).
  { rewrite N2Nat.inj_div, N2Nat.inj_mul, N2Nat.inj_sub, ec, !Nat2N.id, <- binom_next. apply Nat.div_mul. lia. }
  split; auto. rewrite N2Nat.inj_add, es, e. unfold binoms. rewrite seq_S, map_app, list_sum_app. simpl. lia.
Qed.
Lemma binoms_more n from a b : a <= b -> binoms n from a <= binoms n from b.
Proof.
  intros le. unfold binoms. replace b with (a + (b - a)) by lia. rewrite seq_app, map_app, list_sum_app. lia.
Qed.
Lemma nonempty_subsets_nat M n : N.to_nat (nonempty_subsets M n) <= binoms (N.to_nat M) 1 (N.to_nat n).
Proof.
  unfold nonempty_subsets. pose proof (binomials_up_to_nat M (N.to_nat (N.min n M))) as H.
  destruct (binomials_up_to M (N.to_nat (N.min n M))) as [c sum]. destruct H as [_ e]. cbn [snd]. rewrite e.
  apply binoms_more. lia.
Qed.
