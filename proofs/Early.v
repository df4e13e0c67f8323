(* Recurrent layers, one full layer (recurrent heads beside it), recurrent layers. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks Cut SeqComp Pair Late Spread TwoFull.
Import ListNotations.

Lemma run_split {X} (ls ls' : list (layer X)) a : run (ls ++ ls') a = run ls' (run ls a).
Proof. revert a. induction ls as [|l ls IH]; intros a; simpl; auto. Qed.

Section Early.
Variables (m : nat) (n : nat -> nat) (L : nat).
Hypothesis L2 : 2 <= L.
Hypothesis npos : forall l, 0 < n l.
Notation N1 := (n 1 * m).
Notation b := (b m n L).
Notation c := (c m n L).
Notation e := (c + L).
Notation prompt := (prompt m n L).
Variables (mdl : model) (before : list (layer (activation mdl))) (l : layer (activation mdl)) (rest : list (layer (activation mdl))).
Hypothesis shape : stack mdl = before ++ l :: rest.
Notation given := (given m n L mdl).
(* e < A / U. *)
Variables (U A : nat).
Hypothesis U_A : 0 < U <= A.
Hypothesis factorial : forall k, k ^ k * U ^ k <= Factorial.fact k * A ^ k.

Definition reads (u v : list nat) (z0 w : nat) : nat -> activation mdl := run before (given u v z0 w).
Lemma reads_ext u v z0 w u' v' z0' w' i :
  (forall j, j <= i -> prompt u v z0 w j = prompt u' v' z0' w' j) -> reads u v z0 w i = reads u' v' z0' w' i.
Proof. intros H. apply run_ext. intros j lj. unfold Late.given, input. now rewrite H. Qed.

Theorem early K x0 y M s0 s t :
  recurrent_at b before s0 -> recurrent_at c before s0 -> parts_fit l (e + 1) M -> crosses l c s -> recurrent_at c rest t ->
  0 < K -> 0 < x0 <= m -> y <= n 1 ->
  (A * (K * x0)) ^ (K * x0) * 2 ^ (2 * (K * s0)) < (2 * m * U) ^ (K * x0) ->
  2 ^ (s0 + (M * x0 * (1 + L * y) + K * (s + t))) < N1 ^ ((K * x0 + 1) / 2 * y) ->
  ~ solves mdl (seqcomp m n L).
Proof.
  intros Rb Rc (part_code & part_bound & part_inj) R1 R2 pK px ly spread0 count0 solved.
  pose proof (fun _ : nat => spread0) as spread. pose proof (fun _ : nat => count0) as count. clear spread0 count0.
  destruct (crossing_full c l rest s t R1 R2) as (code & bound & past & decides).
  destruct (crossing b before s0 Rb) as (codeb & boundb & pastb & decidesb).
  destruct (crossing c before s0 Rc) as (codec & boundc & pastc & decidesc).
  assert (cb : c = b + m) by (apply c_is; auto).
  assert (pm : 0 < m) by lia. assert (pN : 0 < N1) by (apply Nat.mul_pos_pos; auto).
  assert (pow_pos : forall a k, 0 < a -> 0 < a ^ k) by (intros; apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
  (* the class of z_2 by the states at b *)
  set (f2 := fun u => codeb (given u [] 0 0)).
  destruct (largest_class f2 (tables N1 N1) (2 ^ s0)) as (c2 & _ & big2); [intros; apply boundb|apply pow_pos; lia|].
  set (G := filter (fun u => f2 u =? c2) (tables N1 N1)) in *. rewrite tables_length in big2.
  destruct G as [|u0 G'] eqn:eG; [simpl in big2; specialize (pow_pos N1 N1 pN); lia|]. rewrite <- eG in big2.
  assert (inG : forall u, In u G -> In u (tables N1 N1) /\ f2 u = c2).
  { intros u iu. apply filter_In in iu as [i q]. apply Nat.eqb_eq in q. auto. }
  assert (u0G : In u0 G) by (rewrite eG; simpl; auto).
  assert (A1 : forall u, In u G -> forall v z0 w i, b <= i <= e -> reads u v z0 w i = reads u0 v z0 w i).
  { intros u iu v z0 w i li. apply decidesb with (e := e); auto.
    - assert (H : forall a, codeb (given a v z0 w) = f2 a).
      { intros a. apply pastb. intros j lj. unfold Late.given, input. f_equal. apply prompt_low; auto. }
      rewrite !H. destruct (inG u iu) as [_ ->]. destruct (inG u0 u0G) as [_ ->]. reflexivity.
    - intros j lj. unfold Late.given, input. f_equal. apply prompt_from_b; auto. lia. }
  (* the class of z_1 by the states at c, behind u0 *)
  set (f1 := fun v => codec (given u0 v 0 0)).
  destruct (largest_class f1 (tables m m) (2 ^ s0)) as (c1 & _ & big1); [intros; apply boundc|apply pow_pos; lia|].
  rewrite tables_length in big1. set (C := filter (fun v => f1 v =? c1) (tables m m)) in *.
  destruct (spread_class U A U_A factorial m K x0 s0 C) as (F & lF & incF & half); auto.
  { intros v iv. apply filter_In in iv. tauto. }
  { apply NoDup_filter, NoDup_tables. }
  assert (inF : forall v, In v F -> In v (tables m m) /\ f1 v = c1).
  { intros v iv. apply incF, filter_In in iv as [i q]. apply Nat.eqb_eq in q. auto. }
  destruct F as [|v0 F'] eqn:eF; [simpl in lF; lia|]. rewrite <- eF in *.
  assert (v0F : In v0 F) by (rewrite eF; simpl; auto).
  assert (A2 : forall v, In v F -> forall z0 w i, c <= i <= e -> reads u0 v z0 w i = reads u0 v0 z0 w i).
  { intros v iv z0 w i li. apply decidesc with (e := e); auto.
    - assert (H : forall a, codec (given u0 a z0 w) = f1 a).
      { intros a. apply pastc. intros j lj. unfold Late.given, input. f_equal. apply prompt_above; auto. }
      rewrite !H. destruct (inF v iv) as [_ ->]. destruct (inF v0 v0F) as [_ ->]. reflexivity.
    - intros j lj. unfold Late.given, input. f_equal. replace j with (c + (j - c)) by lia. now rewrite !prompt_bottom. }
  set (V := nodup Nat.eq_dec (values x0 F)) in *.
  assert (Vm : forall x, In x V -> x < m).
  { intros x ix. apply nodup_In, in_values in ix as (f & z & iF & lz & <-). eapply table_value; [apply inF; eauto|auto]. }
  set (D := reached m V y).
  assert (ndD : NoDup D) by (apply NoDup_reached; auto; apply NoDup_nodup).
  assert (Dn : forall x, In x D -> x < N1) by (intros x ix; eapply reached_below; eauto).
  assert (lD : length D = y * length V) by apply reached_length.
  assert (DN : length D <= N1).
  { rewrite <- (seq_length N1 0). apply NoDup_incl_length; auto. intros x ix. apply in_seq. specialize (Dn x ix). lia. }
  (* the message of z_2 *)
  set (sum := fun u i z0 w => part_code (partial l i (reads u0 v0 z0 w i) (reads u [] 0 0) 0 b)).
  set (queries := map (fun z0 => (c, (z0, 0))) (seq 0 x0) ++
                  list_prod (seq (c + 1) L) (list_prod (seq 0 x0) (seq 0 y))).
  assert (lq : length queries = x0 * (1 + L * y)).
  { unfold queries. rewrite app_length, map_length, !prod_length, !seq_length. ring. }
  set (sums := fun u (q : nat * (nat * nat)) => sum u (fst q) (fst (snd q)) (snd (snd q))).
  set (st := fun u v => code (reads u v 0 0)).
  set (message := fun u => both (length queries * M) (packed M (sums u) queries) (packed (s + t) (st u) F)).
  assert (is_p : forall u i z0 w, is_part l (e + 1) (partial l i (reads u0 v0 z0 w i) (reads u [] 0 0) 0 b)).
  { intros u i z0 w. exists i, (reads u0 v0 z0 w i), (reads u [] 0 0), 0, b. split; [lia|reflexivity]. }
  assert (b1 : forall u q, sums u q < 2 ^ M) by (intros; apply part_bound, is_p).
  assert (b2 : forall u v, st u v < 2 ^ (s + t)) by (intros; apply bound).
  set (bits := length queries * M + length F * (s + t)).
  assert (total : s0 + (M * x0 * (1 + L * y) + K * (s + t)) = s0 + bits).
  { unfold bits. rewrite lq, lF. ring. }
  destruct (tables_collide N1 N1 G D message (2 ^ bits)) as (u & u' & x & iu & iu' & ix & same & differ); auto.
  - intros u iu. now apply inG.
  - apply NoDup_filter, NoDup_tables.
  - intros u _. apply both_bound; apply packed_bound; auto.
  - specialize (count 0). rewrite total, Nat.pow_add_r in count.
    assert (more : N1 ^ ((K * x0 + 1) / 2 * y) <= N1 ^ length D).
    { apply Nat.pow_le_mono_r; [lia|]. rewrite lD, Nat.mul_comm. now apply Nat.mul_le_mono_l. }
    assert (R : 0 < N1 ^ (N1 - length D)) by now apply pow_pos.
    assert (split : N1 ^ N1 = N1 ^ length D * N1 ^ (N1 - length D)).
    { rewrite <- Nat.pow_add_r. f_equal. lia. }
    apply (Nat.mul_lt_mono_pos_l (2 ^ s0)); [apply pow_pos; lia|].
    eapply Nat.lt_le_trans; [|exact big2]. rewrite split, Nat.mul_assoc.
    apply Nat.mul_lt_mono_pos_r; auto. eapply Nat.lt_le_trans; [exact count|exact more].
  - apply in_reached in ix as (w & v & lw & iV & ex).
    apply nodup_In, in_values in iV as (fv & z0 & iF & lz & ev).
    apply both_inj in same as [e1 e2]; [|now apply packed_bound|now apply packed_bound].
    assert (S1 : forall q, In q queries -> sums u q = sums u' q) by (apply packed_inj with (M := M); auto).
    assert (S2 : forall v, In v F -> st u v = st u' v) by (apply packed_inj with (M := s + t); auto).
    assert (low : forall a i x, partial l i x (reads a fv z0 w) 0 b = partial l i x (reads a [] 0 0) 0 b).
    { intros a i x1. apply partial_ext. intros j lj. apply reads_ext. intros k lk. apply prompt_low; auto; lia. }
    assert (at_c : reads u0 v0 z0 w c = reads u0 v0 z0 0 c).
    { apply reads_ext. intros j lj. destruct (Nat.eq_dec j c) as [->|]; [|apply prompt_above; auto; lia].
      replace c with (c + 0) by lia. now rewrite !prompt_bottom. }
    assert (run_same : run (l :: rest) (reads u fv z0 w) e = run (l :: rest) (reads u' fv z0 w) e).
    { apply decides with (e := e); [| | |lia].
      - assert (H : forall a, code (reads a fv z0 w) = st a fv).
        { intros a. apply past. intros i li. apply reads_ext. intros j lj. apply prompt_above; auto; lia. }
        rewrite !H. now apply S2.
      - intros i li. rewrite (A1 u iu), (A1 u' iu') by lia. reflexivity.
      - intros i li. rewrite cb, !partial_split. f_equal.
        + rewrite !low, (A1 u iu), (A2 fv iF) by lia.
          destruct (Nat.eq_dec i c) as [->|].
          * assert (iq : In (c, (z0, 0)) queries).
            { apply in_app_iff. left. apply (in_map (fun z => (c, (z, 0)))), in_seq. lia. }
            specialize (S1 _ iq). unfold sums, sum in S1. cbn [fst snd] in S1. apply part_inj in S1; try apply is_p.
            now rewrite at_c.
          * assert (iq : In (i, (z0, w)) queries).
            { apply in_app_iff. right. apply in_prod; [apply in_seq; lia|]. apply in_prod; apply in_seq; lia. }
            specialize (S1 _ iq). unfold sums, sum in S1. cbn [fst snd] in S1. apply part_inj in S1; auto; apply is_p.
        + apply partial_ext. intros j lj. rewrite (A1 u iu), (A1 u' iu') by lia. reflexivity. }
    destruct (inG u iu) as [tu _]. destruct (inG u' iu') as [tu' _]. destruct (inF fv iF) as [tv _].
    apply differ. rewrite ex, <- ev.
    assert (zm : z0 < m) by (eapply Nat.lt_le_trans; [exact lz|apply px]).
    assert (wn : w < n 1) by (eapply Nat.lt_le_trans; [exact lw|exact ly]).
    apply (same_answer m n L L2 npos mdl); auto. rewrite shape, !run_split. exact run_same.
Qed.
End Early.
