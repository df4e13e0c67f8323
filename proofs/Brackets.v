(* One full layer alone and brackets of depth 1: ( ) [ ] { } .. ( ). The opening ones, but for the last, reach the last token
   through one sum over their positions, which interleave with the others. *)
From Coq Require Import List Arith Bool Lia.
From Coq Require Import ZifyNat ZifyBool.
From Rung Require Import Model Counting Tasks Cut Alone.
Import ListNotations.

Section Sums.
Context {X : Type} (l : layer X).
Lemma partial_of_ext i x a b chosen len :
  (forall j, j < len -> chosen j = true -> a j = b j) -> partial_of l i x a chosen len = partial_of l i x b chosen len.
Proof.
  induction len as [|len IH]; intros H; cbn [partial_of]; auto. rewrite IH by (intros; apply H; auto).
  destruct (chosen len) eqn:c; auto. rewrite H; auto.
Qed.
Lemma partial_parts i x a chosen len : commutes l ->
  partial l i x a 0 len = add l (partial_of l i x a chosen len) (partial_of l i x a (fun j => negb (chosen j)) len).
Proof.
  intros com. induction len as [|len IH]; cbn [partial partial_of]; [now rewrite add_none|]. rewrite IH. cbn [Nat.add].
  set (u := partial_of l i x a chosen len). set (v := partial_of l i x a _ len). set (t := term l i x len (a len)).
  destruct (chosen len); cbn [negb].
  - rewrite <- !add_assoc. f_equal. apply com.
  - now rewrite <- add_assoc.
Qed.
End Sums.

Lemma in_pairs (f : nat -> nat) q s : map f (seq (2 * s) (2 * q)) = flat_map (fun i => [f (2 * i); f (2 * i + 1)]) (seq s q).
Proof.
  revert s. induction q as [|q IH]; intros s; [reflexivity|].
  replace (2 * S q) with (S (S (2 * q))) by lia. cbn [seq map flat_map app]. rewrite Nat.add_1_r.
  replace (S (S (2 * s))) with (2 * S s) by lia. now rewrite IH.
Qed.
Lemma nested_flat k D (f : nat -> nat) l : 1 <= D -> (forall i, In i l -> f (2 * i) < k /\ k <= f (2 * i + 1)) ->
  nested k D [] (flat_map (fun i => [f (2 * i); f (2 * i + 1)]) l) = forallb (fun i => f (2 * i + 1) =? k + f (2 * i)) l.
Proof.
  intros d1 H. induction l as [|i l IH]; [reflexivity|]. destruct (H i (or_introl eq_refl)) as [lo hi].
  cbn [flat_map app nested forallb length].
  destruct (Nat.ltb_spec (f (2 * i)) k); [|lia]. destruct (Nat.ltb_spec 0 D); [|lia].
  destruct (Nat.ltb_spec (f (2 * i + 1)) k); [lia|]. cbn [andb]. rewrite IH; auto. intros j ij. apply H. now right.
Qed.

Theorem dyck_alone (m : model) (M h k D : nat) (l : layer (activation m)) (rest : list (layer (activation m))) :
  stack m = l :: rest -> commutes l -> any_parts_fit l (2 * h) M -> (forall q r : state l, q = r) -> Forall position_wise rest ->
  2 <= h -> 1 <= D -> 2 ^ M < k ^ (h - 1) -> ~ solves m (dyck (2 * h) k D).
Proof.
  intros shape com (code & bound & inj) stateless R h2 d1 many solved. set (g := h - 1) in *.
  assert (pk : 0 < k). { destruct k; [|lia]. rewrite Nat.pow_0_l in many; unfold g in *; lia. }
  set (word := fun u w i => if i <? 2 * g then if Nat.even i then table u (Nat.div2 i) else k + table w (Nat.div2 i)
                            else if i =? 2 * g then 0 else k).
  set (e := 2 * h - 1). set (chosen := fun i => (i <? 2 * g) && Nat.even i).
  set (sums := fun u => partial_of l e (embed m e k) (input m (word u u)) chosen (2 * h)).
  assert (isp : forall u, is_part_of l (2 * h) (sums u)) by (intros u; exists e, (embed m e k), (input m (word u u)), chosen, (2 * h); auto).
  destruct (pigeonhole (fun u => code (sums u)) (tables g k) (2 ^ M)) as (u & v & iu & iv & ne & same).
  { apply NoDup_tables. }
  { intros u _. now apply bound. }
  { now rewrite tables_length. }
  apply inj in same; auto. destruct (tables_differ g k u v iu iv ne) as (x & lx & differ).
  assert (even_at : forall a b i, i < g -> word a b (2 * i) = table a i).
  { intros a b i li. unfold word. destruct (Nat.ltb_spec (2 * i) (2 * g)); [|lia]. now rewrite Nat.even_mul, Nat.div2_double. }
  assert (odd_at : forall a b i, i < g -> word a b (2 * i + 1) = k + table b i).
  { intros a b i li. unfold word. destruct (Nat.ltb_spec (2 * i + 1) (2 * g)); [|lia].
    rewrite Nat.add_1_r, Nat.even_succ, Nat.odd_mul, Nat.div2_succ_double. reflexivity. }
  assert (last_open : forall a b, word a b (2 * g) = 0).
  { intros a b. unfold word. rewrite Nat.ltb_irrefl, Nat.eqb_refl. reflexivity. }
  assert (last_close : forall a b, word a b (2 * g + 1) = k).
  { intros a b. unfold word. destruct (Nat.ltb_spec (2 * g + 1) (2 * g)); [lia|]. destruct (Nat.eqb_spec (2 * g + 1) (2 * g)); [lia|reflexivity]. }
  assert (types : forall a i, In a (tables g k) -> table a i < k) by (intros; eapply table_value; eauto).
  assert (asked : forall a b, In a (tables g k) -> In b (tables g k) -> asks (dyck (2 * h) k D) (word a b)).
  { intros a b ia ib i li. unfold word. pose proof (types a (Nat.div2 i) ia). pose proof (types b (Nat.div2 i) ib).
    destruct (i <? 2 * g), (Nat.even i), (i =? 2 * g); lia. }
  assert (right : forall a b, In a (tables g k) -> In b (tables g k) ->
    reply (dyck (2 * h) k D) (word a b) = yes (forallb (fun i => word a b (2 * i + 1) =? k + word a b (2 * i)) (seq 0 h))).
  { intros a b ia ib. cbn [reply dyck]. f_equal. change 0 with (2 * 0) at 1. rewrite in_pairs. apply nested_flat; auto.
    intros i ii. apply in_seq in ii. destruct (Nat.eq_dec i g) as [->|].
    - rewrite last_open, last_close. lia.
    - rewrite even_at, odd_at by (unfold g in *; lia). pose proof (types a i ia). lia. }
  pose proof (solved _ (asked u u iu iu)) as s1. pose proof (solved _ (asked v u iv iu)) as s2.
  assert (r1 : reply (dyck (2 * h) k D) (word u u) = 1).
  { rewrite right by auto. replace (forallb _ _) with true; [reflexivity|]. symmetry. apply forallb_forall. intros i ii. apply in_seq in ii.
    apply Nat.eqb_eq. destruct (Nat.eq_dec i g) as [->|]; [rewrite last_open, last_close; lia|].
    now rewrite even_at, odd_at by (unfold g in *; lia). }
  assert (r2 : reply (dyck (2 * h) k D) (word v u) = 0).
  { rewrite right by auto. replace (forallb _ _) with false; [reflexivity|]. symmetry. apply not_true_iff_false. intros all.
    rewrite forallb_forall in all. specialize (all x ltac:(apply in_seq; unfold g in *; lia)). apply Nat.eqb_eq in all.
    rewrite even_at, odd_at in all by lia. lia. }
  rewrite r1 in s1. rewrite r2 in s2. unfold answers, last_activation in s1, s2. rewrite shape in s1, s2. cbn [run tokens dyck] in s1, s2.
  replace (pred (2 * h)) with e in s1, s2 by (unfold e; lia).
  assert (at_e : forall a b, input m (word a b) e = embed m e k).
  { intros a b. unfold input. f_equal. replace e with (2 * g + 1) by (unfold e, g; lia). apply last_close. }
  assert (sum_of : forall a b, partial_of l e (embed m e k) (input m (word a b)) chosen (2 * h) = sums a).
  { intros a b. apply partial_of_ext. intros j _ cj. unfold input, chosen in *. f_equal. apply andb_true_iff in cj as [lo ev].
    unfold word. now rewrite lo, ev. }
  assert (eq : apply l (input m (word u u)) e = apply l (input m (word v u)) e).
  { unfold apply, heads. rewrite !at_e. f_equal; [apply stateless|]. f_equal. replace (S e) with (2 * h) by (unfold e; lia).
    rewrite !(partial_parts l _ _ _ chosen _ com), !sum_of, same. f_equal. apply partial_of_ext. intros j _ cj. unfold input. f_equal.
    apply negb_true_iff in cj. unfold chosen in cj. unfold word. destruct (j <? 2 * g); auto. cbn [andb] in cj. now rewrite cj. }
  rewrite (pointwise_run rest R _ _ e eq) in s1. congruence.
Qed.
