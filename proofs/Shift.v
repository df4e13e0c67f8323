(* One copy more of a token that has repeated long enough: everything behind it is moved by one position. *)
From Coq Require Import List Arith NArith ZArith Bool Lia.
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

(* Top-k: the new copy is not among the k, and keeps nobody out of them. *)
Lemma filter_of_map {A B} (g : A -> B) (P : B -> bool) l : filter P (map g l) = map g (filter (fun x => P (g x)) l).
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [map filter]. rewrite IH. now destruct (P (g x)). Qed.
Lemma selects_shift (l : layer X) k j p a a' : 1 <= k -> selects l k -> j + (k - 1) < p ->
  constant_in j p a -> inserted p a a' -> forall i, p <= i -> apply l a' (S i) = apply l a i.
Proof.
  intros pk (score & f & acts) lp con (low & at_p & high) i li. rewrite !acts, high by lia. f_equal.
  set (up := fun u => if u <? p then u else S u).
  assert (val : forall u, a' (up u) = a u).
  { intros u. unfold up. destruct (Nat.ltb_spec u p); [now apply low|now apply high]. }
  assert (ap : a' p = a j) by (rewrite at_p; apply con; lia).
  assert (old : seq 0 (S i) = seq 0 p ++ seq p (S i - p)) by (rewrite <- seq_app; f_equal; lia).
  assert (ups : map up (seq 0 (S i)) = seq 0 p ++ seq (S p) (S i - p)).
  { rewrite old, map_app. f_equal.
    - rewrite <- (map_id (seq 0 p)) at 2. apply map_ext_in. intros u iu. apply in_seq in iu. unfold up. destruct (Nat.ltb_spec u p); lia.
    - rewrite <- seq_shift. apply map_ext_in. intros u iu. apply in_seq in iu. unfold up. destruct (Nat.ltb_spec u p); lia. }
  assert (new : seq 0 (S (S i)) = seq 0 p ++ p :: seq (S p) (S i - p)).
  { change (p :: seq (S p) (S i - p)) with (seq p (S (S i - p))). rewrite <- seq_app. f_equal. lia. }
  assert (with_p : forall P : nat -> bool, length (filter P (seq 0 (S (S i)))) =
    length (filter (fun u => P (up u)) (seq 0 (S i))) + if P p then 1 else 0).
  { intros P. replace (length (filter (fun u => P (up u)) (seq 0 (S i)))) with (length (filter P (map up (seq 0 (S i)))))
      by (rewrite filter_of_map, map_length; reflexivity).
    rewrite new, ups, !filter_app, !app_length. cbn [filter]. destruct (P p); cbn [length]; lia. }
  assert (same : forall u t, beats score a' (S i) (up u) (up t) = beats score a i u t).
  { intros u t. unfold beats. rewrite !val, high by lia. do 2 f_equal. unfold up.
    destruct (Nat.ltb_spec u p), (Nat.ltb_spec t p), (Nat.ltb_spec u t); try reflexivity;
      (apply Nat.ltb_lt; lia) || (apply Nat.ltb_ge; lia). }
  assert (copy : forall u, j <= u < p -> a u = a j) by (intros; apply con; lia).
  unfold selected. set (P' := fun t => length (filter (fun u => beats score a' (S i) u t) (seq 0 (S (S i)))) <? k).
  assert (out_p : P' p = false).
  { apply Nat.ltb_ge. apply (count_at_least _ j); [lia|]. intros u lu. unfold beats.
    rewrite ap, (low u), (copy u) by lia. rewrite Z.ltb_irrefl, Z.eqb_refl. cbn [orb andb]. apply Nat.ltb_lt. lia. }
  assert (keep : forall t, P' (up t) = (length (filter (fun u => beats score a i u t) (seq 0 (S i))) <? k)).
  { intros t. unfold P'. rewrite with_p.
    rewrite (filter_ext (fun u => beats score a' (S i) (up u) (up t)) (fun u => beats score a i u t)) by (intros; apply same).
    destruct (beats score a' (S i) p (up t)) eqn:b; [|now rewrite Nat.add_0_r].
    assert (many : k <= length (filter (fun u => beats score a i u t) (seq 0 (S i)))).
    { apply (count_at_least _ j); [lia|]. intros u lu. unfold beats in *. rewrite ap, val, high in b by lia. rewrite (copy u) by lia.
      apply orb_true_iff in b as [b|b]; [now rewrite b|]. apply andb_true_iff in b as [b1 b2]. rewrite b1. cbn [andb].
      apply Nat.ltb_lt in b2. unfold up in b2. apply orb_true_iff. right. apply Nat.ltb_lt. destruct (Nat.ltb_spec t p); lia. }
    set (c := length _) in *. destruct (Nat.ltb_spec (c + 1) k), (Nat.ltb_spec c k); auto; lia. }
  transitivity (map a' (filter P' (map up (seq 0 (S i))))).
  - rewrite new, ups, !filter_app. cbn [filter]. now rewrite out_p.
  - rewrite filter_of_map, map_map. rewrite (filter_ext _ _ keep). apply map_ext. exact val.
Qed.

Definition moved (l : layer X) (j k : nat) := j <= k /\ rests l j k /\ forall p a a', k < p -> constant_in j p a -> inserted p a a' ->
  forall i, p <= i -> apply l a' (S i) = apply l a i.
Lemma kind_moved (l : layer X) k j : 1 <= j -> forgets k = true -> is_kind l k -> moved l j (N.to_nat (rest_of k (N.of_nat j))).
Proof.
  intros pj f ik. destruct (kind_rests l k j pj ik) as [r lj]. split; [exact lj|]. split; [exact r|].
  intros p a a' lp con ins. destruct k as [bits conv|width|k|E q s]; try discriminate; cbn [is_kind rest_of] in *; destruct ik as [pc sl].
  - apply (slides_shift l _ _ j p a a' pc sl); auto. lia.
  - apply (slides_shift l _ _ j p a a' pc sl); auto. lia.
  - apply (selects_shift l _ j p a a' pc sl); auto. lia.
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

(* Without softmax rest comes a fixed number of positions later. *)
Lemma rest_shifts ks j : forallb forgets ks = true -> (1 <= j)%N -> layer_rest ks j = (j + (layer_rest ks 1 - 1))%N /\ (1 <= layer_rest ks 1)%N.
Proof.
  intros f pj. unfold layer_rest. induction ks as [|k ks IH]; cbn [fold_right forallb] in *; [lia|].
  apply andb_true_iff in f as [fk fs]. specialize (IH fs). destruct k; try discriminate; cbn [rest_of] in *; lia.
Qed.
Lemma horizon_shifts kinds j : forallb (forallb forgets) kinds = true -> (1 <= j)%N ->
  (horizon_from kinds j = j + (horizon kinds - 1) /\ 1 <= horizon kinds)%N.
Proof.
  unfold horizon, horizon_from. revert j.
  assert (G : forall kinds j i, forallb (forallb forgets) kinds = true -> (1 <= i <= j)%N ->
    (fold_left (fun j ks => layer_rest ks j) kinds j = fold_left (fun j ks => layer_rest ks j) kinds i + (j - i) /\
     i <= fold_left (fun j ks => layer_rest ks j) kinds i)%N).
  { clear. intros ls. induction ls as [|ks ls IH]; intros j i f l; cbn [fold_left forallb] in *; [split; [clear -l; lia|apply N.le_refl]|].
    apply andb_true_iff in f as [fk fs]. destruct (rest_shifts ks j fk ltac:(lia)) as [ej _]. destruct (rest_shifts ks i fk ltac:(lia)) as [ei _].
    destruct (IH (layer_rest ks j) (layer_rest ks i) fs ltac:(lia)) as [e l']. rewrite e. lia. }
  intros j f pj. destruct (G kinds j 1%N f ltac:(lia)) as [e l]. rewrite e. lia.
Qed.

Lemma copies_are kinds j : forallb (forallb forgets) kinds = true -> (1 <= j)%N -> copies kinds j = horizon kinds.
Proof. intros f pj. unfold copies. destruct (horizon_shifts kinds j f pj) as [e l]. rewrite e. lia. Qed.

(* One copy more between tokens u and v. *)
Theorem one_more (m : model) (u v : list nat) (t : nat) kinds n :
  forallb (forallb forgets) kinds = true -> unplaced m -> Forall2 is_layer (stack m) kinds -> u <> [] ->
  N.to_nat (copies kinds (N.of_nat (length u))) <= n -> said m (u ++ repeat t (S n) ++ v) = said m (u ++ repeat t n ++ v).
Proof.
  intros f un all nu ln. assert (pu : 1 <= length u) by (destruct u; [contradiction|cbn [length]; lia]).
  set (w := u ++ repeat t n). set (p := length u + n).
  assert (lw : length w = p) by (unfold w, p; now rewrite app_length, repeat_length).
  assert (e : u ++ repeat t (S n) ++ v = w ++ t :: v).
  { unfold w. cbn [repeat]. rewrite <- app_assoc. f_equal. rewrite repeat_cons, <- app_assoc. reflexivity. }
  rewrite e, (app_assoc u). fold w. clear e.
  assert (at_t : forall i, length u <= i < p -> nth i w 0 = t).
  { intros i li. unfold w. rewrite app_nth2 by lia. rewrite nth_indep with (d' := t) by (rewrite repeat_length; unfold p in li; lia). apply nth_repeat. }
  assert (n1 : 1 <= n) by (unfold copies in ln; lia).
  assert (emb : forall l i, input m (prompt_of l) i = embed m 0 (nth i l 0)) by (intros; apply un).
  assert (ins : inserted p (input m (prompt_of (w ++ v))) (input m (prompt_of (w ++ t :: v)))).
  { repeat split.
    - intros i li. rewrite !emb, !app_nth1 by lia. reflexivity.
    - rewrite !emb. f_equal. rewrite app_nth2, lw, Nat.sub_diag by lia. rewrite app_nth1 by lia. cbn [nth]. symmetry. apply at_t. unfold p. lia.
    - intros i li. rewrite !emb. f_equal. rewrite !app_nth2 by lia. rewrite lw. now replace (S i - p) with (S (i - p)) by lia. }
  assert (con : constant_in (length u) p (input m (prompt_of (w ++ v)))).
  { intros i li. rewrite !emb. f_equal. rewrite !app_nth1 by lia. rewrite !at_t by lia. reflexivity. }
  assert (far : N.to_nat (fold_left (fun j ks => layer_rest ks j) kinds (N.of_nat (length u))) < p).
  { fold (horizon_from kinds (N.of_nat (length u))). unfold copies, p in *. lia. }
  destruct (stack_moved (stack m) kinds (length u) p _ _ pu all f far con ins) as (_ & at_p & high).
  unfold said, last_activation. f_equal. rewrite !app_length, lw. cbn [length].
  replace (pred (p + S (length v))) with (p + length v) by lia. destruct v as [|x v].
  - cbn [length]. rewrite !Nat.add_0_r. exact at_p.
  - cbn [length]. replace (p + S (length v)) with (S (p + length v)) by lia. rewrite high by lia. f_equal.
Qed.

(* Words u t^n v: among `turns` neighbours some two have different answers. *)
Lemma repeated_letter (letter : nat -> Prop) t n : letter t -> Forall letter (repeat t n).
Proof. intros lt. apply Forall_forall. intros z iz. now apply repeat_spec in iz as ->. Qed.
Theorem horizon_wrong (m : model) (a : automaton) (start t : nat) (letter : nat -> Prop) kinds (u v : list nat) (turns : nat) (letters : N) :
  tracking_impossible kinds (N.of_nat (length u)) (N.of_nat (length v)) (N.of_nat turns) letters = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> Forall letter u -> letter t -> Forall letter v -> turns_within a u t v turns ->
  ~ solved_up_to m a start letter (N.to_nat letters).
Proof.
  intros H un all lu lt lv turn solved. unfold tracking_impossible in H. apply andb_true_iff in H as [shape H]. apply N.leb_le in H.
  replace (1 + N.of_nat (length u))%N with (N.of_nat (length (start :: u))) in H by (cbn [length]; lia).
  set (c := copies kinds (N.of_nat (length (start :: u)))) in *.
  destruct (turn (N.to_nat c)) as (i & li & differ). set (n := N.to_nat c + i) in *.
  assert (c1 : 1 <= N.to_nat c) by (unfold c, copies; lia).
  assert (s : forall q, n <= q <= S n -> said m ((start :: u) ++ repeat t q ++ v) = inr (answer a (reach a (initial a) (u ++ repeat t q ++ v)))).
  { intros q lq. cbn [app]. apply solved.
    - apply Forall_app. split; [exact lu|]. apply Forall_app. split; [now apply repeated_letter|exact lv].
    - destruct q; [lia|]. cbn [repeat]. destruct u; discriminate.
    - rewrite !app_length, repeat_length. lia. }
  assert (e : said m ((start :: u) ++ repeat t (S n) ++ v) = said m ((start :: u) ++ repeat t n ++ v)).
  { apply orb_true_iff in shape as [none|f].
    - apply N.eqb_eq in none. destruct v; [|cbn [length] in none; lia]. rewrite !app_nil_r.
      apply same_answers with (kinds := kinds); auto; try discriminate; fold c; lia.
    - apply one_more with (kinds := kinds); auto; try discriminate. fold c. lia. }
  rewrite !s in e by lia. congruence.
Qed.
(* The same at one length, filled up by a letter e that changes nothing. *)
Theorem horizon_wrong_at (m : model) (a : automaton) (start t e : nat) (letter : nat -> Prop) kinds (u v : list nat) (turns : nat) (letters : N) :
  tracking_impossible_at kinds (N.of_nat (length u)) (N.of_nat (length v)) (N.of_nat turns) letters = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> Forall letter u -> letter t -> Forall letter v -> letter e ->
  (forall q, move a q e = q) -> turns_within a u t v turns -> ~ solved_at m a start letter (N.to_nat letters).
Proof.
  intros H un all lu lt lv le neutral turn solved. unfold tracking_impossible_at in H. apply andb_true_iff in H as [f H]. apply N.leb_le in H.
  rewrite copies_are in H by (auto; lia). set (c := horizon kinds) in *.
  destruct (turn (N.to_nat c)) as (i & li & differ). set (n := N.to_nat c + i) in *.
  set (k := N.to_nat letters - (length u + S n + length v)).
  assert (idle : forall q z, reach a q (repeat e z) = q).
  { intros q z. revert q. induction z as [|z IH]; intros q; [reflexivity|]. unfold reach in *. cbn [repeat fold_left]. now rewrite neutral. }
  assert (s : forall q z, length u + q + length v + z = N.to_nat letters ->
    said m ((start :: u) ++ repeat t q ++ v ++ repeat e z) = inr (answer a (reach a (initial a) (u ++ repeat t q ++ v)))).
  { intros q z lq. cbn [app]. rewrite solved.
    - rewrite !(app_assoc u), !(app_assoc (u ++ _)). rewrite (reach_app a _ _ (repeat e z)), idle. reflexivity.
    - repeat (apply Forall_app; split); auto; now apply repeated_letter.
    - rewrite !app_length, !repeat_length. lia. }
  pose proof (s (S n) k ltac:(unfold k; lia)) as s1. pose proof (s n (S k) ltac:(unfold k; lia)) as s2.
  rewrite (one_more m (start :: u) (v ++ repeat e k) t kinds n) in s1 by (auto; try discriminate; rewrite copies_are by (auto; cbn [length]; lia); unfold n, c; lia).
  assert (fill : said m ((start :: u) ++ repeat t n ++ v ++ repeat e (S k)) = said m ((start :: u) ++ repeat t n ++ v ++ repeat e k)).
  { rewrite !(app_assoc (start :: u)), !(app_assoc _ v). apply same_answers with (kinds := kinds); auto; try discriminate;
      rewrite copies_are by (auto; rewrite !app_length; cbn [length]; lia); unfold k, n, c in *; lia. }
  congruence.
Qed.

Lemma parity_turns : turns_within parity [] 1 [] 1.
Proof.
  intros n. exists 0. split; [lia|]. rewrite Nat.add_0_r. cbn [app]. rewrite !app_nil_r. cbn [repeat]. unfold reach at 2. cbn [fold_left].
  assert (neg : forall q, fold_left (move parity) (repeat 1 n) (negb q) = negb (fold_left (move parity) (repeat 1 n) q)).
  { induction n as [|n IH]; intros q; [reflexivity|]. cbn [repeat fold_left move parity Nat.eqb]. apply IH. }
  change (move parity (initial parity) 1) with (negb (initial parity)). rewrite neg. fold (reach parity (initial parity) (repeat 1 n)).
  destruct (reach parity (initial parity) (repeat 1 n)); simpl; congruence.
Qed.
Theorem no_parity_within (m : model) (start : nat) kinds (letters : N) :
  tracking_impossible kinds 0 0 1 letters = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  ~ solved_up_to m parity start (fun t => t < 2) (N.to_nat letters).
Proof.
  intros H un all. apply (horizon_wrong m parity start 1 (fun t => t < 2) kinds [] [] 1 letters); auto. apply parity_turns.
Qed.
Theorem no_parity_at (m : model) (start : nat) kinds (letters : N) :
  tracking_impossible_at kinds 0 0 1 letters = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  ~ solved_at m parity start (fun t => t < 2) (N.to_nat letters).
Proof.
  intros H un all. apply (horizon_wrong_at m parity start 1 0 (fun t => t < 2) kinds [] [] 1 letters); auto. apply parity_turns.
Qed.
