(* At position 2^k a log-linear layer carries one level over the cut. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Subsets Tasks Cut Recurrent LogLinearLayer.
Import ListNotations.

Lemma lowest_bit_power fuel k : k < fuel -> lowest_bit_within fuel (2 ^ k) = k.
Proof.
  revert k. induction fuel as [|f IH]; intros k lt; [lia|].
  destruct k as [|k]; [reflexivity|].
  cbn [lowest_bit_within]. rewrite Nat.pow_succ_r', Nat.even_mul, Nat.div2_double. simpl. rewrite IH; lia.
Qed.
Lemma lowest_bit_small fuel t : 0 < t -> 2 ^ lowest_bit_within fuel t <= t.
Proof.
  revert t. induction fuel as [|f IH]; intros t p; simpl; [lia|].
  destruct (Nat.even t) eqn:e; [|simpl; lia].
  apply Nat.even_spec in e as [h ->]. rewrite Nat.div2_double. specialize (IH h ltac:(lia)). simpl. lia.
Qed.

Section Layer.
Context {X : Type} (f : log_linear X).
Lemma insert_length t x q : length (insert f (S t) x q) = max (lowest_bit (S t) + 2) (length q).
Proof.
  unfold insert. generalize (lowest_bit (S t)) as l. intros l. cbn [length]. rewrite app_length, repeat_length.
  cbn [length]. unfold gated. rewrite map_length, combine_length, seq_length, Nat.min_id, skipn_length. lia.
Qed.
Lemma few_levels a n :
  let q := state_after (log_linear_layer f) a n in length q <= 1 \/ 2 ^ (length q - 2) < n.
Proof.
  induction n as [|n IH]; cbv zeta in *; [simpl; auto|].
  destruct n as [|t]; [simpl; auto|]. cbn [state_after]. cbn [state_after] in IH.
  change (step (log_linear_layer f)) with (insert f) in *.
  right. set (q := insert f t (a t) (state_after (log_linear_layer f) a t)) in *.
  assert (len : length (insert f (S t) (a (S t)) q) = max (lowest_bit (S t) + 2) (length q)) by apply insert_length.
  change (list (option (level f))) with (state (log_linear_layer f)) in *. rewrite len.
  assert (2 ^ lowest_bit (S t) <= S t) by (apply lowest_bit_small; lia).
  destruct (Nat.max_spec (lowest_bit (S t) + 2) (length q)) as [[lt e]|[ge e]]; rewrite e.
  - destruct IH as [H'|H']; [lia|]. lia.
  - replace (lowest_bit (S t) + 2 - 2) with (lowest_bit (S t)) by lia. lia.
Qed.
Lemma log_linear_crosses k s : level_fits f s -> crosses (log_linear_layer f) (2 ^ k) s.
Proof.
  intros (code & bound & inj). exists (fun q => code (gather f (firstn (S k) q))). split; [intros; apply bound|].
  intros a b e x. apply inj in e. change (step (log_linear_layer f)) with (insert f).
  assert (cut : forall a, skipn (S (S k)) (state_after (log_linear_layer f) a (2 ^ k)) = []).
  { clear. intros a. apply skipn_all2. pose proof (few_levels a (2 ^ k)) as H. cbv zeta in H.
    destruct H as [H|H]; [lia|]. apply Nat.pow_lt_mono_r_iff in H; [|lia].
    change (state (log_linear_layer f)) with (list (option (level f))) in *. lia. }
  assert (p : 2 ^ k <> 0) by (apply Nat.pow_nonzero; lia).
  assert (lb : lowest_bit (2 ^ k) = k) by (apply lowest_bit_power, Nat.pow_gt_lin_r; lia).
  unfold insert. destruct (2 ^ k) eqn:q; [lia|]. rewrite <- q in *. rewrite lb.
  rewrite !cut. rewrite e. reflexivity.
Qed.
End Layer.

Lemma bucketed_crosses {X} k (ls : list (layer X)) s : bucketed (2 ^ k) ls s -> recurrent_at (2 ^ k) ls s.
Proof.
  induction 1; constructor; auto.
  - intros i x j y. reflexivity.
  - now apply log_linear_crosses.
Qed.
