(* One full layer alone: the last token's query is its own, so the first part of a prompt reaches it through partial sums. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks Cut.
Import ListNotations.

Lemma pointwise_run {X} (ls : list (layer X)) : Forall position_wise ls ->
  forall a b i, a i = b i -> run ls a i = run ls b i.
Proof.
  induction 1 as [|l ls [nf one] R IH]; intros a b i e; [exact e|].
  cbn [run]. apply IH. unfold apply, heads. rewrite !partial_none by auto. rewrite e. f_equal. apply one.
Qed.

Lemma alone_limited (m : model) (t : task) (c M s last : nat) (l : layer (activation m)) (rest : list (layer (activation m))) :
  stack m = l :: rest -> parts_fit l (tokens t) M -> crosses l c s -> Forall position_wise rest ->
  limited t c (M + s) (eq last) (~ solves m t).
Proof.
  intros shape (part_code & pb & pi) (state_code & sb & si) R A family first lt nd many apart solved.
  set (e := pred (tokens t)).
  set (sums := fun a => partial l e (embed m e last) (input m (first a)) 0 c).
  assert (isp : forall a, is_part l (tokens t) (sums a)).
  { intros a. exists e, (embed m e last), (input m (first a)), 0, c. split; [lia|reflexivity]. }
  set (message := fun a => state_code (state_after l (input m (first a)) c) + 2 ^ s * part_code (sums a)).
  destruct (pigeonhole message family (2 ^ (M + s))) as (a & b & ia & ib & ne & same); auto.
  { intros a _. unfold message. rewrite (Nat.add_comm M s), Nat.pow_add_r. apply digits_bound; auto. }
  apply two_digits in same as [es ep]; auto. pose proof (si _ _ es) as steps. apply pi in ep; auto.
  destruct (apart a b ia ib ne) as (r & er & aa & ab & differ). apply differ.
  apply solved in aa, ab. unfold answers, last_activation in aa, ab. fold e in aa, ab, er. rewrite shape in aa, ab. cbn [run] in aa, ab.
  assert (eq : apply l (input m (join c (first a) r)) e = apply l (input m (join c (first b) r)) e).
  { assert (low : forall x, (forall i, i < c -> input m (join c (first x) r) i = input m (first x) i))
      by (intros x i li; unfold input; now rewrite join_low).
    assert (at_e : forall x, input m (join c (first x) r) e = embed m e last)
      by (intros x; unfold input; rewrite join_high by (unfold e; lia); now rewrite <- er).
    apply apply_behind with (c := c); [unfold e; lia| | |].
    - intros j lj. unfold input. now rewrite !join_high by lia.
    - intros x. rewrite !(state_after_ext l _ _ c (low _)). apply steps.
    - rewrite at_e. rewrite (partial_ext l e _ (input m (join c (first a) r)) (input m (first a)) 0 c) by (intros; apply low; lia).
      rewrite (partial_ext l e _ (input m (join c (first b) r)) (input m (first b)) 0 c) by (intros; apply low; lia). exact ep. }
  rewrite (pointwise_run rest R _ _ e eq) in aa. congruence.
Qed.
