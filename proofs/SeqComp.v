(* Prompts of L-SeqComp from tables, and their answers. *)
From Coq Require Import List Arith Lia Bool.
From Rung Require Import Model Tasks.
Import ListNotations.

Section SeqComp.
Variables (m : nat) (n : nat -> nat).
Notation entries := (entries m n).
Notation base := (base m n).
Notation hop := (hop m n).

Fixpoint fill (L : nat) (z : nat -> nat -> nat) (tail : nat -> nat) (i : nat) : nat :=
  match L with
  | 0 => tail i
  | S k => if i <? entries k then z (S k) i else fill k z tail (i - entries k)
  end.

Fixpoint compose (z : nat -> nat -> nat) (tail : nat -> nat) (l : nat) : nat :=
  match l with
  | 0 => tail 0
  | 1 => z 1 (tail 0)
  | S (S k as j) => z (S j) (tail j * entries k + compose z tail j)
  end.

Lemma base_step L l : l <= L -> base (S L) l = entries L + base L l.
Proof. intros. simpl. destruct (Nat.ltb_spec l (S L)); lia. Qed.
Lemma base_top L : base L L = 0.
Proof. destruct L as [|L]; simpl; auto. destruct (Nat.ltb_spec (S L) (S L)); lia. Qed.

Lemma fill_table L z tail l j : 1 <= l <= L -> j < entries (pred l) -> fill L z tail (base L l + j) = z l j.
Proof.
  induction L as [|L IH]; intros le lt; [lia|].
  destruct (Nat.eq_dec l (S L)) as [->|ne].
  - rewrite base_top. simpl in *. destruct (Nat.ltb_spec j (entries L)); auto; lia.
  - rewrite base_step by lia. cbn [fill]. destruct (Nat.ltb_spec (entries L + base L l + j) (entries L)); [lia|].
    replace (entries L + base L l + j - entries L) with (base L l + j) by lia. apply IH; lia.
Qed.
Lemma fill_tail L z tail j : fill L z tail (base L 0 + j) = tail j.
Proof.
  induction L as [|L IH]; auto. rewrite base_step by lia. cbn [fill].
  destruct (Nat.ltb_spec (entries L + base L 0 + j) (entries L)); [lia|].
  replace (entries L + base L 0 + j - entries L) with (base L 0 + j) by lia. apply IH.
Qed.
Lemma fill_ext L z z' tail tail' i :
  (forall l j, 1 <= l <= L -> j < entries (pred l) -> z l j = z' l j) -> (forall j, tail j = tail' j) ->
  fill L z tail i = fill L z' tail' i.
Proof.
  intros H H'. revert i. induction L as [|L IH]; intros i; simpl; auto.
  destruct (Nat.ltb_spec i (entries L)).
  - apply H; simpl; lia.
  - apply IH. intros; apply H; lia.
Qed.

(* Tables in range, tail in range. *)
Definition fits_sizes (L : nat) (z : nat -> nat -> nat) (tail : nat -> nat) :=
  (forall l j, 1 <= l <= L -> j < entries (pred l) -> z l j < entries (pred l)) /\
  tail 0 < m /\ (forall l, 1 <= l < L -> tail l < n l) /\ tail L = 0.

Lemma compose_bound L z tail l :
  fits_sizes L z tail -> l <= L -> compose z tail l < entries (pred l).
Proof.
  intros (tables & t0 & ws & _) le. revert le. induction l as [|l IH]; intros le; [exact t0|].
  destruct l as [|k].
  - simpl. apply (tables 1); simpl; lia.
  - specialize (IH ltac:(lia)). cbn [pred] in IH.
    change (compose z tail (S (S k))) with (z (S (S k)) (tail (S k) * entries k + compose z tail (S k))).
    apply (tables (S (S k))); [lia|]. change (entries (pred (S (S k)))) with (n (S k) * entries k).
    assert (tail (S k) < n (S k)) by (apply ws; lia). nia.
Qed.

Lemma hop_fill L z tail l :
  fits_sizes L z tail -> l <= L -> hop L l (fill L z tail) = compose z tail l.
Proof.
  intros fit le.
  assert (t : forall j, fill L z tail (base L 0 + j) = tail j) by apply fill_tail.
  assert (t0 : fill L z tail (base L 0) = tail 0) by (rewrite <- t; f_equal; lia).
  induction l as [|l IH]; [exact t0|].
  destruct l as [|k].
  - simpl. rewrite t0. apply fill_table; [lia|]. destruct fit as (_ & b & _). simpl. auto.
  - change (hop L (S (S k)) (fill L z tail)) with
      (fill L z tail (base L (S (S k)) + (fill L z tail (base L 0 + S k) * entries k + hop L (S k) (fill L z tail)))).
    rewrite IH, t by lia.
    rewrite fill_table; [reflexivity|lia|]. change (entries (pred (S (S k)))) with (n (S k) * entries k).
    pose proof (compose_bound L z tail (S k) fit ltac:(lia)) as B. cbn [pred] in B.
    destruct fit as (_ & _ & ws & _). assert (tail (S k) < n (S k)) by (apply ws; lia). nia.
Qed.

Lemma fill_asked L z tail : fits_sizes L z tail -> asks (seqcomp m n L) (fill L z tail).
Proof.
  intros (a & b & c & d). repeat split; simpl.
  - intros l j le lt. rewrite fill_table; auto.
  - replace (base L 0) with (base L 0 + 0) by lia. now rewrite fill_tail.
  - intros l le. rewrite fill_tail. auto.
  - rewrite fill_tail. auto.
Qed.
End SeqComp.
