(* T functions of one class whose values on x_0 arguments are at least half as many as they could be. *)
From Coq Require Import List Arith Lia Factorial.
From Rung Require Import Counting Subsets EBound.
Import ListNotations.

(* Sequences with few different values. *)
Definition values (x0 : nat) (F : list (list nat)) : list nat := flat_map (firstn x0) F.
Definition others (x0 : nat) (F : list (list nat)) : list nat := flat_map (skipn x0) F.

Lemma values_inj x0 m F G : x0 <= m -> length F = length G ->
  (forall f, In f F -> length f = m) -> (forall f, In f G -> length f = m) ->
  values x0 F = values x0 G -> others x0 F = others x0 G -> F = G.
Proof.
  intros le. revert G. induction F as [|f F IH]; intros [|g G] len hf hg ev eo; simpl in *; try lia; auto.
  assert (lf : length f = m) by auto. assert (lg : length g = m) by auto.
  assert (app : forall (a b c d : list nat), length a = length b -> a ++ c = b ++ d -> a = b /\ c = d).
  { clear. induction a as [|x a IH]; intros [|y b] c d l e; simpl in *; try lia; auto.
    injection e as -> e. apply IH in e as [-> ->]; auto. }
  apply app in ev as [e1 e2]; [|rewrite !firstn_length; lia].
  apply app in eo as [e3 e4]; [|rewrite !skipn_length; lia].
  f_equal.
  - rewrite <- (firstn_skipn x0 f), <- (firstn_skipn x0 g). congruence.
  - apply IH; auto.
Qed.
Lemma values_length x0 m F : x0 <= m -> (forall f, In f F -> length f = m) -> length (values x0 F) = length F * x0.
Proof.
  intros le h. unfold values. rewrite flat_map_length_const with (c := x0); auto.
  intros f i. rewrite firstn_length, (h f i). lia.
Qed.
Lemma others_length x0 m F : (forall f, In f F -> length f = m) -> length (others x0 F) = length F * (m - x0).
Proof.
  intros h. unfold others. rewrite flat_map_length_const with (c := m - x0); auto.
  intros f i. rewrite skipn_length, (h f i). lia.
Qed.
Lemma in_values x0 F v : In v (values x0 F) -> exists f z, In f F /\ z < x0 /\ table f z = v.
Proof.
  intros i. apply in_flat_map in i as (f & iF & i). apply (In_nth _ _ 0) in i as (z & lz & e).
  rewrite firstn_length in lz. exists f, z. repeat split; auto; [lia|].
  unfold table. rewrite <- e. rewrite <- (firstn_skipn x0 f) at 1. apply app_nth1. rewrite firstn_length. lia.
Qed.

Section Spread.
Variables (U A : nat).
Hypothesis U_A : 0 < U <= A.
Hypothesis factorial : forall k, k ^ k * U ^ k <= fact k * A ^ k.

Lemma pow_mono_le a b n : a <= b -> a ^ n <= b ^ n.
Proof. apply Nat.pow_le_mono_l. Qed.
Lemma square a b c : a * b * (a * b) = c -> (a * a) * (b * b) = c.
Proof. intros <-. lia. Qed.

Lemma n_below m n e : 0 < n -> (A * n) ^ n * 2 ^ e < (2 * m * U) ^ n -> n < 2 * m.
Proof.
  intros pn spread.
  assert (lt : (A * n) ^ n < (2 * m * U) ^ n) by (pose proof (Nat.pow_nonzero 2 e); nia).
  apply Nat.pow_lt_mono_l_iff in lt; [|lia]. nia.
Qed.
(* binom m k k^n 2^e < m^n where (A n)^n 2^(2 e) < (2 m U)^n and 2 k < n. *)
Lemma few_values m n k e :
  0 < m -> 2 * k < n -> (A * n) ^ n * 2 ^ (2 * e) < (2 * m * U) ^ n -> binom m k * k ^ n * 2 ^ e < m ^ n.
Proof.
  intros pm lk spread.
  destruct (Nat.eq_dec k 0) as [->|nz].
  { rewrite (Nat.pow_0_l n) by lia. rewrite Nat.mul_0_r, Nat.mul_0_l.
    apply Nat.neq_0_lt_0, Nat.pow_nonzero. lia. }
  assert (km : k <= m) by (pose proof (n_below m n (2 * e)); lia).
  set (r := n - 2 * k).
  set (X := binom m k * k ^ n * 2 ^ e).
  assert (one : binom m k * k ^ k * U ^ k <= m ^ k * A ^ k).
  { pose proof (binom_fact m k) as h. pose proof (factorial k) as f.
    apply (Nat.mul_le_mono_r _ _ (A ^ k)) in h. apply (Nat.mul_le_mono_l _ _ (binom m k)) in f. lia. }
  (* abbreviations *)
  set (B := binom m k) in *. set (P := k ^ k) in *. set (Uk := U ^ k) in *. set (Ak := A ^ k) in *. set (mk := m ^ k) in *.
  assert (kn : k ^ n = P * P * k ^ r) by (unfold P; rewrite <- !Nat.pow_add_r; f_equal; lia).
  assert (mn : m ^ n = mk * mk * m ^ r) by (unfold mk; rewrite <- !Nat.pow_add_r; f_equal; lia).
  assert (An : (A * n) ^ n = Ak * Ak * A ^ r * n ^ n)
    by (rewrite Nat.pow_mul_l; f_equal; unfold Ak; rewrite <- !Nat.pow_add_r; f_equal; lia).
  assert (Un : (2 * m * U) ^ n = 2 ^ n * m ^ n * (Uk * Uk * U ^ r)).
  { rewrite !Nat.pow_mul_l. f_equal. unfold Uk. rewrite <- !Nat.pow_add_r. f_equal. lia. }
  assert (e2 : 2 ^ (2 * e) = 2 ^ e * 2 ^ e) by (rewrite <- Nat.pow_add_r; f_equal; lia).
  assert (h1 : (2 * k) ^ n <= n ^ n) by (apply pow_mono_le; lia).
  rewrite Nat.pow_mul_l in h1.
  assert (h2 : (k * U) ^ r <= (m * A) ^ r) by (apply pow_mono_le, Nat.mul_le_mono; lia).
  rewrite !Nat.pow_mul_l in h2.
  assert (pos : forall a q, 0 < a -> 0 < a ^ q) by (intros; apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
  assert (pP : 0 < P) by (apply pos; lia). assert (pU : 0 < Uk) by (apply pos; lia).
  assert (pA : 0 < Ak) by (apply pos; lia). assert (pmk : 0 < mk) by (apply pos; lia).
  assert (pk : 0 < k ^ r) by (apply pos; lia). assert (pn : 0 < k ^ n) by (apply pos; lia).
  assert (pm' : 0 < m ^ n) by (apply pos; lia).
  (* X^2 Uk^2 (A n)^n < m^(2n) Uk^2 (A n)^n *)
  apply Nat.lt_nge. intros ge.
  assert (big : m ^ n * m ^ n <= X * X) by (apply Nat.mul_le_mono; auto).
  assert (L1 : X * X * (Uk * Uk) * (A * n) ^ n = (B * P * Uk) * (B * P * Uk) * (k ^ r * k ^ n) * ((A * n) ^ n * 2 ^ (2 * e))).
  { unfold X. rewrite e2. rewrite kn at 1 2 3. lia. }
  assert (L2 : (B * P * Uk) * (B * P * Uk) <= (mk * Ak) * (mk * Ak)) by (apply Nat.mul_le_mono; auto).
  assert (L3 : X * X * (Uk * Uk) * (A * n) ^ n < (mk * Ak) * (mk * Ak) * (k ^ r * k ^ n) * (2 * m * U) ^ n).
  { rewrite L1. eapply Nat.le_lt_trans.
    - apply Nat.mul_le_mono_r. apply Nat.mul_le_mono_r. exact L2.
    - apply Nat.mul_lt_mono_pos_l; [|exact spread].
      apply Nat.mul_pos_pos; apply Nat.mul_pos_pos; auto; apply Nat.mul_pos_pos; auto. }
  assert (L4 : (mk * Ak) * (mk * Ak) * (k ^ r * k ^ n) * (2 * m * U) ^ n <=
               (m ^ n * m ^ n) * (Uk * Uk) * (A * n) ^ n).
  { rewrite Un, An.
    pose proof (Nat.mul_le_mono _ _ _ _ h1 h2) as h3.
    apply (Nat.mul_le_mono_l _ _ ((mk * mk) * (Ak * Ak) * m ^ n * (Uk * Uk))) in h3.
    rewrite mn at 2. lia. }
  assert (L5 : m ^ n * m ^ n * (Uk * Uk) * (A * n) ^ n <= X * X * (Uk * Uk) * (A * n) ^ n).
  { apply Nat.mul_le_mono_r, Nat.mul_le_mono_r. exact big. }
  apply (Nat.lt_irrefl (X * X * (Uk * Uk) * (A * n) ^ n)).
  eapply Nat.lt_le_trans; [exact L3|]. etransitivity; [exact L4|exact L5].
Qed.

Theorem spread_class m T x0 D (C : list (list nat)) :
  0 < m -> 0 < T -> 0 < x0 <= m ->
  incl C (tables m m) -> NoDup C -> m ^ m <= 2 ^ D * length C ->
  (A * (T * x0)) ^ (T * x0) * 2 ^ (2 * (T * D)) < (2 * m * U) ^ (T * x0) ->
  exists F, length F = T /\ incl F C /\ (T * x0 + 1) / 2 <= length (nodup Nat.eq_dec (values x0 F)).
Proof.
  intros pm pT px incC ndC big spread. set (n := T * x0) in *.
  assert (pn : 0 < n) by (apply Nat.mul_pos_pos; lia).
  set (k := (n + 1) / 2 - 1).
  assert (half : 2 * ((n + 1) / 2) <= n + 1) by (apply Nat.mul_div_le; lia).
  assert (half' : n + 1 < 2 * S ((n + 1) / 2)) by (apply Nat.mul_succ_div_gt; lia).
  assert (kn : 2 * k < n) by (unfold k; lia).
  assert (ks : (n + 1) / 2 = S k) by (unfold k; lia).
  pose proof (few_values m n k (T * D) pm kn spread) as few.
  assert (km : k <= m) by (pose proof (n_below m n (2 * (T * D)) pn spread); lia).
  set (good := fun F => S k <=? length (nodup Nat.eq_dec (values x0 F))).
  destruct (existsb good (tuples T C)) eqn:found.
  - apply existsb_exists in found as (F & iF & g). apply in_tuples in iF as [lF inF].
    exists F. rewrite ks. repeat split; auto. now apply Nat.leb_le.
  - exfalso.
    assert (none : forall F, In F (tuples T C) -> length (nodup Nat.eq_dec (values x0 F)) <= k).
    { intros F iF. destruct (good F) eqn:g.
      - assert (existsb good (tuples T C) = true) by (apply existsb_exists; eauto). congruence.
      - apply Nat.leb_gt in g. lia. }
    set (W := flat_map (fun S0 => list_prod (tuples n S0) (tuples (T * (m - x0)) (seq 0 m))) (choose k (seq 0 m))).
    assert (lW : length W = binom m k * (k ^ n * m ^ (T * (m - x0)))).
    { unfold W. rewrite flat_map_length_const with (c := k ^ n * m ^ (T * (m - x0))).
      - now rewrite choose_length, seq_length.
      - intros S0 i. rewrite prod_length, !tuples_length, seq_length. now rewrite (choose_size _ _ _ i). }
    assert (lens : forall F, In F (tuples T C) -> forall f, In f F -> length f = m).
    { intros F iF f i. apply in_tuples in iF as [_ h]. apply h, incC, in_tuples in i as [l _]. exact l. }
    assert (vals : forall F, In F (tuples T C) -> forall f, In f F -> forall v, In v f -> In v (seq 0 m)).
    { intros F iF f i v iv. apply in_tuples in iF as [_ h]. apply h, incC, in_tuples in i as [_ l]. auto. }
    assert (count : length (tuples T C) <= length W).
    { rewrite <- (map_length (fun F => (values x0 F, others x0 F)) (tuples T C)). apply NoDup_incl_length.
      - apply NoDup_map_inj; [|now apply NoDup_tuples].
        intros F G iF iG e. injection e as ev eo.
        apply (values_inj x0 m); auto; [lia| | |]; try (now apply lens).
        apply in_tuples in iF as [-> _]. now apply in_tuples in iG as [-> _].
      - intros p ip. apply in_map_iff in ip as (F & <- & iF). pose proof (lens F iF) as lF.
        pose proof (vals F iF) as vF. pose proof (none F iF) as fewF.
        assert (lT : length F = T) by (apply in_tuples in iF; tauto).
        destruct (choose_above k (seq 0 m) (nodup Nat.eq_dec (values x0 F))) as (S0 & iS & inc).
        + apply seq_NoDup.
        + apply NoDup_nodup.
        + intros v iv. apply nodup_In in iv. apply in_flat_map in iv as (f & i & iv).
          apply (vF f i). rewrite <- (firstn_skipn x0 f). apply in_app_iff. auto.
        + rewrite seq_length. lia.
        + apply in_flat_map. exists S0. split; auto. apply in_prod; apply in_tuples.
          * split; [rewrite (values_length x0 m); auto; [now rewrite lT|lia]|].
            intros v iv. apply inc, nodup_In. exact iv.
          * split; [rewrite (others_length x0 m); auto; now rewrite lT|].
            intros v iv. apply in_flat_map in iv as (f & i & iv).
            apply (vF f i). rewrite <- (firstn_skipn x0 f). apply in_app_iff. auto. }
    rewrite tuples_length, lW in count.
    (* m^(m T) <= 2^(D T) |C|^T *)
    assert (all : m ^ (m * T) <= 2 ^ (T * D) * length C ^ T).
    { rewrite Nat.pow_mul_r, (Nat.mul_comm T D), Nat.pow_mul_r, <- Nat.pow_mul_l. apply pow_mono_le. exact big. }
    assert (split : m ^ (m * T) = m ^ n * m ^ (T * (m - x0))).
    { rewrite <- Nat.pow_add_r. f_equal. unfold n. clear -px. replace m with (x0 + (m - x0)) at 1 by lia. lia. }
    assert (pr : 0 < m ^ (T * (m - x0))) by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
    rewrite split in all.
    apply (Nat.mul_le_mono_l _ _ (2 ^ (T * D))) in count.
    apply (Nat.mul_lt_mono_pos_r _ _ _ pr) in few.
    apply (Nat.lt_irrefl (m ^ n * m ^ (T * (m - x0)))).
    eapply Nat.le_lt_trans; [exact all|]. eapply Nat.le_lt_trans; [exact count|].
    eapply Nat.le_lt_trans; [|exact few]. clear. apply Nat.eq_le_incl. ring.
Qed.
End Spread.
