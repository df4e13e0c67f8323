(* Two full layers, recurrent heads beside them, recurrent layers behind them; no recurrent layer before the second. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks Cut SeqComp Pair Late EBound Spread.
Import ListNotations.

(* One number for a list of codes below 2^M. *)
Definition packed {A} (M : nat) (f : A -> nat) (l : list A) : nat := pack (2 ^ M) (map f l).
Lemma packed_bound {A} M (f : A -> nat) l : (forall a, f a < 2 ^ M) -> packed M f l < 2 ^ (length l * M).
Proof.
  intros H. unfold packed. rewrite (Nat.mul_comm _ M), Nat.pow_mul_r. apply pack_map_bound. auto.
Qed.
Lemma packed_inj {A} M (f g : A -> nat) l : (forall a, f a < 2 ^ M) -> (forall a, g a < 2 ^ M) ->
  packed M f l = packed M g l -> forall a, In a l -> f a = g a.
Proof. intros. eapply pack_map_inj with (b := 2 ^ M); eauto. Qed.
(* Two numbers in one. *)
Definition both (e x y : nat) : nat := x + 2 ^ e * y.
Lemma both_bound e f x y : x < 2 ^ e -> y < 2 ^ f -> both e x y < 2 ^ (e + f).
Proof. intros. unfold both. rewrite Nat.pow_add_r. now apply digits_bound. Qed.
Lemma both_inj e x y x' y' : x < 2 ^ e -> x' < 2 ^ e -> both e x y = both e x' y' -> x = x' /\ y = y'.
Proof. intros. eapply two_digits; eauto. Qed.

Section TwoFull.
Variables (m : nat) (n : nat -> nat).
Hypothesis npos : forall l, 0 < n l.
Notation N1 := (n 1 * m).
Notation b := (b m n 2).
Notation c := (c m n 2).
Notation prompt := (prompt m n 2).
Notation T := (c + 2 + 1).

Variables (mdl : model) (l1 l2 : layer (activation mdl)) (rest : list (layer (activation mdl))).
Hypothesis shape : stack mdl = l1 :: l2 :: rest.
Notation given := (given m n 2 mdl).

Variables (M O s1 s2 t : nat).
Variable part1 : part l1 -> nat.
Hypothesis part1_bound : forall v, is_part l1 T v -> part1 v < 2 ^ M.
Hypothesis part1_inj : forall v w, is_part l1 T v -> is_part l1 T w -> part1 v = part1 w -> v = w.
Variable part2 : part l2 -> nat.
Hypothesis part2_bound : forall v, is_part l2 T v -> part2 v < 2 ^ M.
Hypothesis part2_inj : forall v w, is_part l2 T v -> is_part l2 T w -> part2 v = part2 w -> v = w.
Variable heads1 : head l1 -> nat.
Hypothesis heads1_bound : forall q, heads1 q < 2 ^ O.
Hypothesis heads1_inj : forall q r, heads1 q = heads1 r -> q = r.
Variable state1 : state l1 -> nat.
Hypothesis state1_bound : forall q, is_state l1 T q -> state1 q < 2 ^ s1.
Hypothesis state1_inj : forall q r, is_state l1 T q -> is_state l1 T r -> state1 q = state1 r -> q = r.
Variable state2 : state l2 -> nat.
Hypothesis state2_bound : forall q, is_state l2 T q -> state2 q < 2 ^ s2.
Hypothesis state2_inj : forall q r, is_state l2 T q -> is_state l2 T r -> state2 q = state2 r -> q = r.

Lemma cb : c = b + m.
Proof. apply c_is. lia. Qed.
Lemma a_part l i x a k : k <= T -> is_part l T (partial (X := activation mdl) l i x a 0 k).
Proof. intros. exists i, x, a, 0, k. auto. Qed.

(* What z_1 = v does to a state q of layer 1 at b, and what it adds at position i with token x. *)
Fixpoint state_from (q : state l1) (v : list nat) (k : nat) : state l1 :=
  match k with 0 => q | S j => step l1 (b + j) (embed mdl (b + j) (table v j)) (state_from q v j) end.
Lemma state_from_spec u v z0 w k : k <= m ->
  state_after l1 (given u v z0 w) (b + k) = state_from (state_after l1 (given u v z0 w) b) v k.
Proof.
  induction k as [|k IH]; intros le; [now rewrite Nat.add_0_r|].
  rewrite Nat.add_succ_r. cbn [state_after state_from]. rewrite IH by lia. f_equal.
  unfold Late.given, input. f_equal. apply prompt_middle; lia.
Qed.
Lemma a_state l (a : nat -> activation mdl) k : k <= T -> is_state l T (state_after l a k).
Proof. intros. exists a, k. auto. Qed.
Lemma state_reached u v : is_state l1 T (state_from (state_after l1 (given u [] 0 0) b) v m).
Proof.
  rewrite (state_after_ext l1 (given u [] 0 0) (given u v 0 0) b).
  - rewrite <- state_from_spec by lia. apply a_state. pose proof cb. lia.
  - intros i li. unfold Late.given, input. f_equal. apply prompt_low; lia.
Qed.
Definition adds (v : list nat) (i x : nat) : part l1 := partial l1 i (embed mdl i x) (given [] v 0 0) b m.
Lemma adds_spec u v z0 w i x : partial l1 i (embed mdl i x) (given u v z0 w) b m = adds v i x.
Proof.
  apply partial_ext. intros j lj. unfold Late.given, input. f_equal.
  replace j with (b + (j - b)) by lia. rewrite !prompt_middle; auto; lia.
Qed.
Lemma adds_part v i x : is_part l1 T (adds v i x).
Proof. exists i, (embed mdl i x), (given [] v 0 0), b, m. pose proof cb. split; [lia|reflexivity]. Qed.

(* The class of z_1, where layer 1 has state q at b: sums at w_1 (y values) and at `=`, and the state at c. *)
Definition class (y : nat) (q : state l1) (v : list nat) : nat :=
  both s1 (state1 (state_from q v m))
    (packed M (fun ix => part1 (adds v (fst ix) (snd ix))) (map (fun w => (c + 1, w)) (seq 0 y) ++ [(c + 2, 0)])).
Lemma class_bound y q v : is_state l1 T (state_from q v m) -> class y q v < 2 ^ ((y + 1) * M + s1).
Proof.
  intros r. rewrite Nat.add_comm. apply both_bound; auto.
  replace (y + 1) with (length (map (fun w => (c + 1, w)) (seq 0 y) ++ [(c + 2, 0)]))
    by (rewrite app_length, map_length, seq_length; reflexivity).
  apply packed_bound. intros. apply part1_bound, adds_part.
Qed.
Lemma class_inj y q v v' : is_state l1 T (state_from q v m) -> is_state l1 T (state_from q v' m) -> class y q v = class y q v' ->
  state_from q v m = state_from q v' m /\ (forall w, w < y -> adds v (c + 1) w = adds v' (c + 1) w) /\
  adds v (c + 2) 0 = adds v' (c + 2) 0.
Proof.
  intros r r' e. apply both_inj in e as [e1 e2]; auto.
  assert (H : forall ix, In ix (map (fun w => (c + 1, w)) (seq 0 y) ++ [(c + 2, 0)]) ->
              part1 (adds v (fst ix) (snd ix)) = part1 (adds v' (fst ix) (snd ix))).
  { apply packed_inj with (M := M); auto; intros; apply part1_bound, adds_part. }
  repeat split.
  - now apply state1_inj.
  - intros w lw. apply part1_inj; try apply adds_part. apply (H (c + 1, w)).
    apply in_app_iff. left. apply (in_map (fun w => (c + 1, w))), in_seq. lia.
  - apply part1_inj; try apply adds_part. apply (H (c + 2, 0)). apply in_app_iff. right. simpl. auto.
Qed.

(* The activations between the layers. *)
Definition middle (u v : list nat) (z0 w : nat) : nat -> activation mdl := apply l1 (given u v z0 w).

Section Family.
Variables (x0 y : nat) (F : list (list nat)) (q : state l1) (v0 : list nat).
Hypothesis x0m : x0 <= m.
Hypothesis yn : y <= n 1.
Hypothesis from_q : forall v, is_state l1 T (state_from q v m).
Hypothesis one_class : forall v, In v F -> class y q v = class y q v0.
Hypothesis v0F : In v0 F.

(* What is fixed of z_2 = u, beside that its state at b is q. *)
Definition sums1 (u : list nat) (ix : nat * nat) : nat :=
  part1 (partial l1 (fst ix) (embed mdl (fst ix) (snd ix)) (given u [] 0 0) 0 b).
Definition queries1 : list (nat * nat) :=
  map (fun z0 => (c, z0)) (seq 0 x0) ++ map (fun w => (c + 1, w)) (seq 0 y) ++ [(c + 2, 0)].
Definition outputs1 (u : list nat) (vi : list nat * nat) : nat := heads1 (heads l1 (given u (fst vi) 0 0) (b + snd vi)).
Definition sums2 (i : nat) (u : list nat) (zw : nat * nat) : nat :=  (* at `=` or w_1: z_0, w_1 decide *)
  part2 (partial l2 i (middle u v0 (fst zw) (snd zw) i) (middle u v0 (fst zw) (snd zw)) 0 b).
Definition sums2_z0 (u : list nat) (vz : list nat * nat) : nat :=    (* at z_0: z_1 and z_0 decide *)
  part2 (partial l2 c (middle u (fst vz) (snd vz) 0 c) (middle u (fst vz) (snd vz) 0) 0 b).
Definition pairs : list (nat * nat) := list_prod (seq 0 x0) (seq 0 y).

Variables (u u' : list nat).
Hypothesis same_q : forall v z0 w, state_after l1 (given u v z0 w) b = q.
Hypothesis same_q' : forall v z0 w, state_after l1 (given u' v z0 w) b = q.
Hypothesis same_sums1 : forall ix, In ix queries1 -> sums1 u ix = sums1 u' ix.
Hypothesis same_outputs1 : forall vi, In vi (list_prod F (seq 0 m)) -> outputs1 u vi = outputs1 u' vi.

Lemma low_part (a : list nat) v z0 w i x :
  partial l1 i x (given a v z0 w) 0 b = partial l1 i x (given a [] 0 0) 0 b.
Proof. apply partial_ext. intros j lj. unfold Late.given, input. f_equal. apply prompt_low; lia. Qed.
Lemma bottom_in_queries1 z0 w i : z0 < x0 -> w < y -> c <= i <= c + 2 -> In (i, bottom z0 w (i - c)) queries1.
Proof.
  intros lz lw li. unfold queries1, bottom.
  destruct (Nat.eqb_spec (i - c) 0) as [e|]; [|destruct (Nat.eqb_spec (i - c) 1) as [e|]]; rewrite !in_app_iff.
  - left. replace i with c by lia. apply (in_map (fun z => (c, z))), in_seq. lia.
  - right. left. replace i with (c + 1) by lia. apply (in_map (fun w => (c + 1, w))), in_seq. lia.
  - right. right. replace i with (c + 2) by lia. simpl. auto.
Qed.
Lemma given_bottom a v z0 w i : c <= i -> given a v z0 w i = embed mdl i (bottom z0 w (i - c)).
Proof.
  intros le. unfold Late.given, input. f_equal. replace i with (c + (i - c)) at 1 by lia. now rewrite prompt_bottom.
Qed.

(* From b on, the activations before the second full layer are those of u'. *)
Lemma middle_same v z0 w i : In v F -> z0 < x0 -> w < y -> b <= i <= c + 2 -> middle u v z0 w i = middle u' v z0 w i.
Proof.
  intros iv lz lw li. pose proof cb as ecb.
  assert (tok : forall j, b <= j -> given u v z0 w j = given u' v z0 w j).
  { intros j lj. unfold Late.given, input. f_equal. apply prompt_from_b; lia. }
  destruct (le_lt_dec c i) as [ge|lt].
  - apply apply_behind with (c := b); [lia|intros; apply tok; lia| |].
    + intros x. now rewrite same_q, same_q'.
    + rewrite (low_part u v z0 w), (low_part u' v z0 w), given_bottom by lia.
      pose proof (same_sums1 _ (bottom_in_queries1 z0 w i lz lw ltac:(lia))) as e. unfold sums1 in e. cbn [fst snd] in e.
      apply part1_inj in e; auto; apply a_part; lia.
  - unfold middle, apply. rewrite tok by lia.
    assert (es : state_after l1 (given u v z0 w) (S i) = state_after l1 (given u' v z0 w) (S i)).
    { apply state_after_from with (c := b); [lia|now rewrite same_q, same_q'|intros; apply tok; lia]. }
    rewrite es. f_equal.
    assert (eo : outputs1 u (v, i - b) = outputs1 u' (v, i - b)).
    { apply same_outputs1, in_prod; auto. apply in_seq. lia. }
    unfold outputs1 in eo. cbn [fst snd] in eo. apply heads1_inj in eo. replace (b + (i - b)) with i in eo by lia.
    assert (H : forall a, heads l1 (given a v z0 w) i = heads l1 (given a v 0 0) i).
    { intros a. unfold heads. f_equal.
      assert (e0 : forall j, j <= i -> given a v z0 w j = given a v 0 0 j).
      { intros j lj. unfold Late.given, input. f_equal. apply prompt_above; lia. }
      rewrite e0 by lia. apply partial_ext. intros j lj. apply e0. lia. }
    now rewrite !H.
Qed.

(* At w_1 and `=` they do not depend on z_1, within the class. *)
Lemma middle_class a v z0 w i : In v F -> z0 < x0 -> w < y -> c + 1 <= i <= c + 2 ->
  (forall v z0 w, state_after l1 (given a v z0 w) b = q) -> middle a v z0 w i = middle a v0 z0 w i.
Proof.
  intros iv lz lw li hq. pose proof cb as ecb. apply one_class, class_inj in iv as (es & ew & ee); auto.
  apply apply_behind with (c := c); [lia| | |].
  - intros j lj. now rewrite !given_bottom by lia.
  - intros x. rewrite ecb, !state_from_spec, !hq, es by lia. reflexivity.
  - rewrite given_bottom by lia. rewrite ecb at 2 4. rewrite !partial_split, (low_part a v z0 w), (low_part a v0 z0 w), Nat.add_0_l, !adds_spec. f_equal.
    unfold bottom. destruct (Nat.eqb_spec (i - c) 0); [lia|]. destruct (Nat.eqb_spec (i - c) 1).
    + replace i with (c + 1) by lia. now apply ew.
    + replace i with (c + 2) by lia. exact ee.
Qed.

(* Sums of the second full layer at the bottom. *)
Lemma sums2_same_last v z0 w i : In v F -> z0 < x0 -> w < y -> c + 1 <= i <= c + 2 ->
  sums2 i u (z0, w) = sums2 i u' (z0, w) ->
  partial l2 i (middle u v z0 w i) (middle u v z0 w) 0 b = partial l2 i (middle u v z0 w i) (middle u' v z0 w) 0 b.
Proof.
  intros iv lz lw li e. pose proof cb as ecb. unfold sums2 in e. cbn [fst snd] in e.
  apply part2_inj in e; try (apply a_part; lia).
  assert (low : forall a x, partial l2 i x (middle a v z0 w) 0 b = partial l2 i x (middle a v0 z0 w) 0 b).
  { intros a x. apply partial_ext. intros j lj. apply apply_ext. intros k lk. unfold Late.given, input. f_equal.
    apply prompt_low; lia. }
  rewrite !low, (middle_class u v) by auto. rewrite e. f_equal.
  rewrite <- (middle_same v0) by (auto; lia). reflexivity.
Qed.
Lemma sums2_same_z0 v z0 w : In v F -> z0 < x0 -> w < y ->
  sums2_z0 u (v, z0) = sums2_z0 u' (v, z0) ->
  partial l2 c (middle u v z0 w c) (middle u v z0 w) 0 b = partial l2 c (middle u v z0 w c) (middle u' v z0 w) 0 b.
Proof.
  intros iv lz lw e. pose proof cb as ecb. unfold sums2_z0 in e. cbn [fst snd] in e.
  apply part2_inj in e; try (apply a_part; lia).
  assert (up : forall a k, k <= c -> middle a v z0 w k = middle a v z0 0 k).
  { intros a k lk. apply apply_ext. intros j lj. unfold Late.given, input. f_equal.
    destruct (Nat.eq_dec j c) as [->|]; [|apply prompt_above; lia].
    replace c with (c + 0) by lia. now rewrite !prompt_bottom. }
  rewrite !up by lia.
  assert (low : forall a x, partial l2 c x (middle a v z0 w) 0 b = partial l2 c x (middle a v z0 0) 0 b).
  { intros a x. apply partial_ext. intros j lj. apply up. lia. }
  rewrite !low, e. f_equal. rewrite <- (up u), <- (up u') by lia. symmetry. apply middle_same; auto. lia.
Qed.

(* One position behind the second full layer. *)
Lemma second_same v z0 w i : In v F -> z0 < x0 -> w < y -> c <= i <= c + 2 ->
  state_after l2 (middle u v z0 w) c = state_after l2 (middle u' v z0 w) c ->
  partial l2 i (middle u v z0 w i) (middle u v z0 w) 0 b = partial l2 i (middle u v z0 w i) (middle u' v z0 w) 0 b ->
  apply l2 (middle u v z0 w) i = apply l2 (middle u' v z0 w) i.
Proof.
  intros iv lz lw li es ep. pose proof cb as ecb. apply apply_behind with (c := c); [lia| | |].
  - intros j lj. apply middle_same; auto; lia.
  - intros x. now rewrite es.
  - rewrite ecb, !partial_split, ep. f_equal. apply partial_ext. intros j lj. apply middle_same; auto; lia.
Qed.
End Family.

Lemma middle_above a v z0 w z0' w' k : k < c -> middle a v z0 w k = middle a v z0' w' k.
Proof.
  intros lk. apply apply_ext. intros j lj. unfold Late.given, input. f_equal. apply prompt_above; lia.
Qed.

(* e < A / U. *)
Variables (U A : nat).
Hypothesis U_A : 0 < U <= A.
Hypothesis factorial : forall k, k ^ k * U ^ k <= Factorial.fact k * A ^ k.
Variable follows : bool.
Hypothesis behind : rest = [] \/ (follows = true /\ recurrent_at c rest t).

Definition two_full_bits (K x0 y : nat) : nat :=
  M * (x0 * y + x0 + y + 1) + O * K * m + s1 + K * s2 + if follows then M * x0 * (y + K) + K * t else 0.

Theorem two_full K x0 y :
  0 < K -> 0 < x0 <= m -> y <= n 1 ->
  (A * (K * x0)) ^ (K * x0) * 2 ^ (2 * (K * ((y + 1) * M + s1))) < (2 * m * U) ^ (K * x0) ->
  2 ^ two_full_bits K x0 y < N1 ^ ((K * x0 + 1) / 2 * y) ->
  ~ solves mdl (seqcomp m n 2).
Proof.
  intros pK px ly spread0 count0 solved. pose proof cb as ecb.
  (* out of lia's sight *)
  pose proof (fun _ : nat => spread0) as spread. pose proof (fun _ : nat => count0) as count. clear spread0 count0.
  assert (pm : 0 < m) by lia. assert (pN : 0 < N1) by (apply Nat.mul_pos_pos; auto).
  assert (pow_pos : forall a k, 0 < a -> 0 < a ^ k) by (intros; apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
  (* the class of z_2 by the state of layer 1 *)
  set (f2 := fun u => state1 (state_after l1 (given u [] 0 0) b)).
  destruct (largest_class f2 (tables N1 N1) (2 ^ s1)) as (c2 & _ & big2); [intros; apply state1_bound, a_state; lia|apply pow_pos; lia|].
  set (G := filter (fun u => f2 u =? c2) (tables N1 N1)) in *. rewrite tables_length in big2.
  destruct G as [|u0 G'] eqn:eG; [simpl in big2; specialize (pow_pos N1 N1 pN); lia|].
  set (q := state_after l1 (given u0 [] 0 0) b).
  assert (from_q : forall v, is_state l1 T (state_from q v m)) by (intros; apply state_reached).
  assert (inG : forall u, In u G -> In u (tables N1 N1) /\ f2 u = c2).
  { intros u iu. apply filter_In in iu as [i e]. apply Nat.eqb_eq in e. auto. }
  rewrite <- eG in big2.
  assert (hq : forall u, In u G -> forall v z0 w, state_after l1 (given u v z0 w) b = q).
  { intros u iu v z0 w.
    rewrite (state_after_ext l1 (given u v z0 w) (given u [] 0 0)).
    - apply state1_inj; try (apply a_state; lia). destruct (inG u iu) as [_ e]. unfold f2 in e. rewrite e. symmetry.
      apply (inG u0). rewrite eG. simpl. auto.
    - intros i li. unfold Late.given, input. f_equal. apply prompt_low; lia. }
  (* the class of z_1, and the K functions of it *)
  destruct (largest_class (class y q) (tables m m) (2 ^ ((y + 1) * M + s1))) as (c1 & _ & big1);
    [intros; apply class_bound, state_reached|apply pow_pos; lia|].
  rewrite tables_length in big1.
  set (C := filter (fun v => class y q v =? c1) (tables m m)) in *.
  destruct (spread_class U A U_A factorial m K x0 ((y + 1) * M + s1) C) as (F & lF & incF & half); auto.
  { intros v iv. apply filter_In in iv. tauto. }
  { apply NoDup_filter, NoDup_tables. }
  assert (inF : forall v, In v F -> In v (tables m m) /\ class y q v = c1).
  { intros v iv. apply incF, filter_In in iv as [i e]. apply Nat.eqb_eq in e. auto. }
  destruct F as [|v0 F'] eqn:eF; [simpl in lF; lia|]. rewrite <- eF in *.
  assert (v0F : In v0 F) by (rewrite eF; simpl; auto).
  assert (one_class : forall v, In v F -> class y q v = class y q v0).
  { intros v iv. destruct (inF v iv) as [_ ->]. destruct (inF v0 v0F) as [_ ->]. reflexivity. }
  set (V := nodup Nat.eq_dec (values x0 F)) in *.
  assert (Vm : forall x, In x V -> x < m).
  { intros x ix. apply nodup_In, in_values in ix as (f & z & iF & lz & <-). eapply table_value; [apply inF; eauto|auto]. }
  set (D := reached m V y).
  assert (ndD : NoDup D) by (apply NoDup_reached; auto; apply NoDup_nodup).
  assert (Dn : forall x, In x D -> x < N1) by (intros x ix; eapply reached_below; eauto).
  assert (lD : length D = y * length V) by apply reached_length.
  assert (DN : length D <= N1).
  { rewrite <- (seq_length N1 0). apply NoDup_incl_length; auto. intros x ix. apply in_seq. specialize (Dn x ix). lia. }
  (* crossing states of the layers behind *)
  assert (crossed : exists code : (nat -> activation mdl) -> nat,
    (forall a, code a < 2 ^ t) /\ (forall a a', (forall i, i < c -> a i = a' i) -> code a = code a') /\
    (follows = true -> forall a a' e, code a = code a' -> (forall i, c <= i <= e -> a i = a' i) ->
       forall i, c <= i <= e -> run rest a i = run rest a' i)).
  { destruct behind as [e|[_ R]].
    - exists (fun _ => 0). repeat split; auto. intros _ a a' f _ h i li. rewrite e. simpl. auto.
    - destruct (crossing c rest t R) as (code & h1 & h2 & h3). exists code. repeat split; auto. }
  destruct crossed as (code & code_bound & code_past & code_decides).
  (* the message *)
  set (st2 := fun u v => state2 (state_after l2 (middle u v 0 0) c)).
  set (stR := fun u v => code (apply l2 (middle u v 0 0))).
  set (extra := fun u => if follows then
     both (length (pairs x0 y) * M) (packed M (sums2 v0 (c + 1) u) (pairs x0 y))
    (both (length (list_prod F (seq 0 x0)) * M) (packed M (sums2_z0 u) (list_prod F (seq 0 x0)))
          (packed t (stR u) F)) else 0).
  set (extra_bits := if follows then length (pairs x0 y) * M + (length (list_prod F (seq 0 x0)) * M + length F * t) else 0).
  set (message := fun u =>
     both (length (queries1 x0 y) * M) (packed M (sums1 u) (queries1 x0 y))
    (both (length (list_prod F (seq 0 m)) * O) (packed O (outputs1 u) (list_prod F (seq 0 m)))
    (both (length (pairs x0 y) * M) (packed M (sums2 v0 (c + 2) u) (pairs x0 y))
    (both (length F * s2) (packed s2 (st2 u) F) (extra u))))).
  set (bits := length (queries1 x0 y) * M + (length (list_prod F (seq 0 m)) * O + (length (pairs x0 y) * M +
               (length F * s2 + extra_bits)))).
  assert (b1 : forall u ix, sums1 u ix < 2 ^ M) by (intros; apply part1_bound, a_part; lia).
  assert (b2 : forall u vi, outputs1 u vi < 2 ^ O) by (intros; apply heads1_bound).
  assert (b3 : forall i u zw, sums2 v0 i u zw < 2 ^ M) by (intros; apply part2_bound, a_part; lia).
  assert (b4 : forall u vz, sums2_z0 u vz < 2 ^ M) by (intros; apply part2_bound, a_part; lia).
  assert (b5 : forall u v, st2 u v < 2 ^ s2) by (intros; apply state2_bound, a_state; lia).
  assert (b6 : forall u v, stR u v < 2 ^ t) by (intros; apply code_bound).
  assert (bE : forall u, extra u < 2 ^ extra_bits).
  { intros u. unfold extra, extra_bits. destruct follows; [|simpl; lia]. repeat apply both_bound; apply packed_bound; auto. }
  assert (lq : length (queries1 x0 y) = x0 + y + 1).
  { unfold queries1. rewrite !app_length, !map_length, !seq_length. simpl. lia. }
  assert (lp : length (pairs x0 y) = x0 * y) by (unfold pairs; now rewrite prod_length, !seq_length).
  assert (total : two_full_bits K x0 y = s1 + bits).
  { unfold two_full_bits, bits, extra_bits. rewrite lq, lp, !prod_length, !seq_length, lF. destruct follows; ring. }
  destruct (tables_collide N1 N1 G D message (2 ^ bits)) as (u & u' & x & iu & iu' & ix & same & differ); auto.
  - intros u iu. now apply inG.
  - apply NoDup_filter, NoDup_tables.
  - intros u _. unfold message, bits. repeat apply both_bound; auto; apply packed_bound; auto.
  - (* count *)
    specialize (count 0). rewrite total, Nat.pow_add_r in count.
    assert (more : N1 ^ ((K * x0 + 1) / 2 * y) <= N1 ^ length D).
    { apply Nat.pow_le_mono_r; [lia|]. rewrite lD, Nat.mul_comm. now apply Nat.mul_le_mono_l. }
    assert (R : 0 < N1 ^ (N1 - length D)) by now apply pow_pos.
    assert (split : N1 ^ N1 = N1 ^ length D * N1 ^ (N1 - length D)).
    { rewrite <- Nat.pow_add_r. f_equal. lia. }
    apply (Nat.mul_lt_mono_pos_l (2 ^ s1)); [apply pow_pos; lia|].
    eapply Nat.lt_le_trans; [|exact big2]. rewrite split, Nat.mul_assoc.
    apply Nat.mul_lt_mono_pos_r; auto. eapply Nat.lt_le_trans; [exact count|exact more].
  - (* two tables z_2 of one message *)
    apply in_reached in ix as (w & v & lw & iV & ex).
    apply nodup_In, in_values in iV as (fv & z0 & iF & lz & ev).
    unfold message in same.
    apply both_inj in same as [e1 same]; [|now apply packed_bound|now apply packed_bound].
    apply both_inj in same as [e2 same]; [|now apply packed_bound|now apply packed_bound].
    apply both_inj in same as [e3 same]; [|now apply packed_bound|now apply packed_bound].
    apply both_inj in same as [e4 e5]; [|now apply packed_bound|now apply packed_bound].
    assert (S1 : forall ix, In ix (queries1 x0 y) -> sums1 u ix = sums1 u' ix) by (apply packed_inj with (M := M); auto).
    assert (S2 : forall vi, In vi (list_prod F (seq 0 m)) -> outputs1 u vi = outputs1 u' vi) by (apply packed_inj with (M := O); auto).
    assert (S3 : forall zw, In zw (pairs x0 y) -> sums2 v0 (c + 2) u zw = sums2 v0 (c + 2) u' zw) by (apply packed_inj with (M := M); auto).
    assert (S4 : forall v, In v F -> st2 u v = st2 u' v) by (apply packed_inj with (M := s2); auto).
    pose proof (hq u iu) as qu. pose proof (hq u' iu') as qu'.
    assert (izw : In (z0, w) (pairs x0 y)) by (apply in_prod; apply in_seq; lia).
    assert (st : state_after l2 (middle u fv z0 w) c = state_after l2 (middle u' fv z0 w) c).
    { rewrite (state_after_ext l2 (middle u fv z0 w) (middle u fv 0 0)), (state_after_ext l2 (middle u' fv z0 w) (middle u' fv 0 0));
        try (intros; now apply middle_above). apply state2_inj; try (apply a_state; lia). now apply S4. }
    assert (last : apply l2 (middle u fv z0 w) (c + 2) = apply l2 (middle u' fv z0 w) (c + 2)).
    { eapply second_same with (x0 := x0) (y := y) (F := F) (q := q); eauto; try lia.
      eapply sums2_same_last with (x0 := x0) (y := y) (F := F) (q := q) (v0 := v0); eauto; lia. }
    assert (run_same : run rest (apply l2 (middle u fv z0 w)) (c + 2) = run rest (apply l2 (middle u' fv z0 w)) (c + 2)).
    { destruct behind as [e|[fo R]]; [rewrite e; simpl; exact last|].
      unfold extra in e5. rewrite fo in e5.
      apply both_inj in e5 as [e6 e7]; [|now apply packed_bound|now apply packed_bound].
      apply both_inj in e7 as [e7 e8]; [|now apply packed_bound|now apply packed_bound].
      assert (S5 : forall zw, In zw (pairs x0 y) -> sums2 v0 (c + 1) u zw = sums2 v0 (c + 1) u' zw) by (apply packed_inj with (M := M); auto).
      assert (S6 : forall vz, In vz (list_prod F (seq 0 x0)) -> sums2_z0 u vz = sums2_z0 u' vz) by (apply packed_inj with (M := M); auto).
      assert (S7 : forall v, In v F -> stR u v = stR u' v) by (apply packed_inj with (M := t); auto).
      apply (code_decides fo) with (e := c + 2); [| |lia].
      - assert (H : forall a, code (apply l2 (middle a fv z0 w)) = stR a fv).
        { intros a. apply code_past. intros i li. apply apply_ext. intros j lj. apply middle_above. lia. }
        rewrite !H. now apply S7.
      - intros i li. destruct (Nat.eq_dec i (c + 2)) as [->|]; auto.
        eapply second_same with (x0 := x0) (y := y) (F := F) (q := q); eauto; try lia.
        destruct (Nat.eq_dec i (c + 1)) as [->|].
        + eapply sums2_same_last with (x0 := x0) (y := y) (F := F) (q := q) (v0 := v0); eauto; lia.
        + replace i with c by lia. eapply sums2_same_z0 with (x0 := x0) (y := y) (F := F) (q := q); eauto; try lia.
          apply S6. apply in_prod; auto. apply in_seq. lia. }
    destruct (inG u iu) as [tu _]. destruct (inG u' iu') as [tu' _]. destruct (inF fv iF) as [tv _].
    apply differ. rewrite ex, <- ev.
    assert (zm : z0 < m) by (eapply Nat.lt_le_trans; [exact lz|apply px]).
    assert (wn : w < n 1) by (eapply Nat.lt_le_trans; [exact lw|exact ly]).
    apply (same_answer m n 2 (le_n 2) npos mdl); auto. rewrite shape. exact run_same.
Qed.
End TwoFull.
