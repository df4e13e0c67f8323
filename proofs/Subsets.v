(* Subsets of a list, as sublists, and how many there are. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Counting.
Import ListNotations.

Fixpoint binom (n k : nat) : nat :=
  match n, k with
  | _, 0 => 1
  | 0, S _ => 0
  | S n', S k' => binom n' k' + binom n' k
  end.
(* C(n, from) + .. + C(n, from + len - 1). *)
Definition binoms (n from len : nat) : nat := list_sum (map (binom n) (seq from len)).

Section Choose.
Context {A : Type}.
Fixpoint choose (k : nat) (l : list A) : list (list A) :=
  match k, l with
  | 0, _ => [[]]
  | S _, [] => []
  | S k', x :: l' => map (cons x) (choose k' l') ++ choose k l'
  end.

Lemma choose_0 l : choose 0 l = [[]].
Proof. now destruct l. Qed.
Lemma choose_length k l : length (choose k l) = binom (length l) k.
Proof.
  revert k. induction l as [|x l IH]; intros [|k]; simpl; auto.
  now rewrite app_length, map_length, IH, IH.
Qed.
Lemma choose_size k l u : In u (choose k l) -> length u = k.
Proof.
  revert k u. induction l as [|x l IH]; intros [|k] u i; simpl in i; try tauto.
  - now destruct i as [<-|[]].
  - now destruct i as [<-|[]].
  - apply in_app_iff in i as [i|i]; auto. apply in_map_iff in i as [v [<- i]]. simpl. f_equal; auto.
Qed.
Lemma choose_incl k l u : In u (choose k l) -> incl u l.
Proof.
  revert k u. induction l as [|x l IH]; intros [|k] u i; simpl in i; try tauto.
  - destruct i as [<-|[]]. intros v [].
  - destruct i as [<-|[]]. intros v [].
  - apply in_app_iff in i as [i|i].
    + apply in_map_iff in i as [v [<- i]]. intros y [<-|iy]; simpl; auto. right. eapply IH; eauto.
    + intros y iy. right. eapply IH; eauto.
Qed.
Lemma choose_NoDup_each k l u : NoDup l -> In u (choose k l) -> NoDup u.
Proof.
  intros nd. revert k u. induction l as [|x l IH]; intros [|k] u i; simpl in i; try tauto.
  - destruct i as [<-|[]]. constructor.
  - destruct i as [<-|[]]. constructor.
  - inversion nd; subst. apply in_app_iff in i as [i|i]; eauto.
    apply in_map_iff in i as [v [<- i]]. constructor; eauto. intros j. apply choose_incl in i. auto.
Qed.
(* One set, one sublist. *)
Lemma choose_unique j k l u w : NoDup l -> In u (choose j l) -> In w (choose k l) ->
  (forall v, In v u <-> In v w) -> u = w.
Proof.
  intros nd. revert j k u w. induction l as [|x l IH]; intros j k u w iu iw same.
  - assert (u = []) as -> by (apply choose_incl in iu; destruct u as [|a u]; auto; destruct (iu a); simpl; auto).
    apply choose_incl in iw. destruct w as [|a w]; auto. destruct (iw a); simpl; auto.
  - inversion nd as [|? ? nx nd']; subst.
    assert (H : forall j u, In u (choose j (x :: l)) ->
              (exists k u', u = x :: u' /\ In u' (choose k l)) \/ (In u (choose j l) /\ ~ In x u)).
    { clear -nx. intros [|j] u i; simpl in i.
      - destruct i as [<-|[]]. right. rewrite choose_0. split; simpl; auto.
      - apply in_app_iff in i as [i|i].
        + apply in_map_iff in i as [v [<- i]]. left. eauto.
        + right. split; auto. intros ix. apply choose_incl in i. auto. }
    destruct (H _ _ iu) as [(j' & u' & -> & iu')|[iu' n1]], (H _ _ iw) as [(k' & w' & -> & iw')|[iw' n2]].
    + f_equal. eapply IH; eauto. intros v. specialize (same v). simpl in same.
      assert (~ In x u') by (intros i; apply choose_incl in iu'; auto).
      assert (~ In x w') by (intros i; apply choose_incl in iw'; auto).
      split; intros i.
      * destruct same as [f _]. destruct f; auto. subst. tauto.
      * destruct same as [_ f]. destruct f; auto. subst. tauto.
    + exfalso. apply n2. apply same. simpl. auto.
    + exfalso. apply n1. apply same. simpl. auto.
    + eapply IH; eauto.
Qed.
Lemma NoDup_choose k l : NoDup l -> NoDup (choose k l).
Proof.
  intros nd. revert k. induction l as [|x l IH]; intros [|k]; simpl; try (repeat constructor; simpl; tauto).
  inversion nd as [|? ? nx nd']; subst.
  assert (H : NoDup (flat_map (fun b : bool => if b then map (cons x) (choose k l) else choose (S k) l) [true; false])).
  { apply NoDup_flat_map.
    - repeat constructor; simpl; intuition discriminate.
    - intros [|] _; auto. apply NoDup_map_inj; auto. intros; congruence.
    - intros [|] [|] u _ _ i j; auto.
      + apply in_map_iff in i as [v [<- i]]. exfalso. apply choose_incl in j. apply nx, j. simpl. auto.
      + apply in_map_iff in j as [v [<- j]]. exfalso. apply choose_incl in i. apply nx, i. simpl. auto. }
  simpl in H. now rewrite app_nil_r in H.
Qed.

(* All subsets with from .. from + len - 1 elements. *)
Definition subsets (from len : nat) (l : list A) : list (list A) := flat_map (fun j => choose j l) (seq from len).
Lemma subsets_length from len l : length (subsets from len l) = binoms (length l) from len.
Proof.
  unfold subsets, binoms. induction (seq from len) as [|j s IH]; simpl; auto.
  now rewrite app_length, choose_length, IH.
Qed.
Lemma NoDup_subsets from len l : NoDup l -> NoDup (subsets from len l).
Proof.
  intros nd. apply NoDup_flat_map.
  - apply seq_NoDup.
  - intros. now apply NoDup_choose.
  - intros a b u _ _ i j. apply choose_size in i, j. congruence.
Qed.
Lemma in_subsets from len l u : In u (subsets from len l) ->
  exists j, from <= j < from + len /\ In u (choose j l).
Proof. intros i. apply in_flat_map in i as [j [ij i]]. apply in_seq in ij. eauto. Qed.

(* Some choice contains a given set. *)
Lemma choose_above k l u : NoDup l -> NoDup u -> incl u l -> length u <= k <= length l ->
  exists S, In S (choose k l) /\ incl u S.
Proof.
  intros nd. revert k u. induction l as [|x l IH]; intros k u nu inc le.
  - simpl in le. assert (k = 0) as -> by lia. exists []. simpl. split; auto.
  - inversion nd as [|? ? nx nd']; subst.
    destruct k as [|k].
    + destruct u; simpl in le; [|lia]. exists []. simpl. split; auto. intros v [].
    + assert (dec : In x u \/ ~ In x u).
      { clear -nu inc nd. revert inc. induction u as [|a u IH]; intros inc; [simpl; auto|].
        inversion nu; subst. destruct IH as [i|i]; auto; [intros v iv; apply inc; simpl; auto|simpl; auto|].
        destruct (inc a) as [e|i']; simpl; auto.
        right. intros [e|]; auto. subst. inversion nd; auto. }
      destruct dec as [i|i].
      * apply in_split in i as (u1 & u2 & ->).
        apply NoDup_remove in nu as [nu n'].
        destruct (IH nd' k (u1 ++ u2)) as (S0 & iS & incS); auto.
        -- intros v iv. destruct (inc v) as [e|]; auto.
           { apply in_app_iff in iv. apply in_app_iff. simpl. tauto. }
           { subst. contradiction. }
        -- rewrite app_length in *. simpl in le. lia.
        -- exists (x :: S0). split; [simpl; apply in_app_iff; left; now apply in_map|].
           intros v iv. apply in_app_iff in iv as [iv|[<-|iv]]; simpl; auto; right; apply incS, in_app_iff; auto.
      * assert (inc' : incl u l). { intros v iv. destruct (inc v iv) as [e|]; auto. subst. contradiction. }
        simpl in le. destruct (Nat.eq_dec k (length l)) as [->|ne].
        -- destruct (IH nd' (length l) u) as (S0 & iS & incS); auto.
           { split; [apply NoDup_incl_length; auto|lia]. }
           exists (x :: S0). split; [simpl; apply in_app_iff; left; now apply in_map|].
           intros v iv. right. auto.
        -- destruct (IH nd' (S k) u) as (S0 & iS & incS); auto; [lia|].
           exists S0. split; auto. simpl. apply in_app_iff. auto.
Qed.
End Choose.
