(* Automata solved at every length are aperiodic; recurrences that come to rest. *)
From Coq Require Import List Arith Lia Bool.
From Rung Require Import Model Counting Steady Aperiodic.
Import ListNotations.

Lemma reach_app a q u v : reach a q (u ++ v) = reach a (reach a q u) v.
Proof. apply fold_left_app. Qed.
Lemma reach_power a q w n : reach a q (power w n) = Nat.iter n (fun r => reach a r w) q.
Proof.
  revert q. induction n as [|n IH]; intros q; [reflexivity|]. cbn [power]. rewrite reach_app, IH.
  clear IH. induction n as [|n IH]; [reflexivity|]. rewrite !iter_succ in *. now rewrite IH.
Qed.
Lemma Forall_power P w n : Forall P w -> Forall P (power w n).
Proof. intros h. induction n as [|n IH]; cbn [power]; [constructor|]. now apply Forall_app. Qed.

Theorem aperiodic (m : model) (a : automaton) (start size : nat) (letter : nat -> Prop) :
  unplaced m -> Forall steady (stack m) -> solved_at_every_length m a start letter ->
  finite_places a size -> minimal a letter ->
  forall u w, Forall letter u -> Forall letter w -> exists N, forall n, N <= n ->
    reach a (initial a) (u ++ power w (S n)) = reach a (initial a) (u ++ power w n).
Proof.
  intros un st solved (code & bound & inj) min u w lu lw.
  set (q := fun n => reach a (initial a) (u ++ power w n)).
  assert (next : forall n, q (S n) = reach a (q n) w).
  { intros n. unfold q. rewrite !reach_app, !reach_power. reflexivity. }
  destruct (list_eq_dec Nat.eq_dec w []) as [ew|nw].
  { exists 0. intros n _. change (q (S n) = q n). rewrite next, ew. reflexivity. }
  destruct (pigeonhole (fun n => code (q n)) (seq 0 (S size)) size) as (i & j & ii & ij & ne & e).
  { apply seq_NoDup. } { intros; apply bound. } { rewrite seq_length. lia. }
  apply inj in e.
  assert (cyc : exists i lam, 0 < lam /\ q i = q (i + lam)).
  { destruct (le_lt_dec i j).
    - exists i, (j - i). split; [lia|]. now replace (i + (j - i)) with j by lia.
    - exists j, (i - j). split; [lia|]. now replace (j + (i - j)) with i by lia. }
  clear i j ii ij ne e. destruct cyc as (i & lam & pl & e).
  assert (shift : forall n, i <= n -> q n = q (n + lam)).
  { induction n as [|n IH]; intros le; [assert (i = 0) by lia; subst i; exact e|].
    destruct (Nat.eq_dec i (S n)) as [<-|]; [exact e|]. simpl Nat.add. rewrite !next, IH by lia. reflexivity. }
  assert (far : forall k n, i <= n -> q n = q (n + k * lam)).
  { induction k as [|k IH]; intros n le; [now rewrite Nat.add_0_r|].
    rewrite (IH n le), shift by lia. f_equal. lia. }
  exists i. intros n le. change (q (S n) = q n). apply min. intros v lv.
  destruct (answers_settle m (start :: u) w v un st) as (N & h).
  { exact nw. } { discriminate. }
  assert (ans : forall k, said m ((start :: u) ++ power w k ++ v) = inr (answer a (reach a (q k) v))).
  { intros k. change ((start :: u) ++ power w k ++ v) with (start :: (u ++ power w k ++ v)). rewrite solved.
    - unfold q. rewrite !reach_app. reflexivity.
    - apply Forall_app. split; auto. apply Forall_app. split; auto. now apply Forall_power. }
  rewrite (far N n le), (far N (S n)) by lia.
  assert (big : N <= n + N * lam) by nia.
  pose proof (h (n + N * lam) big) as h1. pose proof (h (S n + N * lam) ltac:(lia)) as h2.
  rewrite !ans in h1, h2. congruence.
Qed.

Theorem no_parity (m : model) (start : nat) : unplaced m -> Forall steady (stack m) ->
  ~ solved_at_every_length m parity start (fun t => t < 2).
Proof.
  intros un st solved.
  destruct (aperiodic m parity start 2 (fun t => t < 2) un st solved) with (u := @nil nat) (w := [1]) as (N & h).
  - exists (fun q : bool => if q then 1 else 0). split; [intros [|]; simpl; auto|intros [|] [|]; simpl; congruence].
  - intros q r same. specialize (same [] (Forall_nil _)). destruct q, r; simpl in same; congruence.
  - constructor.
  - repeat constructor.
  - specialize (h N (le_n N)). rewrite !app_nil_l, !reach_power in h. rewrite iter_succ in h.
    set (q := Nat.iter N _ _) in h. simpl in h. destruct q; discriminate.
Qed.

(* Monotone recurrences: every entry is moved by a non-decreasing map of a chain of B values. *)
Lemma iter_below B g h : (forall x, x < B -> g x < B) -> h < B -> forall k, Nat.iter k g h < B.
Proof. intros gb hb k. induction k as [|k IH]; auto. rewrite iter_succ. auto. Qed.
Lemma chain_rests B g h : (forall x y, x <= y -> g x <= g y) -> (forall x, x < B -> g x < B) -> h < B ->
  g (Nat.iter B g h) = Nat.iter B g h.
Proof.
  intros mono gb hb. pose proof (iter_below B g h gb hb) as low.
  assert (fixed : forall j k, j <= k -> g (Nat.iter j g h) = Nat.iter j g h -> g (Nat.iter k g h) = Nat.iter k g h).
  { intros j k le e. induction k as [|k IH]; [now replace j with 0 in e by lia|].
    destruct (Nat.eq_dec j (S k)) as [->|]; auto. rewrite iter_succ. now rewrite !IH by lia. }
  destruct (le_lt_dec h (g h)) as [up|down].
  - assert (inc : forall k, Nat.iter k g h <= g (Nat.iter k g h)).
    { induction k as [|k IH]; auto. rewrite iter_succ. now apply mono. }
    assert (H : forall k, (exists j, j <= k /\ g (Nat.iter j g h) = Nat.iter j g h) \/ h + k <= Nat.iter k g h).
    { induction k as [|k [(j & lj & e)|IH]].
      - right. simpl. lia.
      - left. exists j. auto.
      - destruct (Nat.eq_dec (g (Nat.iter k g h)) (Nat.iter k g h)) as [e|ne].
        + left. exists k. auto.
        + right. rewrite iter_succ. specialize (inc k). lia. }
    destruct (H B) as [(j & lj & e)|ge]; [now apply (fixed j)|]. specialize (low B). lia.
  - assert (dec : forall k, g (Nat.iter k g h) <= Nat.iter k g h).
    { induction k as [|k IH]; [simpl; lia|]. rewrite iter_succ. now apply mono. }
    assert (H : forall k, (exists j, j <= k /\ g (Nat.iter j g h) = Nat.iter j g h) \/ Nat.iter k g h + k <= h).
    { induction k as [|k [(j & lj & e)|IH]].
      - right. simpl. lia.
      - left. exists j. auto.
      - destruct (Nat.eq_dec (g (Nat.iter k g h)) (Nat.iter k g h)) as [e|ne].
        + left. exists k. auto.
        + right. rewrite iter_succ. specialize (dec k). lia. }
    destruct (H B) as [(j & lj & e)|ge]; [now apply (fixed j)|]. lia.
Qed.

Theorem monotone_rests_after {X} (l : layer X) (B : nat) (entry : nat -> state l -> nat) (moves : X -> nat -> nat -> nat) :
  (forall q r, (forall e, entry e q = entry e r) -> q = r) ->
  (forall e q, entry e q < B) ->
  (forall x e a b, a <= b -> moves x e a <= moves x e b) -> (forall x e a, a < B -> moves x e a < B) ->
  (forall x e q, entry e (step l 0 x q) = moves x e (entry e q)) ->
  forall xs q, along l xs (Nat.iter B (along l xs) q) = Nat.iter B (along l xs) q.
Proof.
  intros ext bound mono stay acts xs q. apply ext. intros e.
  set (g := fun h => fold_left (fun h x => moves x e h) xs h).
  assert (one : forall q, entry e (along l xs q) = g (entry e q)).
  { unfold along, g. clear -acts. induction xs as [|x xs IH]; intros q; simpl; auto. rewrite IH. f_equal. apply acts. }
  assert (many : forall k, entry e (Nat.iter k (along l xs) q) = Nat.iter k g (entry e q)).
  { induction k as [|k IH]; auto. rewrite !iter_succ, one, IH. reflexivity. }
  rewrite one, many. apply chain_rests; auto.
  - unfold g. clear -mono. induction xs as [|x xs IH]; intros a b le; simpl; auto.
  - unfold g. clear -stay. induction xs as [|x xs IH]; intros a lt; simpl; auto.
Qed.
