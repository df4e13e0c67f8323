(* k! >= (k/e)^k, with a rational number above e in place of e: k^k unit^k <= k! above^k, on integers alone.
   (1 + 1/k)^k <= 1/0! + 1/1! + .. + 1/k! by the binomial theorem, and that sum is below above/unit: checked for k = 40,
   with room for the tail. *)
From Coq Require Import NArith Arith Lia List.
From Coq Require Import ZifyN ZifyNat.
From Rung Require Import Logarithm Subsets.
Local Open Scope nat_scope.

Fixpoint sumf (f : nat -> nat) (n : nat) : nat := match n with 0 => 0 | S k => sumf f k + f k end.
Lemma sumf_ext f g n : (forall i, i < n -> f i = g i) -> sumf f n = sumf g n.
Proof. induction n as [|n IH]; intros H; simpl; auto. rewrite IH, H; auto. Qed.
Lemma sumf_le f g n : (forall i, i < n -> f i <= g i) -> sumf f n <= sumf g n.
Proof. induction n as [|n IH]; intros H; simpl; auto. specialize (H n) as h. apply Nat.add_le_mono; auto. Qed.
Lemma sumf_shift f n : sumf f (S n) = f 0 + sumf (fun i => f (S i)) n.
Proof. induction n as [|n IH]; simpl in *; lia. Qed.
Lemma sumf_add f g n : sumf (fun i => f i + g i) n = sumf f n + sumf g n.
Proof. induction n as [|n IH]; simpl in *; lia. Qed.
Lemma sumf_mul f c n : sumf (fun i => c * f i) n = c * sumf f n.
Proof. induction n as [|n IH]; simpl in *; lia. Qed.

Lemma binom_0 n : binom n 0 = 1.
Proof. now destruct n. Qed.
Lemma binom_above n k : n < k -> binom n k = 0.
Proof. revert k. induction n as [|n IH]; intros [|k] lt; simpl; try lia. rewrite !IH; lia. Qed.

Lemma binomial_theorem k j : (k + 1) ^ j = sumf (fun i => binom j i * k ^ (j - i)) (S j).
Proof.
  induction j as [|j IH]; [reflexivity|].
  rewrite sumf_shift.
  rewrite (sumf_ext _ (fun i => binom j i * k ^ (j - i) + binom j (S i) * k ^ (j - i))).
  2:{ intros i li. cbn [binom]. replace (S j - S i) with (j - i) by lia. lia. }
  rewrite sumf_add, <- IH. cbv beta. rewrite binom_0, Nat.sub_0_r.
  assert (e : k ^ S j + sumf (fun i => binom j (S i) * k ^ (j - i)) (S j) = k * (k + 1) ^ j).
  { rewrite IH. rewrite (sumf_shift (fun i => binom j i * k ^ (j - i))). cbv beta. rewrite binom_0, Nat.sub_0_r.
    cbn [sumf]. rewrite (binom_above j (S j)) by lia. rewrite Nat.mul_0_l, Nat.add_0_r.
    rewrite Nat.mul_add_distr_l, <- sumf_mul. f_equal; [simpl; lia|].
    apply sumf_ext. intros i li. replace (j - i) with (S (j - S i)) by lia. simpl. lia. }
  simpl Nat.pow in *. lia.
Qed.

Lemma binom_fact n k : binom n k * fact k <= n ^ k.
Proof.
  revert k. induction n as [|n IH]; intros k.
  - destruct k; simpl; lia.
  - destruct k as [|k]; [simpl; lia|].
    (* S k C(S n, S k) = S n C(n, k) *)
    assert (a : forall n k, S k * binom (S n) (S k) = S n * binom n k).
    { clear. induction n as [|n IH]; intros k.
      - destruct k as [|[|k]]; simpl; lia.
      - cbn [binom]. destruct k as [|k].
        + pose proof (IH 0) as i. rewrite !binom_0 in *. cbn [binom] in i. rewrite binom_0 in i. lia.
        + pose proof (IH (S k)) as i. pose proof (IH k) as j. cbn [binom] in *. nia. }
    specialize (a n k). specialize (IH k).
    change (fact (S k)) with (S k * fact k). change (S n ^ S k) with (S n * S n ^ k).
    assert (n ^ k <= S n ^ k) by (apply Nat.pow_le_mono_l; lia). nia.
Qed.

(* k!/i! for i <= k, and their sum. *)
Fixpoint down (k i : nat) : nat := match k with 0 => 1 | S j => if i <=? j then S j * down j i else 1 end.
Lemma down_spec k i : i <= k -> down k i * fact i = fact k.
Proof.
  induction k as [|k IH]; intros le; [assert (i = 0) as -> by lia; reflexivity|].
  cbn [down]. destruct (Nat.leb_spec i k) as [le'|]; [|assert (i = S k) as -> by lia; lia].
  change (fact (S k)) with (S k * fact k). rewrite <- (IH le'). lia.
Qed.
Fixpoint series (k : nat) : nat := match k with 0 => 1 | S j => S j * series j + 1 end.
Lemma series_sum k : sumf (down k) (S k) = series k.
Proof.
  induction k as [|k IH]; [reflexivity|].
  change (sumf (down (S k)) (S k) + down (S k) (S k) = S k * series k + 1). rewrite <- IH, <- sumf_mul. f_equal.
  - apply sumf_ext. intros i li. cbn [down]. destruct (Nat.leb_spec i k); [reflexivity|lia].
  - cbn [down]. destruct (Nat.leb_spec (S k) k); [lia|auto].
Qed.

Lemma power_series k : (k + 1) ^ k * fact k <= k ^ k * series k.
Proof.
  rewrite binomial_theorem, <- series_sum, (Nat.mul_comm _ (fact k)), <- !sumf_mul.
  apply sumf_le. intros i li. rewrite <- (down_spec k i) by lia.
  pose proof (binom_fact k i) as H.
  replace (k ^ k) with (k ^ i * k ^ (k - i)) by (rewrite <- Nat.pow_add_r; f_equal; lia).
  apply (Nat.mul_le_mono_r _ _ (down k i * k ^ (k - i))) in H. lia.
Qed.

(* The numbers, on binary integers. *)
Section E.
Local Open Scope N_scope.
Fixpoint nfact (k : nat) : N := match k with O => 1 | S j => N.of_nat (S j) * nfact j end.
Fixpoint nseries (k : nat) : N := match k with O => 1 | S j => N.of_nat (S j) * nseries j + 1 end.
Lemma nfact_nat k : N.of_nat (fact k) = nfact k.
Proof. induction k as [|k IH]; [reflexivity|]. cbn [nfact]. rewrite <- IH, <- Nat2N.inj_mul. reflexivity. Qed.
Lemma nseries_nat k : N.of_nat (series k) = nseries k.
Proof.
  induction k as [|k IH]; [reflexivity|]. cbn [nseries]. rewrite <- IH, <- Nat2N.inj_mul.
  change (series (S k)) with (S k * series k + 1)%nat. lia.
Qed.
Lemma series_far j : let k := (40 + j)%nat in
  unit_e * (N.of_nat k * nseries k + 1) <= above_e * (N.of_nat k * nfact k).
Proof.
  cbv zeta. induction j as [|j IH]; [apply N.leb_le; vm_compute; reflexivity|].
  rewrite Nat.add_succ_r. set (k := (40 + j)%nat) in *. cbn [nseries nfact].
  assert (p : N.of_nat k <> 0) by (unfold k; lia).
  rewrite Nat2N.inj_succ. set (K := N.of_nat k) in *. set (s := nseries k) in *. set (f := nfact k) in *.
  generalize unit_e above_e IH. clearbody K s f. clear IH. intros U A IH.
  (* (K+1)^2 (U s) <= (K+1)^2 (A f - U/K) *)
  assert (H : K * (U * (N.succ K * (N.succ K * s + 1) + 1)) <= K * (A * (N.succ K * (N.succ K * f)))).
  { assert (H' : N.succ K * N.succ K * (U * (K * s + 1)) <= N.succ K * N.succ K * (A * (K * f))) by (apply N.mul_le_mono_l; exact IH).
    lia. }
  apply N.mul_le_mono_pos_l in H; [exact H|lia].
Qed.
Lemma series_near : forallb (fun k => unit_e * nseries k <=? above_e * nfact k) (seq 0 40) = true.
Proof. vm_compute. reflexivity. Qed.
Lemma series_below k : unit_e * nseries k <= above_e * nfact k.
Proof.
  destruct (le_lt_dec 40 k) as [le|lt].
  - pose proof (series_far (k - 40)) as H. cbv zeta in H. replace (40 + (k - 40))%nat with k in H by lia.
    assert (p : N.of_nat k <> 0) by lia.
    apply (N.mul_le_mono_pos_l _ _ (N.of_nat k)); [lia|]. generalize dependent unit_e. generalize above_e. intros. lia.
  - pose proof series_near as H. rewrite forallb_forall in H. apply N.leb_le, H, in_seq. lia.
Qed.
End E.

Definition unit := N.to_nat unit_e.
Definition above := N.to_nat above_e.
Lemma to_nat_le a b : (a <= b)%N -> N.to_nat a <= N.to_nat b.
Proof. lia. Qed.
Lemma to_nat_pos a : (0 < a)%N -> 0 < N.to_nat a.
Proof. lia. Qed.
Lemma unit_le_above : (unit_e <= above_e)%N.
Proof. apply N.leb_le. reflexivity. Qed.
Lemma unit_above : 0 < unit <= above.
Proof. exact (conj (to_nat_pos unit_e eq_refl) (to_nat_le unit_e above_e unit_le_above)). Qed.
Lemma scaled_nat (U A : N) (s f : nat) : (U * N.of_nat s <= A * N.of_nat f)%N -> N.to_nat U * s <= N.to_nat A * f.
Proof. lia. Qed.
Lemma series_below_nat k : unit * series k <= above * fact k.
Proof.
  apply (scaled_nat unit_e above_e). rewrite nfact_nat, nseries_nat. apply series_below.
Qed.

Section Any.
Variables (U A : nat).
Hypothesis series_small : forall k, U * series k <= A * fact k.
Lemma next_power k : U * (k + 1) ^ k <= A * k ^ k.
Proof.
  pose proof (power_series k) as H. pose proof (series_small k) as H'. pose proof (lt_O_fact k) as p.
  apply (Nat.mul_le_mono_pos_r _ _ (fact k)); [exact p|].
  transitivity (U * (k ^ k * series k)); [rewrite <- Nat.mul_assoc; now apply Nat.mul_le_mono_l|].
  apply (Nat.mul_le_mono_l _ _ (k ^ k)) in H'. lia.
Qed.
Lemma factorial_any k : k ^ k * U ^ k <= fact k * A ^ k.
Proof.
  induction k as [|k IH]; [reflexivity|].
  change (fact (S k)) with (S k * fact k). rewrite !Nat.pow_succ_r'. pose proof (next_power k) as H.
  replace (S k) with (k + 1) by lia.
  apply (Nat.mul_le_mono _ _ _ _ (le_n ((k + 1) * U ^ k))) in H.
  apply (Nat.mul_le_mono_l _ _ ((k + 1) * A)) in IH. lia.
Qed.
End Any.
Definition factorial_above : forall k, k ^ k * unit ^ k <= fact k * above ^ k := factorial_any unit above series_below_nat.
