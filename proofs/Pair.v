(* 2-SeqComp inside L-SeqComp: z_2 and z_1 are free tables, the tables above are the identity and w_2, .. are 0. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks SeqComp.
Import ListNotations.

Section Pair.
Variables (m : nat) (n : nat -> nat) (L : nat).
Hypothesis L2 : 2 <= L.
Hypothesis npos : forall l, 0 < n l.
Notation N1 := (n 1 * m).

Definition pair_tables (u v : list nat) (l j : nat) : nat :=
  if l =? 1 then table v j else if l =? 2 then table u j else j.
Definition bottom (z0 w : nat) (i : nat) : nat := if i =? 0 then z0 else if i =? 1 then w else 0.
Definition prompt (u v : list nat) (z0 w : nat) : nat -> nat := fill m n L (pair_tables u v) (bottom z0 w).

Lemma entries_1 : entries m n 1 = N1.
Proof. reflexivity. Qed.

Lemma base_next k : k < L -> base m n L k = base m n L (S k) + entries m n k.
Proof.
  clear L2. intros lt. induction L as [|q IH]; [lia|].
  destruct (Nat.eq_dec k q) as [->|ne].
  - rewrite base_step, !base_top by lia. lia.
  - rewrite !base_step by lia. rewrite IH by lia. lia.
Qed.

Lemma prompt_fits u v z0 w :
  In u (tables N1 N1) -> In v (tables m m) -> z0 < m -> w < n 1 ->
  fits_sizes m n L (pair_tables u v) (bottom z0 w).
Proof.
  intros iu iv lz lw.
  assert (np : 0 < N1) by (specialize (npos 1); nia).
  repeat split.
  - intros l j hl lj. unfold pair_tables.
    destruct (Nat.eqb_spec l 1) as [->|]; [simpl; eapply table_value; eauto; lia|].
    destruct (Nat.eqb_spec l 2) as [->|]; [|auto].
    cbn [pred]. rewrite entries_1. eapply table_value; eauto.
  - exact lz.
  - intros l hl. unfold bottom. destruct (Nat.eqb_spec l 0); [lia|]. destruct (Nat.eqb_spec l 1) as [->|]; auto.
  - unfold bottom. destruct (Nat.eqb_spec L 0); [lia|]. destruct (Nat.eqb_spec L 1); [lia|auto].
Qed.

Lemma prompt_asked u v z0 w :
  In u (tables N1 N1) -> In v (tables m m) -> z0 < m -> w < n 1 -> asks (seqcomp m n L) (prompt u v z0 w).
Proof. intros. apply fill_asked, prompt_fits; auto. Qed.

Lemma prompt_reply u v z0 w :
  In u (tables N1 N1) -> In v (tables m m) -> z0 < m -> w < n 1 ->
  reply (seqcomp m n L) (prompt u v z0 w) = table u (w * m + table v z0).
Proof.
  intros iu iv lz lw. cbn [reply seqcomp]. unfold prompt. rewrite hop_fill; auto; [|now apply prompt_fits].
  assert (two : compose m n (pair_tables u v) (bottom z0 w) 2 = table u (w * m + table v z0)) by reflexivity.
  assert (H : forall k, compose m n (pair_tables u v) (bottom z0 w) (2 + k) = table u (w * m + table v z0)).
  { induction k as [|k IH]; [exact two|]. cbn [Nat.add] in *.
    change (compose m n (pair_tables u v) (bottom z0 w) (S (S (S k)))) with
      (pair_tables u v (S (S (S k)))
         (bottom z0 w (S (S k)) * entries m n (S k) + compose m n (pair_tables u v) (bottom z0 w) (S (S k)))).
    rewrite IH. reflexivity. }
  replace L with (2 + (L - 2)) by lia. apply H.
Qed.

(* Where things stand: z_2 (and the constant tables) below b, z_1 in [b, c), z_0 at c, w_1 at c + 1. *)
Definition b := base m n L 1.
Definition c := base m n L 0.
Lemma c_is : c = b + m.
Proof. unfold b, c. rewrite (base_next 0); [reflexivity|lia]. Qed.
Lemma tokens_is : tokens (seqcomp m n L) = c + L + 1.
Proof. reflexivity. Qed.

Lemma prompt_low u v z0 w v' z0' w' i : i < b -> prompt u v z0 w i = prompt u v' z0' w' i.
Proof.
  unfold prompt, b. assert (H : forall q j, j < base m n q 1 -> 1 <= q ->
    fill m n q (pair_tables u v) (bottom z0 w) j = fill m n q (pair_tables u v') (bottom z0' w') j).
  { clear. induction q as [|q IH]; intros j lt le; [lia|].
    destruct (Nat.eq_dec q 0) as [->|nz]; [rewrite base_top in lt; lia|].
    rewrite base_step in lt by lia. cbn [fill]. destruct (Nat.ltb_spec j (entries m n q)).
    - unfold pair_tables. destruct (Nat.eqb_spec (S q) 1); [lia|auto].
    - apply IH; lia. }
  intros lt. apply H; lia.
Qed.
Lemma prompt_middle u v z0 w j : j < m -> prompt u v z0 w (b + j) = table v j.
Proof. intros lt. unfold prompt, b. rewrite fill_table; auto. lia. Qed.
Lemma prompt_bottom u v z0 w k : prompt u v z0 w (c + k) = bottom z0 w k.
Proof. unfold prompt, c. apply fill_tail. Qed.
Lemma prompt_from_b u u' v z0 w i : b <= i -> prompt u v z0 w i = prompt u' v z0 w i.
Proof.
  intros le. destruct (le_lt_dec c i).
  - replace i with (c + (i - c)) by lia. now rewrite !prompt_bottom.
  - pose proof c_is. replace i with (b + (i - b)) by lia. rewrite !prompt_middle; auto; lia.
Qed.
(* Below c the prompt does not depend on z_0 and w. *)
Lemma prompt_above u v z0 w z0' w' i : i < c -> prompt u v z0 w i = prompt u v z0' w' i.
Proof.
  intros lt. destruct (le_lt_dec b i).
  - pose proof c_is. replace i with (b + (i - b)) by lia. rewrite !prompt_middle; auto; lia.
  - now apply prompt_low.
Qed.


Lemma same_answer mdl u u' v z0 w :
  solves mdl (seqcomp m n L) -> In u (tables N1 N1) -> In u' (tables N1 N1) -> In v (tables m m) -> z0 < m -> w < n 1 ->
  run (stack mdl) (input mdl (prompt u v z0 w)) (c + L) = run (stack mdl) (input mdl (prompt u' v z0 w)) (c + L) ->
  table u (w * m + table v z0) = table u' (w * m + table v z0).
Proof.
  intros solved iu iu' iv lz lw same.
  pose proof (solved _ (prompt_asked u v z0 w iu iv lz lw)) as a1.
  pose proof (solved _ (prompt_asked u' v z0 w iu' iv lz lw)) as a2.
  unfold answers, last_activation in a1, a2. rewrite prompt_reply in a1, a2 by auto.
  rewrite tokens_is in a1, a2. replace (pred (c + L + 1)) with (c + L) in a1, a2 by lia. congruence.
Qed.
End Pair.

Section Reached.
Variables (m : nat) (n : nat -> nat).
Notation N1 := (n 1 * m).
(* The arguments of z_2 that values V of z_1 and w < y reach. *)
Definition reached (V : list nat) (y : nat) : list nat := flat_map (fun w => map (fun v => w * m + v) V) (seq 0 y).
Lemma reached_length V y : length (reached V y) = y * length V.
Proof.
  unfold reached. rewrite flat_map_length_const with (c := length V).
  - now rewrite seq_length.
  - intros. apply map_length.
Qed.
Lemma NoDup_reached V y : NoDup V -> (forall v, In v V -> v < m) -> NoDup (reached V y).
Proof.
  intros nd lt. apply NoDup_flat_map.
  - apply seq_NoDup.
  - intros a _. apply NoDup_map_inj; auto. intros; lia.
  - intros a a' x _ _ i j. apply in_map_iff in i as (v & <- & iv). apply in_map_iff in j as (v' & e & iv').
    apply lt in iv, iv'. rewrite (Nat.add_comm _ v), (Nat.add_comm _ v'), !(Nat.mul_comm _ m) in e.
    apply two_digits in e as [_ e]; auto.
Qed.
Lemma in_reached V y x : In x (reached V y) -> exists w v, w < y /\ In v V /\ x = w * m + v.
Proof.
  intros i. apply in_flat_map in i as (w & iw & i). apply in_map_iff in i as (v & <- & iv).
  apply in_seq in iw. exists w, v. repeat split; auto; lia.
Qed.
Lemma reached_below V y x : (forall v, In v V -> v < m) -> y <= n 1 -> In x (reached V y) -> x < N1.
Proof. intros lt le i. apply in_reached in i as (w & v & lw & iv & ->). apply lt in iv. nia. Qed.
End Reached.
