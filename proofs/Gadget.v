(* The retrieval gadget fetches what it is asked for. *)
From Coq Require Import List ZArith NArith Arith Bool Lia.
From Rung Require Import Model Cut Counts Subsets CountsCorrect Softmax.
Import ListNotations.
Local Open Scope Z_scope.

(* Sums over positions. *)
Fixpoint total (f : nat -> Z) (n : nat) : Z := match n with O => 0 | S k => total f k + f k end.
Lemma total_ext f g n : (forall j, (j < n)%nat -> f j = g j) -> total f n = total g n.
Proof. induction n as [|n IH]; intros H; simpl; auto. rewrite IH, H; auto. Qed.
Lemma total_le f g n : (forall j, (j < n)%nat -> f j <= g j) -> total f n <= total g n.
Proof. induction n as [|n IH]; intros H; simpl; [lia|]. apply Z.add_le_mono; auto. Qed.
Lemma total_add f g n : total (fun j => f j + g j) n = total f n + total g n.
Proof. induction n as [|n IH]; simpl; lia. Qed.
Lemma total_shift f n : total f (S n) = f 0%nat + total (fun j => f (S j)) n.
Proof. induction n as [|n IH]; [simpl; lia|]. cbn [total] in *. lia. Qed.
Lemma total_halves f n : total f (2 * n) = total (fun j => f (2 * j)%nat) n + total (fun j => f (2 * j + 1)%nat) n.
Proof.
  induction n as [|n IH]; [reflexivity|]. replace (2 * S n)%nat with (S (S (2 * n))) by lia. cbn [total]. rewrite IH.
  replace (S (2 * n)) with (2 * n + 1)%nat by lia. lia.
Qed.
Lemma total_more f n k : (forall j, 0 <= f j) -> (n <= k)%nat -> total f n <= total f k.
Proof. intros p le. induction le as [|k le IH]; [lia|]. cbn [total]. specialize (p k). lia. Qed.
Lemma total_except w t n : (t < n)%nat -> total w n = w t + total (fun j => if (j =? t)%nat then 0 else w j) n.
Proof.
  assert (low : forall k, (k <= t)%nat -> total w k = total (fun j => if (j =? t)%nat then 0 else w j) k).
  { intros k le. apply total_ext. intros j lj. destruct (Nat.eqb_spec j t); [lia|reflexivity]. }
  induction n as [|n IH]; intros lt; [lia|]. cbn [total]. destruct (Nat.eq_dec n t) as [->|].
  - rewrite Nat.eqb_refl, <- low by lia. lia.
  - rewrite IH by lia. destruct (Nat.eqb_spec n t); [contradiction|]. lia.
Qed.

(* How many digits differ. *)
Fixpoint ham (a b : list bool) : nat :=
  match a, b with x :: a, y :: b => (if Bool.eqb x y then 0 else 1) + ham a b | _, _ => 0 end%nat.
Lemma ham_self a : ham a a = 0%nat.
Proof. induction a as [|x a IH]; simpl; auto. now rewrite Bool.eqb_reflx, IH. Qed.
Lemma digits_length D v : length (digits D v) = D.
Proof. unfold digits. now rewrite map_length, seq_length. Qed.
Lemma digits_next D v : digits (S D) v = Nat.odd v :: digits D (Nat.div2 v).
Proof.
  unfold digits. cbn [seq map]. rewrite Nat.bit0_odd. f_equal. rewrite <- seq_shift, map_map.
  apply map_ext. intros k. now rewrite Nat.div2_spec, Nat.shiftr_spec, Nat.add_1_r by lia.
Qed.
Lemma digits_even D j : digits (S D) (2 * j) = false :: digits D j.
Proof.
  rewrite digits_next. replace (Nat.odd (2 * j)) with false by (rewrite Nat.odd_mul; reflexivity).
  now rewrite Nat.div2_double.
Qed.
Lemma digits_odd D j : digits (S D) (2 * j + 1) = true :: digits D j.
Proof.
  rewrite digits_next, Nat.add_1_r. replace (Nat.odd (S (2 * j))) with true.
  - now rewrite Nat.div2_succ_double.
  - rewrite Nat.odd_succ, Nat.even_mul. reflexivity.
Qed.

(* All codes of D digits: C(D, h) of them at distance h of any one. *)
Fixpoint weighed (D : nat) (F : nat -> Z) : Z :=
  match D with O => F 0%nat | S D => weighed D F + weighed D (fun h => F (S h)) end.
Lemma all_codes D t F : total (fun j => F (ham (digits D t) (digits D j))) (2 ^ D) = weighed D F.
Proof.
  revert t F. induction D as [|D IH]; intros t F; [simpl; lia|].
  rewrite Nat.pow_succ_r', total_halves, digits_next. cbn [weighed].
  rewrite (total_ext (fun j => F (ham (Nat.odd t :: digits D (Nat.div2 t)) (digits (S D) (2 * j)%nat)))
             (fun j => F ((if Nat.odd t then 1 else 0) + ham (digits D (Nat.div2 t)) (digits D j))%nat)).
  2: { intros j _. rewrite digits_even. cbn [ham]. now destruct (Nat.odd t). }
  rewrite (total_ext (fun j => F (ham (Nat.odd t :: digits D (Nat.div2 t)) (digits (S D) (2 * j + 1)%nat)))
             (fun j => F ((if Nat.odd t then 0 else 1) + ham (digits D (Nat.div2 t)) (digits D j))%nat)).
  2: { intros j _. rewrite digits_odd. cbn [ham]. now destruct (Nat.odd t). }
  destruct (Nat.odd t); cbn [Nat.add].
  - rewrite (IH (Nat.div2 t) F), (IH (Nat.div2 t) (fun h => F (S h))). lia.
  - rewrite (IH (Nat.div2 t) F), (IH (Nat.div2 t) (fun h => F (S h))). lia.
Qed.
Lemma binom_over n k : (n < k)%nat -> binom n k = 0%nat.
Proof. revert k. induction n as [|n IH]; intros [|k] lt; simpl; try lia. rewrite !IH; lia. Qed.
Lemma weighed_binom D F : weighed D F = total (fun h => Z.of_nat (binom D h) * F h) (S D).
Proof.
  revert F. induction D as [|D IH]; intros F; [cbn [weighed total]; change (Z.of_nat (binom 0 0)) with 1; lia|].
  cbn [weighed]. rewrite !IH. rewrite (total_shift _ (S D)).
  rewrite (total_ext (fun j => Z.of_nat (binom (S D) (S j)) * F (S j))
             (fun j => Z.of_nat (binom D j) * F (S j) + Z.of_nat (binom D (S j)) * F (S j))).
  2: { intros j _. cbn [binom]. rewrite Nat2Z.inj_add. ring. }
  rewrite total_add.
  assert (last : total (fun j => Z.of_nat (binom D (S j)) * F (S j)) (S D) = total (fun j => Z.of_nat (binom D (S j)) * F (S j)) D).
  { cbn [total]. rewrite (binom_over D (S D)) by lia. lia. }
  rewrite last, (total_shift (fun h => Z.of_nat (binom D h) * F h) D).
  assert (b0 : forall q, binom q 0 = 1%nat) by (now destruct q). rewrite !b0. lia.
Qed.
Lemma others_weigh_is D beta table :
  Z.of_N (others_weigh D beta table) =
  total (fun h => Z.of_nat (binom D (S h)) * Z.of_N (clipped table (2 * beta * N.of_nat (S h)))) D.
Proof.
  unfold others_weigh.
  assert (G : forall k from, Z.of_N (fold_right N.add 0%N
      (map (fun h => binomial (N.of_nat D) h * clipped table (2 * beta * N.of_nat h))%N (seq from k))) =
    total (fun h => Z.of_nat (binom D (from + h)) * Z.of_N (clipped table (2 * beta * N.of_nat (from + h)))) k).
  { induction k as [|k IH]; intros from; [reflexivity|]. cbn [seq map fold_right].
    rewrite total_shift, N2Z.inj_add, N2Z.inj_mul, IH, Nat.add_0_r. f_equal.
    - f_equal. pose proof (binomial_nat (N.of_nat D) from) as e. rewrite Nat2N.id in e. rewrite <- e. symmetry. apply N_nat_Z.
    - apply total_ext. intros j _. now rewrite Nat.add_succ_r. }
  apply (G D 1%nat).
Qed.

(* Scores. *)
Lemma dot_app a a' b b' : length a = length b -> dot (a ++ a') (b ++ b') = dot a b + dot a' b'.
Proof. revert b. induction a as [|x a IH]; intros [|y b] l; simpl in *; try lia. rewrite IH by lia. lia. Qed.
Lemma dot_scaled c a b : dot (map (Z.mul c) a) b = c * dot a b.
Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn [map dot]; rewrite ?IH; ring. Qed.
Lemma dot_ones D : dot (repeat (-1) D) (repeat 1 D) = - Z.of_nat D.
Proof. induction D as [|D IH]; [reflexivity|]. cbn [repeat dot]. rewrite IH. lia. Qed.
Lemma dot_signs a b : length a = length b -> dot (map sign a) (map sign b) = Z.of_nat (length a) - 2 * Z.of_nat (ham a b).
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] l; cbn [length map dot ham] in *; try lia.
  rewrite IH by lia. rewrite !Nat2Z.inj_succ. destruct x, y; cbn [sign Bool.eqb Nat.add]; rewrite ?Nat2Z.inj_succ; lia.
Qed.

Section Fetch.
Variables (g : gadget) (target : list nat -> nat).
Notation D := (code_digits g).
Notation V := (value_digits g).
Notation h := (fetch g target).
Definition at_distance (k : nat) : Z := Z.of_N (clipped (score_table g) (2 * beta g * N.of_nat k)).
Definition wt (x : list nat) (j : nat) : Z := at_distance (ham (digits D (target x)) (digits D j)).
Lemma weight_is i x j y : weight h (dot (query h i x) (key_of h j y)) = wt x j.
Proof.
  cbn [query key_of weight fetch]. rewrite dot_scaled, dot_app by (unfold code; now rewrite !map_length, !digits_length).
  rewrite dot_ones. unfold code. rewrite dot_signs by now rewrite !digits_length. rewrite digits_length.
  unfold wt, at_distance. do 2 f_equal. lia.
Qed.

Definition bit (a : nat -> list nat) (b j : nat) : Z := digit (Nat.testbit (hd 0%nat (a j)) b).
(* What one head adds up over the first n positions. *)
Fixpoint head_partial {X} (k : head_maps X) (i : nat) (x : X) (a : nat -> X) (n : nat) : list Z :=
  match n with O => [] | S j => vadd (head_partial k i x a j) (head_term k i x j (a j)) end.
Lemma partial_heads {X} (hs : list (head_maps X)) mlp i x a n :
  partial (softmax_layer hs mlp) i x a 0 n =
  match n with O => [] | _ => map (fun k => head_partial k i x a n) hs end.
Proof.
  assert (two : forall f k : head_maps X -> list Z, hadd (map f hs) (map k hs) = map (fun q => vadd (f q) (k q)) hs).
  { intros f k. induction hs as [|q qs IH]; simpl; auto. now rewrite IH. }
  induction n as [|n IH]; [reflexivity|].
  cbn [partial]. rewrite IH. cbn [add term softmax_layer Nat.add].
  destruct n as [|n]; [reflexivity|]. rewrite two. reflexivity.
Qed.

Lemma vadd_map (f k : nat -> Z) l : vadd (map f l) (map k l) = map (fun b => f b + k b) l.
Proof. induction l as [|b l IH]; simpl; auto. now rewrite IH. Qed.
Lemma sum_is i x a n :
  head_partial h i x a n =
  match n with O => [] | _ => total (wt x) n :: map (fun b => total (fun j => wt x j * bit a b j) n) (seq 0 V) end.
Proof.
  induction n as [|n IH]; [reflexivity|].
  cbn [head_partial]. rewrite IH. unfold head_term. rewrite weight_is. cbv zeta.
  assert (v : map (Z.mul (wt x n)) (value_of h n (a n)) = map (fun b => wt x n * bit a b n) (seq 0 V)).
  { cbn [value_of fetch]. unfold digits. rewrite !map_map. reflexivity. }
  rewrite v. destruct n as [|n].
  - cbn [vadd total]. rewrite Z.add_0_l. f_equal.
  - cbn [vadd]. rewrite vadd_map. reflexivity.
Qed.
Lemma rounded_bit num den (b : bool) : 0 < den -> 0 <= num <= den ->
  (b = true -> den <= 2 * num) -> (b = false -> 2 * num < den) -> rounded num den = digit b.
Proof.
  intros p r h1 h0. unfold rounded. destruct b; cbn [digit].
  - symmetry. apply Z.div_unique with (r := 2 * num + den - 2 * den); [left; specialize (h1 eq_refl); lia|lia].
  - symmetry. apply Z.div_unique with (r := 2 * num + den); [left; specialize (h0 eq_refl); lia|lia].
Qed.

Hypothesis weak : (others_weigh D (beta g) (score_table g) < clipped (score_table g) 0)%N.
Lemma distance_nonneg k : 0 <= at_distance k.
Proof. unfold at_distance. lia. Qed.
Lemma below_twice x n : (n <= 2 ^ D)%nat -> total (wt x) n < 2 * at_distance 0.
Proof.
  intros le. apply Z.le_lt_trans with (total (wt x) (2 ^ D)).
  { apply total_more; auto. intros j. apply distance_nonneg. }
  unfold wt. rewrite (all_codes D (target x) at_distance), weighed_binom, total_shift.
  assert (b0 : forall q, binom q 0 = 1%nat) by (now destruct q). rewrite b0.
  pose proof (others_weigh_is D (beta g) (score_table g)) as e. unfold at_distance in *.
  rewrite <- e. rewrite N.mul_0_r. lia.
Qed.

(* The head's output at position i is the number at the target. *)
Lemma fetched i a : (S i <= 2 ^ D)%nat -> (target (a i) <= i)%nat ->
  head_round (head_partial h i (a i) a (S i)) = map digit (digits V (hd 0%nat (a (target (a i))))).
Proof.
  intros le lt. rewrite sum_is. cbn [head_round]. unfold digits. rewrite !map_map. apply map_ext. intros b.
  set (x := a i) in *. set (w := wt x). set (t := target x) in *.
  set (num := total (fun j => w j * bit a b j) (S i)). set (den := total w (S i)).
  assert (pos : forall j, 0 <= w j) by (intros; apply distance_nonneg).
  assert (b01 : forall j, bit a b j = 0 \/ bit a b j = 1) by (intros j; unfold bit, digit; destruct (Nat.testbit _ _); auto).
  assert (wt0 : w t = at_distance 0) by (unfold w, wt; fold t; now rewrite ham_self).
  pose proof (below_twice x (S i) le) as twice. fold w in twice. fold den in twice.
  assert (ed : den = w t + total (fun j => if (j =? t)%nat then 0 else w j) (S i)) by (apply total_except; lia).
  assert (en : num = w t * bit a b t + total (fun j => if (j =? t)%nat then 0 else w j * bit a b j) (S i))
    by (apply (total_except (fun j => w j * bit a b j)); lia).
  set (rest := total (fun j => if (j =? t)%nat then 0 else w j) (S i)) in *.
  set (part := total (fun j => if (j =? t)%nat then 0 else w j * bit a b j) (S i)) in *.
  assert (pr : 0 <= part <= rest).
  { split.
    - replace 0 with (total (fun _ => 0) (S i)) by (generalize (S i); induction n; simpl; lia).
      apply total_le. intros j _. destruct (j =? t)%nat; [lia|]. specialize (pos j). destruct (b01 j) as [->| ->]; lia.
    - apply total_le. intros j _. destruct (j =? t)%nat; [lia|]. specialize (pos j). destruct (b01 j) as [->| ->]; lia. }
  assert (top : 0 < w t) by (rewrite wt0; unfold at_distance; rewrite N.mul_0_r; lia).
  assert (eb : bit a b t = digit (Nat.testbit (hd 0%nat (a t)) b)) by reflexivity.
  apply rounded_bit; try lia.
  - destruct (b01 t) as [e|e]; rewrite e in en; lia.
  - intros e1. rewrite e1 in eb. simpl in eb. rewrite eb in en. lia.
  - intros e0. rewrite e0 in eb. simpl in eb. rewrite eb in en. lia.
Qed.
End Fetch.

Lemma number_digits V v : (v < 2 ^ V)%nat -> number (map digit (digits V v)) = v.
Proof.
  revert v. induction V as [|V IH]; intros v lt; [simpl in *; lia|].
  rewrite digits_next. cbn [map number]. rewrite IH.
  - pose proof (Nat.div2_odd v) as o. destruct (Nat.odd v); simpl digit; simpl Nat.b2n in o; lia.
  - rewrite Nat.div2_div. apply Nat.div_lt_upper_bound; [lia|]. simpl in lt. lia.
Qed.

Lemma holds_weak p D b t : lookup_holds p D b t = true -> (others_weigh D b t < clipped t 0)%N.
Proof. unfold lookup_holds. intros H. apply andb_true_iff in H as [_ H]. now apply N.ltb_lt. Qed.

(* The layer: at its position lookups, elsewhere nothing. *)
Theorem lookup_at g e targets write (a : nat -> list nat) :
  (others_weigh (code_digits g) (beta g) (score_table g) < clipped (score_table g) 0)%N ->
  (S e <= 2 ^ code_digits g)%nat ->
  (forall t, In t targets -> t (a e) <= e /\ hd 0 (a (t (a e))) < 2 ^ value_digits g)%nat ->
  apply (lookup g e targets write) a e = write (a e) (map (fun t => hd 0%nat (a (t (a e)))) targets).
Proof.
  intros weak le ok. unfold apply, heads, lookup. cbn [out softmax_layer round]. rewrite Nat.eqb_refl. f_equal.
  rewrite partial_heads, !map_map. apply map_ext_in. intros t it. destruct (ok t it) as [lt small].
  rewrite fetched by auto. now apply number_digits.
Qed.
Lemma lookup_elsewhere g e targets write a i : i <> e -> apply (lookup g e targets write) a i = a i.
Proof.
  intros ne. unfold apply, lookup. cbn [out softmax_layer]. destruct (Nat.eqb_spec i e); [contradiction|reflexivity].
Qed.

(* Padding. *)
Lemma run_padded {X} (ls ms : list (layer X)) : padded ls ms -> forall a i, run ms a i = run ls a i.
Proof.
  induction 1 as [|l ls ms quiet pad IH|l l' ls ms same pad IH]; intros a i; [reflexivity| |].
  - cbn [run]. rewrite IH. apply run_ext. intros j _. apply quiet.
  - cbn [run]. rewrite IH. apply run_ext. intros j _. apply same.
Qed.
Lemma heads_ignored {X} (hs others : list (head_maps X)) mlp :
  acts_as (softmax_layer hs mlp) (softmax_layer (hs ++ others) (fun i x o => mlp i x (firstn (length hs) o))).
Proof.
  intros a i. unfold apply, heads. cbn [out softmax_layer round]. f_equal. rewrite !partial_heads, map_app, !map_app.
  rewrite firstn_app, !map_length, Nat.sub_diag, firstn_O, app_nil_r. apply firstn_all2. now rewrite !map_length.
Qed.

(* The numbers. *)
Lemma fits_small p z : (2 <= p)%N -> -1 <= z <= 1 -> fits p z.
Proof.
  intros lp lz. unfold fits. assert (2 ^ 1 <= 2 ^ (Z.of_N p - 1)) by (apply Z.pow_le_mono_r; lia). lia.
Qed.
Lemma fetch_numbers p g target i x j y : lookup_holds p (code_digits g) (beta g) (score_table g) = true ->
  Forall (fits p) (query (fetch g target) i x) /\ Forall (fits p) (key_of (fetch g target) j y) /\
  Forall (fits p) (value_of (fetch g target) j y).
Proof.
  intros H. unfold lookup_holds in H. rewrite !andb_true_iff in H. destruct H as (((H2 & Hb) & _) & _).
  apply N.leb_le in H2. apply N.ltb_lt in Hb.
  assert (big : Z.of_N (beta g) < 2 ^ (Z.of_N p - 1)).
  { replace (2 ^ (Z.of_N p - 1)) with (Z.of_N (2 ^ (p - 1))); [lia|]. rewrite N2Z.inj_pow, N2Z.inj_sub by lia. reflexivity. }
  assert (sg : forall b, sign b = 1 \/ sign b = -1) by (intros [|]; auto).
  cbn [query key_of value_of fetch]. unfold code. repeat split; apply Forall_forall; intros z iz.
  - apply in_map_iff in iz as (u & <- & iu). apply in_app_iff in iu as [iu|iu].
    + apply in_map_iff in iu as (b & <- & _). unfold fits. destruct (sg b) as [->| ->]; lia.
    + apply repeat_spec in iu as ->. unfold fits. lia.
  - apply in_app_iff in iz as [iu|iu].
    + apply in_map_iff in iu as (b & <- & _). apply fits_small; auto. destruct (sg b) as [->| ->]; lia.
    + apply repeat_spec in iu as ->. apply fits_small; auto. lia.
  - apply in_map_iff in iz as (b & <- & _). apply fits_small; auto. destruct b; simpl; lia.
Qed.
Lemma fetch_widths g target i x j y :
  length (query (fetch g target) i x) = (2 * code_digits g)%nat /\ length (key_of (fetch g target) j y) = (2 * code_digits g)%nat /\
  length (value_of (fetch g target) j y) = value_digits g.
Proof.
  cbn [query key_of value_of fetch]. unfold code. repeat rewrite ?map_length, ?app_length, ?repeat_length, ?digits_length. lia.
Qed.
