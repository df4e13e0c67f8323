(* The search of all lengths says what is so. *)
From Coq Require Import List Arith Bool Lia.
From Rung Require Import Model Cut Steady Rest.
Import ListNotations.

Section Search.
Context {node : Type} (same : node -> node -> bool) (next : node -> nat -> node) (right : node -> nat -> bool).
Variable letters : list nat.
Hypothesis same_spec : forall x y, same x y = true -> x = y.
Variable start : node.
Definition walk (w : list nat) : node := fold_left next w start.
Notation over := (Forall (fun t => In t letters)).
(* The answer at the end of a word is right. *)
Definition right_at (w : list nat) (t : nat) := right (walk w) t = true.

Lemma walk_next w t : walk (w ++ [t]) = next (walk w) t.
Proof. unfold walk. now rewrite fold_left_app. Qed.
Lemma fresh_covers cs seen w x : In (w, x) cs -> In x seen \/ In x (map snd (fresh same cs seen)).
Proof.
  revert seen. induction cs as [|(u, y) cs IH]; intros seen i; [destruct i|].
  cbn [fresh]. destruct (existsb (same y) seen) eqn:k.
  - destruct i as [e|i]; [|now apply IH]. injection e as -> ->. left.
    apply existsb_exists in k as (z & iz & ez). now rewrite (same_spec _ _ ez).
  - cbn [map snd]. destruct i as [e|i].
    + injection e as -> ->. right. now left.
    + destruct (IH (y :: seen) i) as [[->|h]|h]; [right; now left|now left|right; now right].
Qed.
Lemma fresh_from cs seen wx : In wx (fresh same cs seen) -> In wx cs.
Proof.
  revert seen. induction cs as [|(u, y) cs IH]; intros seen i; [destruct i|]. cbn [fresh] in i.
  destruct (existsb (same y) seen); [right; now apply (IH seen)|]. destruct i as [->|i]; [now left|right; now apply (IH (y :: seen))].
Qed.
Lemma wrong_edge_none f : wrong_edge right letters f = None -> forall w x t, In (w, x) f -> In t letters -> right x t = true.
Proof.
  induction f as [|(u, y) f IH]; intros e w x t i it; [destruct i|]. cbn [wrong_edge] in e.
  destruct (find _ letters) as [z|] eqn:fd; [discriminate|].
  destruct i as [q|i]; [|now apply (IH e w)]. injection q as -> ->.
  pose proof (find_none _ _ fd t it) as n. now apply negb_false_iff in n.
Qed.
Lemma wrong_edge_some f v : wrong_edge right letters f = Some v ->
  exists w x t, In (w, x) f /\ In t letters /\ right x t = false /\ v = w ++ [t].
Proof.
  induction f as [|(u, y) f IH]; intros e; [discriminate|]. cbn [wrong_edge] in e.
  destruct (find _ letters) as [z|] eqn:fd.
  - injection e as <-. apply find_some in fd as [iz n]. apply negb_true_iff in n. exists u, y, z. repeat split; auto. now left.
  - destruct (IH e) as (w & x & t & i & rest). exists w, x, t. split; [now right|exact rest].
Qed.

(* At depth d: `old` are the nodes whose edges have been compared. *)
Record invariant (d : nat) (old : list node) (frontier : list (list nat * node)) := Invariant {
  compared : forall x t, In x old -> In t letters -> right x t = true;
  closed : forall x t, In x old -> In t letters -> In (next x t) old \/ In (next x t) (map snd frontier);
  shorter : forall w, over w -> length w < d -> In (walk w) old;
  reached : forall w, over w -> length w = d -> In (walk w) old \/ In (walk w) (map snd frontier);
  words : forall w x, In (w, x) frontier -> over w /\ length w = d /\ x = walk w
}.
Lemma old_right d old f : invariant d old f -> forall w t, over (w ++ [t]) -> length w < d -> right_at w t.
Proof.
  intros I w t o lt. apply Forall_app in o as [ow ot]. inversion ot; subst. apply (compared _ _ _ I); auto. now apply (shorter _ _ _ I).
Qed.
Lemma next_invariant d old f : invariant d old f -> wrong_edge right letters f = None ->
  forall seen, (forall x, In x seen <-> In x old \/ In x (map snd f)) ->
  invariant (S d) seen (fresh same (edges next letters f) seen).
Proof.
  intros I ok seen es. pose proof (wrong_edge_none f ok) as fine.
  assert (cl : forall x t, In x seen -> In t letters -> In (next x t) seen \/ In (next x t) (map snd (fresh same (edges next letters f) seen))).
  { intros x t ix it. apply es in ix as [ix|ix].
    - left. apply es. now apply (closed _ _ _ I).
    - apply in_map_iff in ix as ((w, y) & e & iw). simpl in e. subst y.
      apply (fresh_covers _ _ (w ++ [t])). unfold edges. apply in_flat_map. exists (w, x). split; auto.
      apply in_map_iff. exists t. auto. }
  assert (upto : forall w, over w -> length w <= d -> In (walk w) seen).
  { intros w o lw. apply es. destruct (Nat.eq_dec (length w) d); [now apply (reached _ _ _ I)|left; apply (shorter _ _ _ I); auto; lia]. }
  split; auto.
  - intros x t ix it. apply es in ix as [ix|ix]; [now apply (compared _ _ _ I)|].
    apply in_map_iff in ix as ((w, y) & e & iw). simpl in e. subst y. now apply (fine w).
  - intros w o lw. apply upto; auto. lia.
  - intros w o lw. destruct w as [|z w'] using rev_ind; [discriminate|]. rewrite app_length in lw. simpl in lw.
    apply Forall_app in o as [ow ot]. inversion ot; subst. rewrite walk_next. apply cl; auto. apply upto; auto. lia.
  - intros w x i. apply fresh_from in i. unfold edges in i. apply in_flat_map in i as ((u, y) & iu & i).
    apply in_map_iff in i as (t & e & it). injection e as <- <-. destruct (words _ _ _ I u y iu) as (ou & lu & ->).
    simpl. repeat split; [apply Forall_app; auto|rewrite app_length; simpl; lia|now rewrite walk_next].
Qed.

Lemma explore_sound levels : forall d old seen f, invariant d old f -> (forall x, In x seen <-> In x old \/ In x (map snd f)) ->
  match explore same next right letters levels seen f with
  | Exhausted => forall w t, over (w ++ [t]) -> right_at w t
  | Stopped => forall w t, over (w ++ [t]) -> length w < d + levels -> right_at w t
  | Wrong v => (forall w t, over (w ++ [t]) -> length (w ++ [t]) < length v -> right_at w t) /\
               exists w t, v = w ++ [t] /\ over v /\ ~ right_at w t
  end.
Proof.
  induction levels as [|k IH]; intros d old seen f I es; destruct f as [|wx f]; cbn [explore].
  1, 3: (assert (all : forall w, over w -> In (walk w) old);
    [induction w as [|z w IHw] using rev_ind; intros o;
      [destruct d as [|d]; [destruct (reached _ _ _ I [] o eq_refl) as [h|[]]; exact h|apply (shorter _ _ _ I); auto; simpl; lia]
      |apply Forall_app in o as [ow oz]; inversion oz; subst; rewrite walk_next;
       destruct (closed _ _ _ I (walk w) z (IHw ow) H1) as [h|[]]; exact h]
    |intros w t o; apply Forall_app in o as [ow ot]; inversion ot; subst; apply (compared _ _ _ I); auto]).
  - intros w t o lt. apply (old_right _ _ _ I); auto. lia.
  - destruct (wrong_edge right letters (wx :: f)) as [v|] eqn:we.
    + apply wrong_edge_some in we as (w & x & t & i & it & r & ->). destruct (words _ _ _ I w x i) as (ow & lw & ->). split.
      * intros u s o lt. apply (old_right _ _ _ I); auto. rewrite !app_length in lt. simpl in lt. lia.
      * exists w, t. repeat split; [apply Forall_app; auto|]. unfold right_at. rewrite r. discriminate.
    + pose proof (next_invariant d old (wx :: f) I we seen es) as I'.
      set (new := fresh same (edges next letters (wx :: f)) seen) in *.
      specialize (IH (S d) seen (map snd new ++ seen) new I').
      assert (e : forall x, In x (map snd new ++ seen) <-> In x seen \/ In x (map snd new)) by (intros x; rewrite in_app_iff; tauto).
      specialize (IH e). replace (d + S k) with (S d + k) by lia. exact IH.
Qed.
Theorem search_sound levels :
  match explore same next right letters levels [start] [([], start)] with
  | Exhausted => forall w t, over (w ++ [t]) -> right_at w t
  | Stopped => forall w t, over (w ++ [t]) -> length w < levels -> right_at w t
  | Wrong v => (forall w t, over (w ++ [t]) -> length (w ++ [t]) < length v -> right_at w t) /\
               exists w t, v = w ++ [t] /\ over v /\ ~ right_at w t
  end.
Proof.
  apply (explore_sound levels 0 [] [start] [([], start)]).
  - split; simpl; try tauto; try lia.
    + intros w _ lw. destruct w; [auto|discriminate].
    + intros w x [e|[]]. injection e as <- <-. auto.
  - intros x. simpl. tauto.
Qed.
End Search.

(* A recurrent stack without positions is stepped through. *)
Section Stack.
Context {X : Type}.
Definition stepped (l : layer X) := position_free l /\ no_full_heads l.
Fixpoint states_after (ls : list (layer X)) (a : nat -> X) (n : nat) : states ls :=
  match n with 0 => initial_states ls | S k => fst (steps ls (a k) (states_after ls a k)) end.
Lemma apply_steps (l : layer X) a i : stepped l ->
  apply l a i = out l 0 (a i) (step l 0 (a i) (state_after l a i)) (round l (none l)).
Proof.
  intros [(fs & _ & fo) nf]. unfold apply, heads. rewrite partial_none by auto. rewrite fo. cbn [state_after]. now rewrite fs.
Qed.
Lemma states_after_cons (l : layer X) ls a n : stepped l ->
  states_after (l :: ls) a n = (state_after l a n, states_after ls (apply l a) n).
Proof.
  intros st. induction n as [|n IH]; [reflexivity|]. cbn [states_after]. rewrite IH. cbn [steps fst snd].
  destruct st as [(fs & ft & fo) nf]. rewrite <- apply_steps by (split; [repeat split; auto|exact nf]).
  destruct (steps ls (apply l a n) (states_after ls (apply l a) n)) as [r y]. cbn [fst state_after]. now rewrite (fs n).
Qed.
Lemma run_steps (ls : list (layer X)) a i : Forall stepped ls -> run ls a i = snd (steps ls (a i) (states_after ls a i)).
Proof.
  intros all. revert a. induction all as [|l ls st all IH]; intros a; [reflexivity|].
  cbn [run]. rewrite IH, states_after_cons by auto. cbn [steps fst snd]. rewrite <- apply_steps by auto.
  now destruct (steps ls (apply l a i) (states_after ls (apply l a) i)).
Qed.
Lemma states_after_ext (ls : list (layer X)) a b n : (forall i, i < n -> a i = b i) -> states_after ls a n = states_after ls b n.
Proof. induction n as [|n IH]; intros H; [reflexivity|]. cbn [states_after]. rewrite IH, H; auto. Qed.
End Stack.

Section Graph.
Variables (m : model) (a : automaton) (start : nat) (letters : list nat).
Hypothesis free : unplaced m.
Hypothesis all : Forall stepped (stack m).

Lemma graph_walk word : walk (graph_next m a) (graph_start m a start) word =
  (states_after (stack m) (input m (prompt_of (start :: word))) (S (length word)), reach a (initial a) word).
Proof.
  induction word as [|t word IH] using rev_ind; [reflexivity|].
  rewrite walk_next, IH. unfold graph_next. cbn [fst snd]. rewrite app_length, Nat.add_1_r. cbn [states_after].
  unfold reach. rewrite fold_left_app. cbn [fold_left]. f_equal. f_equal. f_equal.
  - unfold input, prompt_of. cbn [nth]. rewrite app_nth2, Nat.sub_diag by lia. cbn [nth]. apply free.
  - apply (states_after_ext (stack m) _ _ (S (length word))). intros i li. unfold input, prompt_of. f_equal.
    destruct i as [|i]; [reflexivity|]. cbn [nth]. now rewrite app_nth1 by lia.
Qed.
Lemma graph_says word t : said m (start :: word ++ [t]) =
  says m (snd (steps (stack m) (embed m 0 t) (states_after (stack m) (input m (prompt_of (start :: word))) (S (length word))))).
Proof.
  unfold said, last_activation. f_equal. cbn [length pred]. rewrite app_length, Nat.add_1_r, run_steps by auto.
  f_equal. f_equal.
  - unfold input, prompt_of. cbn [nth]. rewrite app_nth2, Nat.sub_diag by lia. cbn [nth]. apply free.
  - apply states_after_ext. intros i li. unfold input, prompt_of. f_equal.
    destruct i as [|i]; [reflexivity|]. cbn [nth]. now rewrite app_nth1 by lia.
Qed.
Lemma graph_right_is word t : right_at (graph_next m a) (graph_right m a) (graph_start m a start) word t <->
  said m (start :: word ++ [t]) = inr (answer a (reach a (initial a) (word ++ [t]))).
Proof.
  unfold right_at. rewrite graph_walk, graph_says. unfold graph_right. cbn [fst snd].
  unfold reach at 2. rewrite fold_left_app. cbn [fold_left]. fold (reach a (initial a) word).
  destruct (says m _) as [u|y]; [split; discriminate|]. rewrite Nat.eqb_eq. split; [intros ->; reflexivity|congruence].
Qed.
End Graph.

Theorem search_of_all_lengths (m : model) (a : automaton) (start : nat) (letters : list nat)
    (same : graph_node m a -> graph_node m a -> bool) (levels : nat) :
  unplaced m -> Forall stepped (stack m) -> (forall x y, same x y = true -> x = y) ->
  let over := Forall (fun t => In t letters) in
  let right word := said m (start :: word) = inr (answer a (reach a (initial a) word)) in
  match search m a start letters same levels with
  | Exhausted => forall word, over word -> word <> [] -> right word
  | Stopped => forall word, over word -> word <> [] -> length word <= levels -> right word
  | Wrong word => over word /\ ~ right word /\
                  forall shorter, over shorter -> shorter <> [] -> length shorter < length word -> right shorter
  end.
Proof.
  intros free all spec over right. pose proof (search_sound same (graph_next m a) (graph_right m a) letters spec (graph_start m a start) levels) as H.
  unfold search. destruct (explore _ _ _ _ _ _ _) as [| |v].
  - intros word o ne. destruct word as [|t word _] using rev_ind; [contradiction|]. apply graph_right_is; auto.
  - intros word o ne le. destruct word as [|t word _] using rev_ind; [contradiction|]. apply graph_right_is; auto.
    apply H; auto. rewrite app_length in le. simpl in le. lia.
  - destruct H as [shorter (w & t & -> & o & wrong)]. split; [exact o|]. split.
    + intros r. apply wrong. now apply graph_right_is.
    + intros word ow ne lt. destruct word as [|z word _] using rev_ind; [contradiction|]. apply graph_right_is; auto.
Qed.
