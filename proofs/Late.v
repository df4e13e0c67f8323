(* One full layer, recurrent heads beside it and recurrent layers behind it. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks Cut SeqComp Pair.
Import ListNotations.

Lemma pow_split v k n B : k <= n -> 0 < v -> B < v ^ k -> B * v ^ (n - k) < v ^ n.
Proof.
  intros le p lt. replace (v ^ n) with (v ^ k * v ^ (n - k)) by (rewrite <- Nat.pow_add_r; f_equal; lia).
  apply Nat.mul_lt_mono_pos_r; auto. apply Nat.neq_0_lt_0, Nat.pow_nonzero. lia.
Qed.

Section Late.
Variables (m : nat) (n : nat -> nat) (L : nat).
Hypothesis L2 : 2 <= L.
Hypothesis npos : forall l, 0 < n l.
Notation N1 := (n 1 * m).
Notation b := (b m n L).
Notation c := (c m n L).
Notation prompt := (prompt m n L).

Variables (mdl : model) (l : layer (activation mdl)) (rest : list (layer (activation mdl))).
Hypothesis shape : stack mdl = l :: rest.

(* The embedded prompt. *)
Definition given (u v : list nat) (z0 w : nat) : nat -> activation mdl := input mdl (prompt u v z0 w).

Lemma late T x0 y M s t :
  parts_fit l (c + L + 1) M -> crosses l c s -> recurrent_at c rest t ->
  T * x0 <= m -> y <= n 1 -> 0 < x0 ->
  2 ^ ((x0 + y + (L - 1)) * M + T * (s + t)) < N1 ^ (T * x0 * y) ->
  ~ solves mdl (seqcomp m n L).
Proof.
  intros (part_code & part_bound & part_inj) R1 R2 le ley px count solved.
  destruct (crossing_full c l rest s t R1 R2) as (code & bound & past & decides).
  assert (pN : 0 < N1).
  { destruct (Nat.eq_dec N1 0) as [e|]; [|lia]. rewrite e in count.
    destruct (T * x0 * y) eqn:q; [|rewrite Nat.pow_0_l in count by lia; lia].
    simpl in count. pose proof (Nat.pow_nonzero 2 ((x0 + y + (L - 1)) * M + T * (s + t))). lia. }
  (* the T tables z_1 *)
  set (first := fun k => map (fun j => if j <? x0 then k * x0 + j else 0) (seq 0 m)).
  assert (first_in : forall k, k < T -> In (first k) (tables m m)).
  { intros k lk. apply in_tuples. unfold first. rewrite map_length, seq_length. split; auto.
    intros v iv. apply in_map_iff in iv as (j & <- & ij). apply in_seq in ij. apply in_seq.
    destruct (Nat.ltb_spec j x0); nia. }
  assert (first_at : forall k j, k < T -> j < x0 -> table (first k) j = k * x0 + j).
  { intros k j lk lj. unfold table, first.
    rewrite nth_indep with (d' := if 0 <? x0 then k * x0 + 0 else 0) by (rewrite map_length, seq_length; nia).
    rewrite (map_nth (fun j => if j <? x0 then k * x0 + j else 0)), seq_nth by nia. simpl.
    destruct (Nat.ltb_spec j x0); auto; lia. }
  (* the message of a table z_2 *)
  set (queries := map (fun z0 => (c, z0)) (seq 0 x0) ++ map (fun w => (c + 1, w)) (seq 0 y) ++
                  map (fun k => (c + k, 0)) (seq 2 (L - 1))).
  assert (lq : length queries = x0 + y + (L - 1)).
  { unfold queries. rewrite !app_length, !map_length, !seq_length. lia. }
  set (sum := fun u (q : nat * nat) =>
                part_code (partial l (fst q) (embed mdl (fst q) (snd q)) (given u [] 0 0) 0 b)).
  assert (cb : c = b + m) by (apply c_is; auto).
  assert (sum_part : forall u q, is_part l (c + L + 1) (partial l (fst q) (embed mdl (fst q) (snd q)) (given u [] 0 0) 0 b)).
  { intros u q. exists (fst q), (embed mdl (fst q) (snd q)), (given u [] 0 0), 0, b. split; auto. lia. }
  set (state := fun u k => code (given u (first k) 0 0)).
  set (message := fun u => pack (2 ^ M) (map (sum u) queries) +
                           (2 ^ M) ^ length queries * pack (2 ^ (s + t)) (map (state u) (seq 0 T))).
  assert (sum_bound : forall u q, sum u q < 2 ^ M) by (intros; apply part_bound, sum_part).
  assert (state_bound : forall u k, state u k < 2 ^ (s + t)) by (intros; apply bound).
  (* the arguments asked for *)
  set (D := reached m (seq 0 (T * x0)) y).
  assert (lD : length D = T * x0 * y) by (unfold D; rewrite reached_length, seq_length; lia).
  destruct (tables_collide N1 N1 (tables N1 N1) D message (2 ^ ((x0 + y + (L - 1)) * M + T * (s + t))))
    as (u & u' & x & iu & iu' & ix & same & differ); auto.
  - intros a. auto.
  - apply NoDup_tables.
  - apply (NoDup_reached m); [apply seq_NoDup|]. intros v iv. apply in_seq in iv. lia.
  - intros q iq. apply (reached_below m n (seq 0 (T * x0)) y); auto. intros v iv. apply in_seq in iv. lia.
  - intros u _. unfold message.
    assert (E : 2 ^ ((x0 + y + (L - 1)) * M + T * (s + t)) = (2 ^ M) ^ (x0 + y + (L - 1)) * (2 ^ (s + t)) ^ T)
      by (rewrite <- !Nat.pow_mul_r, <- Nat.pow_add_r; f_equal; lia).
    assert (B1 : pack (2 ^ M) (map (sum u) queries) < (2 ^ M) ^ length queries) by (apply pack_map_bound; auto).
    assert (B2 : pack (2 ^ (s + t)) (map (state u) (seq 0 T)) < (2 ^ (s + t)) ^ length (seq 0 T))
      by (apply pack_map_bound; auto).
    rewrite seq_length in B2. rewrite lq in *.
    rewrite E. now apply digits_bound.
  - rewrite tables_length, lD. apply pow_split; auto. nia.
  - (* two tables of one message: one answer where they differ *)
    apply in_reached in ix as (w & v & lw & iv & ex). apply in_seq in iv.
    set (k := v / x0). set (z0 := v mod x0).
    assert (lz : z0 < x0) by (apply Nat.mod_upper_bound; lia).
    assert (lk : k < T) by (apply Nat.div_lt_upper_bound; lia).
    assert (ev : v = k * x0 + z0) by (unfold k, z0; rewrite (Nat.mul_comm _ x0); apply Nat.div_mod; lia).
    unfold message in same. apply two_digits in same as [sums states]; try (apply pack_map_bound; auto).
    assert (S1 : forall q, In q queries -> sum u q = sum u' q) by (apply pack_map_inj with (b := 2 ^ M); auto).
    assert (S2 : forall j, In j (seq 0 T) -> state u j = state u' j) by (apply pack_map_inj with (b := 2 ^ (s + t)); auto).
    assert (lzm : z0 < m) by nia.
    assert (run_same : last_activation mdl (prompt u (first k) z0 w) (c + L + 1) =
                       last_activation mdl (prompt u' (first k) z0 w) (c + L + 1)).
    { unfold last_activation. rewrite shape. apply decides with (e := pred (c + L + 1)); [| | |lia].
      - (* states *)
        assert (e : state u k = state u' k) by (apply S2, in_seq; lia). unfold state in e.
        rewrite (past _ (given u (first k) 0 0)), (past (input mdl (prompt u' (first k) z0 w)) (given u' (first k) 0 0));
          auto; intros i li; unfold given, input; f_equal; apply prompt_above; auto.
      - (* tokens behind the cut *)
        intros i li. unfold input. f_equal. apply prompt_from_b; auto. lia.
      - (* sums *)
        intros i li. rewrite cb, !partial_split. f_equal.
        + assert (iq : In (i, prompt u (first k) z0 w i) queries).
          { replace i with (c + (i - c)) by lia. rewrite prompt_bottom by auto. unfold queries, bottom.
            destruct (Nat.eqb_spec (i - c) 0) as [e|]; [|destruct (Nat.eqb_spec (i - c) 1) as [e|]].
            - apply in_app_iff. left. rewrite e, Nat.add_0_r. apply (in_map (fun z => (c, z))), in_seq. lia.
            - apply in_app_iff. right. apply in_app_iff. left. rewrite e. apply (in_map (fun w => (c + 1, w))), in_seq. lia.
            - apply in_app_iff. right. apply in_app_iff. right. apply (in_map (fun k => (c + k, 0))), in_seq. lia. }
          specialize (S1 _ iq). unfold sum in S1. cbn [fst snd] in S1. apply part_inj in S1; try apply (sum_part _ (_, _)).
          assert (low : forall a, partial l i (embed mdl i (prompt u (first k) z0 w i)) (given a [] 0 0) 0 b =
                                  partial l i (embed mdl i (prompt u (first k) z0 w i)) (input mdl (prompt a (first k) z0 w)) 0 b).
          { intros a. apply partial_ext. intros j lj. unfold given, input. f_equal. apply prompt_low; auto; lia. }
          rewrite !low in S1. exact S1.
        + apply partial_ext. intros j lj. unfold input. f_equal. apply prompt_from_b; auto. lia. }
    pose proof (solved _ (prompt_asked m n L L2 npos u (first k) z0 w iu (first_in k lk) lzm ltac:(lia))) as a1.
    pose proof (solved _ (prompt_asked m n L L2 npos u' (first k) z0 w iu' (first_in k lk) lzm ltac:(lia))) as a2.
    unfold answers in a1, a2. rewrite !prompt_reply in a1, a2 by (auto; lia).
    rewrite first_at, <- ev, <- ex in a1, a2 by auto.
    rewrite tokens_is in a1, a2. fold c in a1, a2. rewrite run_same in a1. congruence.
Qed.
End Late.
