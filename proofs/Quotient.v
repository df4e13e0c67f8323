(* Softmax layers come to rest: a rounded quotient of two affine sequences is constant in the end. *)
From Coq Require Import List Arith ZArith Bool Lia.
From Rung Require Import Model Steady Softmax Gadget.
Import ListNotations.
Local Open Scope Z_scope.

Lemma quotient_rests (A B C D : Z) : 0 < D -> 0 <= B -> exists N : nat, forall n : nat, (N <= n)%nat ->
  (A + Z.of_nat n * C) / (B + Z.of_nat n * D) = (A + Z.of_nat N * C) / (B + Z.of_nat N * D).
Proof.
  intros pD pB. set (q := C / D). set (r := C mod D).
  assert (e : C = q * D + r) by (unfold q, r; rewrite Z.mul_comm; apply Z.div_mod; lia).
  assert (lr : 0 <= r < D) by (apply Z.mod_pos_bound; lia).
  set (A' := A - q * B).
  set (z := if (r =? 0) && (A' <? 0) then -1 else 0).
  exists (Z.to_nat (Z.abs A' + 1)).
  assert (all : forall n : nat, (Z.to_nat (Z.abs A' + 1) <= n)%nat -> (A + Z.of_nat n * C) / (B + Z.of_nat n * D) = q + z).
  { intros n ln. assert (ln' : Z.abs A' + 1 <= Z.of_nat n) by lia. set (k := Z.of_nat n) in *.
    symmetry. apply Z.div_unique with (r := A' + k * r - z * (B + k * D)).
    - left. unfold z. destruct (Z.eqb_spec r 0) as [r0|r1]; cbn [andb]; [|nia].
      destruct (Z.ltb_spec A' 0); rewrite r0; nia.
    - unfold A'. rewrite e. ring. }
  intros n ln. now rewrite !all by lia.
Qed.

(* Vectors by coordinates; the first is the denominator. *)
Definition coordinate (k : nat) (s : list Z) : Z := nth k s 0.
Lemma coordinate_vadd k s t : coordinate k (vadd s t) = coordinate k s + coordinate k t.
Proof.
  unfold coordinate. revert k t. induction s as [|u s IH]; intros k [|v t]; cbn [vadd]; destruct k; cbn [nth]; try lia; auto.
Qed.
Lemma vadd_length s t : length (vadd s t) = max (length s) (length t).
Proof. revert t. induction s as [|u s IH]; intros [|v t]; cbn [vadd length]; auto. now rewrite IH. Qed.
Fixpoint vtimes (n : nat) (s : list Z) : list Z := match n with O => [] | S k => vadd (vtimes k s) s end.
Lemma coordinate_vtimes k n s : coordinate k (vtimes n s) = Z.of_nat n * coordinate k s.
Proof.
  induction n as [|n IH]; [destruct k; reflexivity|]. cbn [vtimes]. rewrite coordinate_vadd, IH. lia.
Qed.
Lemma vtimes_length n s : length (vtimes (S n) s) = length s.
Proof. induction n as [|n IH]; [reflexivity|]. change (vtimes (S (S n)) s) with (vadd (vtimes (S n) s) s). rewrite vadd_length, IH. lia. Qed.
Lemma head_round_coordinates s :
  head_round s = map (fun c => rounded (coordinate (S c) s) (coordinate 0 s)) (seq 0 (length s - 1)).
Proof.
  destruct s as [|den nums]; [reflexivity|]. cbn [head_round length]. rewrite Nat.sub_succ, Nat.sub_0_r.
  unfold coordinate. cbn [nth]. generalize den. clear den. induction nums as [|v nums IH]; intros den; [reflexivity|].
  cbn [map length seq nth]. f_equal. rewrite <- seq_shift, map_map. apply IH.
Qed.

Section Head.
Context {X : Type} (h : head_maps X).
Hypothesis positive : forall s, 0 < weight h s.
Variable V : nat.
Hypothesis widths : forall j y, length (value_of h j y) = V.

Lemma term_length i x j y : length (head_term h i x j y) = S V.
Proof. clear positive. unfold head_term. cbn [length]. now rewrite map_length, widths. Qed.
Lemma head_partial_length i x a n : length (head_partial h i x a n) = match n with O => O | _ => S V end.
Proof.
  clear positive.
  induction n as [|n IH]; [reflexivity|]. cbn [head_partial]. rewrite vadd_length, IH, term_length. destruct n; lia.
Qed.
Lemma head_partial_den i x a n : Z.of_nat n <= coordinate 0 (head_partial h i x a n).
Proof.
  clear widths V.
  induction n as [|n IH]; [unfold coordinate; simpl; lia|]. cbn [head_partial]. rewrite coordinate_vadd.
  unfold coordinate at 2. unfold head_term. cbn [nth]. pose proof (positive (dot (query h i x) (key_of h n (a n)))). lia.
Qed.
Lemma sequence_rests (P Q S : list Z) : 0 <= coordinate 0 P -> 0 < coordinate 0 Q -> 0 <= coordinate 0 S ->
  (length P <= length Q)%nat -> (length S <= length Q)%nat ->
  exists N, forall n, (N <= n)%nat -> (1 <= N)%nat /\
    head_round (vadd (vadd P (vtimes n Q)) S) = head_round (vadd (vadd P (vtimes N Q)) S).
Proof.
  clear positive widths V h.
  intros p q s lp ls.
  assert (each : forall c, exists N, forall n, (N <= n)%nat ->
    rounded (coordinate (Datatypes.S c) (vadd (vadd P (vtimes n Q)) S)) (coordinate 0 (vadd (vadd P (vtimes n Q)) S)) =
    rounded (coordinate (Datatypes.S c) (vadd (vadd P (vtimes N Q)) S)) (coordinate 0 (vadd (vadd P (vtimes N Q)) S))).
  { intros c. set (k := Datatypes.S c).
    destruct (quotient_rests (2 * (coordinate k P + coordinate k S) + coordinate 0 P + coordinate 0 S)
      (2 * (coordinate 0 P + coordinate 0 S)) (2 * coordinate k Q + coordinate 0 Q) (2 * coordinate 0 Q)) as [N H]; try lia.
    exists N. intros n ln. specialize (H n ln). unfold rounded. rewrite !coordinate_vadd, !coordinate_vtimes.
    etransitivity; [etransitivity; [|exact H]|]; f_equal; ring. }
  assert (len : forall n, (1 <= n)%nat -> length (vadd (vadd P (vtimes n Q)) S) = length Q).
  { intros [|n] ln; [lia|]. rewrite !vadd_length, vtimes_length. lia. }
  assert (uniform : forall W, exists N, forall n c, (N <= n)%nat -> (c < W)%nat ->
    rounded (coordinate (Datatypes.S c) (vadd (vadd P (vtimes n Q)) S)) (coordinate 0 (vadd (vadd P (vtimes n Q)) S)) =
    rounded (coordinate (Datatypes.S c) (vadd (vadd P (vtimes N Q)) S)) (coordinate 0 (vadd (vadd P (vtimes N Q)) S))).
  { induction W as [|W [N IH]]; [exists O; intros; lia|]. destruct (each W) as [N' H].
    exists (max N N'). intros n c ln lc. destruct (Nat.eq_dec c W) as [->|].
    - rewrite (H n), (H (max N N')) by lia. reflexivity.
    - rewrite (IH n c), (IH (max N N') c) by lia. reflexivity. }
  destruct (uniform (length Q - 1)%nat) as [N H]. exists (Datatypes.S N). intros n ln. split; [lia|].
  rewrite !head_round_coordinates, !len by lia. apply map_ext_in. intros c ic. apply in_seq in ic.
  rewrite (H n c), (H (Datatypes.S N) c) by lia. reflexivity.
Qed.
End Head.

Definition plain_head {X} (h : head_maps X) :=
  (forall i x, query h i x = query h 0%nat x) /\ (forall j y, key_of h j y = key_of h 0%nat y) /\
  (forall j y, value_of h j y = value_of h 0%nat y) /\ (forall s, 0 < weight h s) /\
  (exists V, forall j y, length (value_of h j y) = V).
Theorem softmax_steady {X} (hs : list (head_maps X)) mlp :
  Forall plain_head hs -> (forall i x o, mlp i x o = mlp 0%nat x o) -> steady (softmax_layer hs mlp).
Proof.
  intros all free. split; [|split].
  - split; [reflexivity|]. split; [|intros i x q o; apply free].
    intros i x j y. cbn [term softmax_layer]. apply map_ext_in. intros h ih.
    destruct (proj1 (Forall_forall _ _) all h ih) as (fq & fk & fv & _). unfold head_term. now rewrite fq, fk, fv.
  - exists O. intros xs q. cbn [state softmax_layer] in q. now destruct q, (along _ xs _).
  - intros x pre per post p W d pW sum. cbn [round softmax_layer part] in *.
    set (f := fun h => head_partial h 0 x pre p). set (g := fun h => head_partial h 0 x per W). set (k := fun h => head_partial h 0 x post d).
    assert (two : forall (u v : head_maps X -> list Z), hadd (map u hs) (map v hs) = map (fun q => vadd (u q) (v q)) hs).
    { intros u v. clear. induction hs as [|q qs IH]; simpl; auto. now rewrite IH. }
    assert (tm : forall n, times (softmax_layer hs mlp) (S n) (map g hs) = map (fun q => vtimes (S n) (g q)) hs).
    { induction n as [|n IH]; [reflexivity|].
      change (times (softmax_layer hs mlp) (S (S n)) (map g hs)) with (hadd (times (softmax_layer hs mlp) (S n) (map g hs)) (map g hs)).
      rewrite IH, two. reflexivity. }
    assert (is : forall n, (1 <= n)%nat -> sum n = map (fun q => vadd (vadd (f q) (vtimes n (g q))) (k q)) hs).
    { intros [|n] ln; [lia|]. unfold sum. rewrite !partial_heads. destruct W as [|W]; [lia|].
      change (fun k0 : head_maps X => head_partial k0 0 x per (S W)) with g. rewrite tm.
      cbn [add softmax_layer]. unfold f, k. clear -two.
      assert (zero : forall u, hadd [] u = u) by reflexivity.
      destruct p as [|p], d as [|d]; rewrite ?hadd_nil, ?zero, ?two; try (apply map_ext; intros q);
        change (head_partial q 0 x pre 0) with (@nil Z); change (head_partial q 0 x post 0) with (@nil Z);
        rewrite ?vadd_nil; reflexivity. }
    assert (each : forall h, In h hs -> exists N, forall n, (N <= n)%nat -> (1 <= N)%nat /\
      head_round (vadd (vadd (f h) (vtimes n (g h))) (k h)) = head_round (vadd (vadd (f h) (vtimes N (g h))) (k h))).
    { intros h ih. destruct (proj1 (Forall_forall _ _) all h ih) as (_ & _ & _ & pos & V & wd).
      pose proof (head_partial_den h pos 0 x pre p). pose proof (head_partial_den h pos 0 x per W).
      pose proof (head_partial_den h pos 0 x post d).
      apply sequence_rests; unfold f, g, k; try lia; rewrite !(head_partial_length h V wd); destruct p, W, d; lia. }
    assert (uniform : exists N, forall n, (N <= n)%nat -> (1 <= N)%nat /\ forall h, In h hs ->
      head_round (vadd (vadd (f h) (vtimes n (g h))) (k h)) = head_round (vadd (vadd (f h) (vtimes N (g h))) (k h))).
    { clear -each. induction hs as [|h qs IH]; [exists 1%nat; intros; split; [lia|intros q []]|].
      destruct IH as [N H]; [intros; apply each; now right|]. destruct (each h) as [N' H']; [now left|].
      exists (max N N'). intros n ln. destruct (H N (le_n _)) as [l1 _]. split; [lia|]. intros q [<-|iq].
      - rewrite (proj2 (H' n ltac:(lia))), (proj2 (H' (max N N') ltac:(lia))). reflexivity.
      - rewrite (proj2 (H n ltac:(lia)) q iq), (proj2 (H (max N N') ltac:(lia)) q iq). reflexivity. }
    destruct uniform as [N H]. exists N. intros n ln. destruct (H n ln) as [l1 same].
    rewrite !is by lia. rewrite !map_map. apply map_ext_in. exact same.
Qed.
