(* The retrieval gadget fetches what it is asked for. *)
From Coq Require Import List ZArith Arith Bool Lia.
From Rung Require Import Model Cut Softmax.
Import ListNotations.
Local Open Scope Z_scope.

(* Scores. *)
Lemma dot_app a a' b b' : length a = length b -> dot (a ++ a') (b ++ b') = dot a b + dot a' b'.
Proof. revert b. induction a as [|x a IH]; intros [|y b] l; simpl in *; try lia. rewrite IH by lia. lia. Qed.
Lemma dot_ones D : dot (repeat (-1) D) (repeat 1 D) = - Z.of_nat D.
Proof. induction D as [|D IH]; [reflexivity|]. cbn [repeat dot]. rewrite IH. lia. Qed.
Lemma dot_signs a b : length a = length b ->
  dot (map sign a) (map sign b) <= Z.of_nat (length a) /\
  (dot (map sign a) (map sign b) = Z.of_nat (length a) -> a = b).
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] l; cbn [length map dot] in *; try lia; [split; auto; lia|].
  destruct (IH b) as [h1 h2]; [lia|].
  assert (s : sign x * sign y = 1 /\ x = y \/ sign x * sign y = -1).
  { destruct x, y; simpl; auto. }
  split; [lia|]. intros e. destruct s as [[s ->]|s]; [|lia]. f_equal. apply h2. lia.
Qed.
Lemma dot_self a : dot (map sign a) (map sign a) = Z.of_nat (length a).
Proof. induction a as [|x a IH]; [reflexivity|]. cbn [length map dot]. rewrite IH. destruct x; simpl sign; lia. Qed.
Lemma digits_length D v : length (digits D v) = D.
Proof. unfold digits. now rewrite map_length, seq_length. Qed.
Lemma digits_inj D v w : (v < 2 ^ D)%nat -> (w < 2 ^ D)%nat -> digits D v = digits D w -> v = w.
Proof.
  intros lv lw e. apply Nat.bits_inj. intros k. destruct (le_lt_dec D k) as [ge|lt].
  - assert (z : forall u, (u < 2 ^ D)%nat -> Nat.testbit u k = false).
    { intros u lu. destruct (Nat.eq_dec u 0) as [->|]; [apply Nat.bits_0|].
      apply Nat.bits_above_log2. apply Nat.log2_lt_pow2; [lia|]. eapply Nat.lt_le_trans; [exact lu|].
      apply Nat.pow_le_mono_r; lia. }
    now rewrite !z.
  - unfold digits in e. apply (f_equal (fun l => nth k l false)) in e.
    assert (n : forall u, nth k (map (Nat.testbit u) (seq 0 D)) false = Nat.testbit u k).
    { intros u. rewrite nth_indep with (d' := Nat.testbit u 0) by (rewrite map_length, seq_length; auto).
      rewrite map_nth, seq_nth by auto. reflexivity. }
    now rewrite !n in e.
Qed.

Section Fetch.
Variables (D : nat) (target : list nat -> nat).
Notation h := (fetch D target).
Lemma score i x j y : dot (query h i x) (key_of h j y) = dot (code D (target x)) (code D j) - Z.of_nat D.
Proof.
  cbn [query key_of fetch]. rewrite dot_app by (unfold code; now rewrite !map_length, !digits_length). rewrite dot_ones. lia.
Qed.
Lemma weight_is i x j y : (target x < 2 ^ D)%nat -> (j < 2 ^ D)%nat ->
  weight h (dot (query h i x) (key_of h j y)) = if (j =? target x)%nat then 2 ^ Z.of_nat D else 1.
Proof.
  intros lt lj. rewrite score. cbn [weight fetch]. unfold table_of, code.
  destruct (Nat.eqb_spec j (target x)) as [->|ne].
  - rewrite dot_self, digits_length, Z.sub_diag. reflexivity.
  - destruct (Z.eqb_spec (dot (map sign (digits D (target x))) (map sign (digits D j)) - Z.of_nat D) 0) as [e|]; auto.
    exfalso. apply ne. symmetry. apply (digits_inj D); auto.
    apply dot_signs; rewrite !digits_length; auto. lia.
Qed.

(* The sums over the first n positions: n of weight 1, the target's weight 2^D once it is among them. *)
Definition wt (x : list nat) (j : nat) : Z := if (j =? target x)%nat then 2 ^ Z.of_nat D else 1.
Fixpoint total (f : nat -> Z) (n : nat) : Z := match n with O => 0 | S k => total f k + f k end.
Definition bit (a : nat -> list nat) (b j : nat) : Z := digit (Nat.testbit (hd 0%nat (a j)) b).

Lemma vadd_map (f g : nat -> Z) l : vadd (map f l) (map g l) = map (fun b => f b + g b) l.
Proof. induction l as [|b l IH]; simpl; auto. now rewrite IH. Qed.
Lemma sum_is (k : head_maps (list nat)) mlp i x a n : (n <= 2 ^ D)%nat -> (target x < 2 ^ D)%nat ->
  fst (partial (softmax_layer h k mlp) i x a 0 (S n - 1)) =
  match n with O => [] | _ => total (wt x) n :: map (fun b => total (fun j => wt x j * bit a b j) n) (seq 0 D) end.
Proof.
  intros le lt. replace (S n - 1)%nat with n by lia. induction n as [|n IH]; [reflexivity|].
  cbn [partial]. cbn [add softmax_layer fst]. rewrite IH by lia. cbn [term softmax_layer fst].
  unfold head_term. rewrite weight_is by (auto; simpl; lia). simpl Nat.add. fold (wt x n).
  assert (v : map (Z.mul (wt x n)) (value_of h n (a n)) = map (fun b => wt x n * bit a b n) (seq 0 D)).
  { cbn [value_of fetch]. unfold digits. rewrite !map_map. reflexivity. }
  cbv zeta. rewrite v. destruct n as [|n].
  - cbn [vadd total]. rewrite Z.add_0_l. f_equal.
  - cbn [vadd]. rewrite vadd_map. reflexivity.
Qed.
Lemma total_le f g n : (forall j, (j < n)%nat -> f j <= g j) -> total f n <= total g n.
Proof. induction n as [|n IH]; intros H; simpl; [lia|]. specialize (H n) as e. apply Z.add_le_mono; auto. Qed.
Lemma total_wt x n : (target x < n)%nat -> total (wt x) n = 2 ^ Z.of_nat D + Z.of_nat n - 1.
Proof.
  assert (none : forall k, (k <= target x)%nat -> total (wt x) k = Z.of_nat k).
  { induction k as [|k IH]; intros le; [reflexivity|]. cbn [total]. rewrite IH by lia. unfold wt.
    destruct (Nat.eqb_spec k (target x)); lia. }
  induction n as [|n IH]; intros lt; [lia|]. cbn [total].
  destruct (Nat.eq_dec n (target x)) as [->|].
  - rewrite none by lia. unfold wt. rewrite Nat.eqb_refl. lia.
  - rewrite IH by lia. unfold wt. destruct (Nat.eqb_spec n (target x)); lia.
Qed.
Lemma total_bit x a b n : (target x < n)%nat ->
  let num := total (fun j => wt x j * bit a b j) n in
  0 <= num <= total (wt x) n /\
  (bit a b (target x) = 1 -> 2 ^ Z.of_nat D <= num) /\ (bit a b (target x) = 0 -> num <= Z.of_nat n - 1).
Proof.
  intros lt num.
  assert (b01 : forall j, bit a b j = 0 \/ bit a b j = 1) by (intros j; unfold bit, digit; destruct (Nat.testbit _ _); auto).
  assert (p : 0 < 2 ^ Z.of_nat D) by (apply Z.pow_pos_nonneg; lia).
  assert (w1 : forall j, 1 <= wt x j) by (intros j; unfold wt; destruct (_ =? _)%nat; lia).
  assert (pos : forall k, 0 <= total (fun j => wt x j * bit a b j) k).
  { induction k as [|k IH]; simpl; [lia|]. specialize (w1 k). destruct (b01 k) as [->| ->]; lia. }
  split; [split; [exact (pos n)|]|split].
  - apply total_le. intros j _. specialize (w1 j). destruct (b01 j) as [->| ->]; lia.
  - intros e. unfold num. clear num. induction n as [|n IH]; [lia|]. cbn [total]. pose proof (pos n).
    destruct (Nat.eq_dec n (target x)) as [->|].
    + rewrite e. unfold wt at 2. rewrite Nat.eqb_refl. lia.
    + specialize (IH ltac:(lia)). specialize (w1 n). destruct (b01 n) as [->| ->]; lia.
  - intros e. unfold num.
    assert (low : forall k, (k <= target x)%nat -> total (fun j => wt x j * bit a b j) k <= Z.of_nat k).
    { induction k as [|k IH]; intros le; [simpl; lia|]. cbn [total]. specialize (IH ltac:(lia)).
      unfold wt at 2. destruct (Nat.eqb_spec k (target x)); [lia|]. destruct (b01 k) as [->| ->]; lia. }
    clear num. induction n as [|n IH]; [lia|]. cbn [total].
    destruct (Nat.eq_dec n (target x)) as [->|].
    + rewrite e. specialize (low (target x) (le_n _)). lia.
    + specialize (IH ltac:(lia)). unfold wt at 2. destruct (Nat.eqb_spec n (target x)); [lia|].
      destruct (b01 n) as [->| ->]; lia.
Qed.
Lemma rounded_bit num den (b : bool) : 0 < den -> 0 <= num <= den ->
  (b = true -> den <= 2 * num) -> (b = false -> 2 * num < den) -> rounded num den = digit b.
Proof.
  intros p r h1 h0. unfold rounded. destruct b; cbn [digit].
  - symmetry. apply Z.div_unique with (r := 2 * num + den - 2 * den); [left; specialize (h1 eq_refl); lia|lia].
  - symmetry. apply Z.div_unique with (r := 2 * num + den); [left; specialize (h0 eq_refl); lia|lia].
Qed.

(* The head's output at position i is the number at the target. *)
Lemma fetched (k : head_maps (list nat)) mlp i a : (S i <= 2 ^ D)%nat -> (target (a i) <= i)%nat ->
  head_round (fst (partial (softmax_layer h k mlp) i (a i) a 0 (S i))) = map digit (digits D (hd 0%nat (a (target (a i))))).
Proof.
  intros le lt. pose proof (sum_is k mlp i (a i) a (S i) le (Nat.lt_le_trans _ _ _ (le_n_S _ _ lt) le)) as e.
  replace (S (S i) - 1)%nat with (S i) in e by lia. rewrite e. cbn [head_round].
  unfold digits. rewrite !map_map. apply map_ext_in. intros b _.
  destruct (total_bit (a i) a b (S i) (le_n_S _ _ lt)) as (r & h1 & h0). cbv zeta in *.
  pose proof (total_wt (a i) (S i) (le_n_S _ _ lt)) as den.
  assert (two : Z.of_nat (S i) <= 2 ^ Z.of_nat D) by (change 2 with (Z.of_nat 2); rewrite <- Nat2Z.inj_pow; apply Nat2Z.inj_le; exact le).
  apply rounded_bit; try lia.
  - intros eb. assert (e1 : bit a b (target (a i)) = 1) by (unfold bit; now rewrite eb). specialize (h1 e1). lia.
  - intros eb. assert (e0 : bit a b (target (a i)) = 0) by (unfold bit; now rewrite eb). specialize (h0 e0). lia.
Qed.
End Fetch.

Lemma number_digits D v : (v < 2 ^ D)%nat -> number (map digit (digits D v)) = v.
Proof.
  revert v. induction D as [|D IH]; intros v lt; [simpl in *; lia|].
  assert (e : digits (S D) v = Nat.odd v :: digits D (Nat.div2 v)).
  { unfold digits. cbn [seq map]. rewrite Nat.bit0_odd. f_equal. rewrite <- seq_shift, map_map.
    apply map_ext. intros k. now rewrite Nat.div2_spec, Nat.shiftr_spec, Nat.add_1_r by lia. }
  rewrite e. cbn [map number]. rewrite IH.
  - pose proof (Nat.div2_odd v) as o. destruct (Nat.odd v); simpl digit; simpl Nat.b2n in o; lia.
  - rewrite Nat.div2_div. apply Nat.div_lt_upper_bound; [lia|]. simpl in lt. lia.
Qed.

(* The layer: at its position two lookups, elsewhere nothing. *)
Theorem lookup_at D e first second (a : nat -> list nat) :
  (S e <= 2 ^ D)%nat -> (first (a e) <= e)%nat -> (second (a e) <= e)%nat ->
  (forall j, (j <= e)%nat -> (hd 0 (a j) < 2 ^ D)%nat) ->
  apply (lookup D e first second) a e = [hd 0%nat (a e); hd 0%nat (a (first (a e))); hd 0%nat (a (second (a e)))].
Proof.
  intros le l1 l2 small. unfold apply, heads, lookup. cbn [out softmax_layer round fst snd]. rewrite Nat.eqb_refl.
  set (mlp := fun i x u v => if (i =? e)%nat then [hd 0%nat x; number u; number v] else x).
  assert (sw : forall i x b n, snd (partial (softmax_layer (fetch D first) (fetch D second) mlp) i x b 0 n) =
                               fst (partial (softmax_layer (fetch D second) (fetch D first) mlp) i x b 0 n)).
  { intros i x b n. induction n as [|n IH]; [reflexivity|]. cbn [partial add softmax_layer fst snd]. now rewrite IH. }
  rewrite sw, !fetched by auto. now rewrite !number_digits by auto.
Qed.
Lemma lookup_elsewhere D e first second a i : i <> e -> apply (lookup D e first second) a i = a i.
Proof.
  intros ne. unfold apply, lookup. cbn [out softmax_layer]. destruct (Nat.eqb_spec i e); [contradiction|reflexivity].
Qed.
