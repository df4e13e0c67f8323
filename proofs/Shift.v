(* One copy more of a token that has repeated long enough: everything behind it is moved by one position. *)
From Coq Require Import List Arith NArith Bool Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Model Cut Steady Aperiodic Automata Counts Rest Horizon.
Import ListNotations.

Section Layers.
Context {X : Type}.
(* a' is a with one more copy of a (p - 1) at p. *)
Definition inserted (p : nat) (a a' : nat -> X) :=
  (forall i, i < p -> a' i = a i) /\ a' p = a (pred p) /\ (forall i, p <= i -> a' (S i) = a i).
Definition constant_in (j p : nat) (a : nat -> X) := forall i, j <= i < p -> a i = a j.
Definition held (j p : nat) (a : nat -> X) (i : nat) : X := if i <? p then a i else a j.
Lemma held_low j p a i : i < p -> held j p a i = a i.
Proof. intros. unfold held. destruct (Nat.ltb_spec i p); [reflexivity|lia]. Qed.
Lemma held_constant j p a : constant_in j p a -> j < p -> constant_from j (held j p a).
Proof.
  intros con lj i li. rewrite (held_low j p a j) by lia. unfold held. destruct (Nat.ltb_spec i p); auto.
Qed.
(* Below and at p any layer that rests does so. *)
Lemma rests_until (l : layer X) j k p a a' : rests l j k -> j <= k < p -> constant_in j p a -> inserted p a a' ->
  constant_in k p (apply l a) /\ (forall i, i < p -> apply l a' i = apply l a i) /\ apply l a' p = apply l a (pred p).
Proof.
  intros rest lk con (low & at_p & _). set (b := held j p a).
  assert (cb : constant_from k (apply l b)) by (apply rest, held_constant; auto; lia).
  assert (ab : forall i, i < p -> apply l a i = apply l b i).
  { intros i li. apply apply_ext. intros u lu. symmetry. apply held_low. lia. }
  repeat split.
  - intros i li. rewrite !ab by lia. apply cb. lia.
  - intros i li. apply apply_ext. intros u lu. apply low. lia.
  - rewrite (ab (pred p)) by lia. rewrite (cb (pred p)) by lia. rewrite <- (cb p) by lia. apply apply_ext. intros u lu.
    destruct (Nat.eq_dec u p) as [->|].
    + rewrite at_p. unfold b, held. rewrite Nat.ltb_irrefl. apply con. lia.
    + unfold b. rewrite held_low by lia. apply low. lia.
Qed.
Lemma slides_shift (l : layer X) B c j p a a' : 1 <= c -> slides l B c -> j + (c - 1) + (B - 2) < p ->
  constant_in j p a -> inserted p a a' -> forall i, p <= i -> apply l a' (S i) = apply l a i.
Proof.
  intros pc (entry & moves & bound & mono & acts & reads) lp con (low & at_p & high).
  set (b := held j p a). assert (cb : constant_from j b) by (apply held_constant; auto; lia).
  assert (rc : forall i, p <= i -> recent c a' (S i) = recent c a i).
  { intros i li. unfold recent. replace (S (S i) - c) with (S (S i - c)) by lia. rewrite <- seq_shift, map_map.
    apply map_ext_in. intros k ik. apply in_seq in ik. destruct (le_lt_dec p k) as [ge|lt]; [now apply high|].
    rewrite (con k) by lia. destruct (Nat.eq_dec (S k) p) as [e|].
    - rewrite e, at_p. apply con. lia.
    - rewrite low by lia. apply con. lia. }
  assert (en : forall e i, p <= i -> entry e (state_after l a' (S i)) = entry e (state_after l a i)).
  { intros e i li. induction li as [|i li IH].
    - assert (e1 : state_after l a' (S p) = state_after l b (S p)).
      { apply state_after_ext. intros u lu. destruct (Nat.eq_dec u p) as [->|].
        - rewrite at_p. unfold b, held. rewrite Nat.ltb_irrefl. apply con. lia.
        - unfold b. rewrite held_low by lia. apply low. lia. }
      assert (e2 : state_after l a p = state_after l b p).
      { apply state_after_ext. intros u lu. symmetry. apply held_low. lia. }
      rewrite e1, e2. replace p with (S (pred p)) at 2 by lia.
      set (k := j + (c - 1)). set (g := moves (repeat (b j) c) e). set (h := entry e (state_after l b k)).
      assert (it : forall d, entry e (state_after l b (k + d)) = Nat.iter d g h).
      { induction d as [|d IHd]; [now rewrite Nat.add_0_r|]. rewrite Nat.add_succ_r, acts by (unfold k; lia).
        rewrite (recent_constant c b j) by (auto; unfold k; lia). rewrite IHd, iter_succ. reflexivity. }
      assert (fx : forall d, B - 1 <= d -> g (Nat.iter d g h) = Nat.iter d g h).
      { apply chain_rests_before; [intros; now apply mono|]. intros d. rewrite <- it. apply bound. }
      replace (S p) with (k + S (p - k)) by (unfold k; lia). replace (S (pred p)) with (k + (p - k)) by (unfold k; lia).
      rewrite !it, iter_succ. apply fx. unfold k. lia.
    - rewrite (acts a' (S i)), (acts a i) by lia. now rewrite rc, IH by lia. }
  intros i li. apply reads; try lia; [now apply rc|]. intros e. apply en. lia.
Qed.

Definition moved (l : layer X) (j k : nat) := j <= k /\ rests l j k /\ forall p a a', k < p -> constant_in j p a -> inserted p a a' ->
  forall i, p <= i -> apply l a' (S i) = apply l a i.
Lemma kind_moved (l : layer X) k j : 1 <= j -> forgets k = true -> is_kind l k -> moved l j (N.to_nat (rest_of k (N.of_nat j))).
Proof.
  intros pj f ik. destruct (kind_rests l k j pj ik) as [r lj]. split; [exact lj|]. split; [exact r|].
  intros p a a' lp con ins. destruct k as [bits conv|width|k|E q s]; try discriminate; cbn [is_kind rest_of] in *; destruct ik as [pc sl].
  - apply (slides_shift l _ _ j p a a' pc sl); auto. lia.
  - apply (slides_shift l _ _ j p a a' pc sl); auto. lia.
Qed.
Lemma layer_moved (l : layer X) ks j : 1 <= j -> forallb forgets ks = true -> is_layer l ks ->
  moved l j (N.to_nat (layer_rest ks (N.of_nat j))).
Proof.
  intros pj f il. destruct (layer_rests l ks j pj il) as [r lj]. split; [exact lj|]. split; [exact r|]. clear r.
  induction il as [l g pt|l r b k ks kl rl IH (join & acts)].
  - intros p a a' _ _ (_ & _ & high) i li. rewrite !pt. now rewrite high.
  - cbn [forallb] in f. apply andb_true_iff in f as [fk fs]. intros p a a' lp con ins i li. rewrite !acts.
    destruct (kind_moved l k j pj fk kl) as (_ & _ & mk). destruct (layer_rests r ks j pj rl) as [_ lr].
    unfold layer_rest in *. cbn [fold_right] in lp.
    rewrite (mk p a a') by (auto; lia). rewrite (IH fs lr p a a') by (auto; lia).
    destruct ins as (_ & _ & high). now rewrite high.
Qed.
Lemma stack_moved (ls : list (layer X)) kinds j p a a' : 1 <= j -> Forall2 is_layer ls kinds -> forallb (forallb forgets) kinds = true ->
  N.to_nat (fold_left (fun j ks => layer_rest ks j) kinds (N.of_nat j)) < p -> constant_in j p a -> inserted p a a' ->
  inserted p (run ls a) (run ls a').
Proof.
  intros pj all. revert j a a' pj. induction all as [|l ks ls kinds one all IH]; intros j a a' pj f lp con ins; [exact ins|].
  cbn [forallb fold_left run] in *. apply andb_true_iff in f as [fk fs]. destruct (layer_moved l ks j pj fk one) as (lj & r & mv).
  set (k := layer_rest ks (N.of_nat j)) in *.
  assert (up : forall kinds j, (j <= fold_left (fun j ks => layer_rest ks j) kinds j)%N).
  { clear. induction kinds as [|k kinds IH]; intros j; cbn [fold_left]; [lia|]. specialize (IH (layer_rest k j)).
    assert (j <= layer_rest k j)%N; [|lia]. unfold layer_rest. clear IH. induction k as [|q k IH]; cbn [fold_right]; lia. }
  specialize (up kinds k). rewrite <- (N2Nat.id k) in lp. assert (kp : N.to_nat k < p) by (rewrite N2Nat.id in lp; lia).
  destruct (rests_until l j (N.to_nat k) p a a' r ltac:(lia) con ins) as (c1 & low & at_p).
  apply (IH (N.to_nat k)); auto; [lia|]. split; [exact low|]. split; [exact at_p|]. intros i li. now apply (mv p a a').
Qed.
End Layers.

(* Without softmax and selections rest comes a fixed number of positions later. *)
Lemma rest_shifts ks j : forallb forgets ks = true -> (1 <= j)%N -> layer_rest ks j = (j + (layer_rest ks 1 - 1))%N /\ (1 <= layer_rest ks 1)%N.
Proof.
  intros f pj. unfold layer_rest. induction ks as [|k ks IH]; cbn [fold_right forallb] in *; [lia|].
  apply andb_true_iff in f as [fk fs]. specialize (IH fs). destruct k; try discriminate; cbn [rest_of] in *; lia.
Qed.
Lemma horizon_shifts kinds j : forallb (forallb forgets) kinds = true -> (1 <= j)%N ->
  (fold_left (fun j ks => layer_rest ks j) kinds j = j + (horizon kinds - 1) /\ 1 <= horizon kinds)%N.
Proof.
  unfold horizon. revert j.
  assert (G : forall kinds j i, forallb (forallb forgets) kinds = true -> (1 <= i <= j)%N ->
    (fold_left (fun j ks => layer_rest ks j) kinds j = fold_left (fun j ks => layer_rest ks j) kinds i + (j - i) /\
     i <= fold_left (fun j ks => layer_rest ks j) kinds i)%N).
  { clear. intros ls. induction ls as [|ks ls IH]; intros j i f l; cbn [fold_left forallb] in *; [split; [clear -l; lia|apply N.le_refl]|].
    apply andb_true_iff in f as [fk fs]. destruct (rest_shifts ks j fk ltac:(lia)) as [ej _]. destruct (rest_shifts ks i fk ltac:(lia)) as [ei _].
    destruct (IH (layer_rest ks j) (layer_rest ks i) fs ltac:(lia)) as [e l']. rewrite e. lia. }
  intros j f pj. destruct (G kinds j 1%N f ltac:(lia)) as [e l]. rewrite e. lia.
Qed.

Theorem horizon_wrong_at (m : model) (a : automaton) (start t e : nat) (letter : nat -> Prop) kinds (n : nat) :
  forallb (forallb forgets) kinds = true -> unplaced m -> Forall2 is_layer (stack m) kinds -> letter t -> letter e ->
  (forall q, move a q e = q) -> 2 * N.to_nat (horizon kinds) + 1 <= n ->
  answer a (reach a (initial a) (repeat t (N.to_nat (horizon kinds)))) <> answer a (reach a (initial a) (repeat t (S (N.to_nat (horizon kinds))))) ->
  ~ solved_at m a start letter n.
Proof.
  intros f un all lt le neutral ln differ solved. set (j := N.to_nat (horizon kinds)) in *. set (k := n - j - 1).
  destruct (horizon_shifts kinds 1 f ltac:(lia)) as [_ h1].
  assert (over : forall u v, Forall letter (repeat t u ++ repeat e v)).
  { intros u v. apply Forall_app. split; apply Forall_forall; intros z iz; now apply repeat_spec in iz as ->. }
  assert (idle : forall q v, reach a q (repeat e v) = q).
  { intros q v. revert q. induction v as [|v IH]; intros q; [reflexivity|]. unfold reach in *. cbn [repeat fold_left]. now rewrite neutral. }
  pose proof (solved (repeat t (S j) ++ repeat e k) (over _ _) ltac:(rewrite app_length, !repeat_length; unfold k; lia)) as s1.
  pose proof (solved (repeat t j ++ repeat e (S k)) (over _ _) ltac:(rewrite app_length, !repeat_length; unfold k; lia)) as s2.
  rewrite reach_app, idle in s1. rewrite reach_app, idle in s2.
  set (word := fun u i => if i =? 0 then start else if i <=? u then t else e).
  assert (is : forall u v, said m (start :: repeat t u ++ repeat e v) = says m (run (stack m) (input m (word u)) (u + v))).
  { intros u v. unfold said, last_activation. f_equal. cbn [length pred]. rewrite app_length, !repeat_length. apply run_ext.
    intros i li. unfold input, prompt_of, word. f_equal. destruct i as [|i]; [reflexivity|]. cbn [nth Nat.eqb].
    destruct (Nat.leb_spec (S i) u).
    - rewrite app_nth1 by (rewrite repeat_length; lia). rewrite nth_indep with (d' := t) by (rewrite repeat_length; lia). apply nth_repeat.
    - rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
      rewrite nth_indep with (d' := e) by (rewrite repeat_length; lia). apply nth_repeat. }
  rewrite is in s1, s2.
  assert (emb : forall u i, input m (word u) i = embed m 0 (word u i)) by (intros; apply un).
  assert (ins : inserted (S j) (input m (word j)) (input m (word (S j)))).
  { repeat split.
    - intros i li. rewrite !emb. f_equal. unfold word. destruct (i =? 0); auto. destruct (Nat.leb_spec i (S j)), (Nat.leb_spec i j); auto; lia.
    - rewrite !emb. f_equal. unfold word. cbn [pred Nat.eqb]. destruct (Nat.eqb_spec j 0); [lia|]. now rewrite !Nat.leb_refl.
    - intros i li. rewrite !emb. f_equal. unfold word. cbn [Nat.eqb]. destruct (Nat.eqb_spec i 0); [lia|].
      destruct (Nat.leb_spec (S i) (S j)), (Nat.leb_spec i j); auto; lia. }
  assert (con : constant_in 1 (S j) (input m (word j))).
  { intros i li. rewrite !emb. f_equal. unfold word. destruct (Nat.eqb_spec i 0); [lia|]. cbn [Nat.eqb].
    destruct (Nat.leb_spec i j), (Nat.leb_spec 1 j); auto; lia. }
  pose proof (stack_moved (stack m) kinds 1 (S j) (input m (word j)) (input m (word (S j))) (le_n 1) all f) as mv. change (N.of_nat 1) with 1%N in mv.
  fold (horizon kinds) in mv. specialize (mv (Nat.lt_succ_diag_r _) con ins). destruct mv as (_ & _ & mv).
  assert (rest : constant_from (S j) (input m (word j))).
  { intros i li. rewrite !emb. f_equal. unfold word. destruct (Nat.eqb_spec i 0); [lia|]. cbn [Nat.eqb].
    destruct (Nat.leb_spec i j), (Nat.leb_spec (S j) j); auto; lia. }
  apply (stack_rests (stack m) kinds (S j)) in rest; auto; [|lia].
  destruct (horizon_shifts kinds (N.of_nat (S j)) f ltac:(lia)) as [e1 _]. rewrite e1 in rest. clear e1.
  replace (S j + k) with (S (j + k)) in s1 by lia. rewrite mv in s1 by (unfold k; lia).
  rewrite (rest (j + k)) in s1 by (unfold j, k in *; lia). rewrite (rest (j + S k)) in s2 by (unfold j, k in *; lia).
  congruence.
Qed.
Theorem no_parity_at (m : model) (start : nat) kinds (letters : N) :
  tracking_impossible_at kinds letters = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  ~ solved_at m parity start (fun t => t < 2) (N.to_nat letters).
Proof.
  intros H un all. unfold tracking_impossible_at in H. apply andb_true_iff in H as [f H]. apply N.leb_le in H.
  apply (horizon_wrong_at m parity start 1 0 (fun t => t < 2) kinds); auto; try lia. apply parity_turns.
Qed.
