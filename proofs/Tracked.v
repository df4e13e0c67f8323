(* Tracked recall: copies of letter 1 behind the pairs, filled up by letter 0. *)
From Coq Require Import List Arith NArith Bool Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Model Tasks Steady Counts Rest Horizon Shift.
Import ListNotations.

Lemma map_middle (b a c : list nat) : map (prompt_of (a ++ b ++ c)) (seq (length a) (length b)) = b.
Proof.
  revert a. induction b as [|x b IH]; intros a; [reflexivity|]. cbn [length seq map]. f_equal.
  - unfold prompt_of. rewrite app_nth2, Nat.sub_diag by lia. reflexivity.
  - specialize (IH (a ++ [x])). rewrite <- app_assoc in IH. rewrite app_length in IH. cbn [length] in IH.
    rewrite Nat.add_1_r in IH. exact IH.
Qed.

Section Recall.
Variables (g : group) (n sigma : nat) (f : nat -> nat).
Hypothesis fits : forall x, f x < sigma.
Definition token (k v : nat) : nat := k * S sigma + v.
Lemma key_token k v : v <= sigma -> key sigma (token k v) = k.
Proof. intros lv. unfold key, token. rewrite Nat.div_add_l by lia. rewrite Nat.div_small by lia. lia. Qed.
Lemma value_token k v : v <= sigma -> value sigma (token k v) = v.
Proof. intros lv. unfold value, token. rewrite Nat.add_comm, Nat.mod_add by lia. apply Nat.mod_small. lia. Qed.

Definition pairs : list nat := map (fun i => token i (f i)) (seq 0 n).
Definition letters (j k : nat) : list nat := repeat (token 1 sigma) j ++ repeat (token 0 sigma) k.
Definition question (j k : nat) : list nat := pairs ++ letters j k ++ [token (letters_of g n) sigma].
Lemma pairs_length : length pairs = n.
Proof. unfold pairs. now rewrite map_length, seq_length. Qed.
Lemma letters_length j k : length (letters j k) = j + k.
Proof. unfold letters. now rewrite app_length, !repeat_length. Qed.
Lemma pair_at j k i : i < n -> prompt_of (question j k) i = token i (f i).
Proof.
  intros li. unfold prompt_of, question. rewrite app_nth1 by now rewrite pairs_length.
  unfold pairs. rewrite nth_indep with (d' := token 0 (f 0)) by now rewrite map_length, seq_length.
  rewrite (map_nth (fun i => token i (f i))), seq_nth; auto.
Qed.
Lemma letter_at j k i : i < j + k -> exists c, c < 2 /\ prompt_of (question j k) (n + i) = token c sigma.
Proof.
  intros li. assert (In (prompt_of (question j k) (n + i)) (letters j k)) as I.
  { rewrite <- (map_middle (letters j k) pairs [token (letters_of g n) sigma]). fold (question j k).
    apply in_map_iff. exists (n + i). split; auto. rewrite pairs_length, letters_length. apply in_seq. lia. }
  unfold letters in I. apply in_app_or in I as [I|I]; apply repeat_spec in I; [exists 1|exists 0]; split; auto.
Qed.
Lemma end_at j k : prompt_of (question j k) (n + (j + k)) = token (letters_of g n) sigma.
Proof.
  unfold prompt_of, question. rewrite app_nth2 by (rewrite pairs_length; lia). rewrite pairs_length.
  rewrite app_nth2 by (rewrite letters_length; lia). rewrite letters_length. now replace (n + (j + k) - n - (j + k)) with 0 by lia.
Qed.
Definition turned (j : nat) : nat := Nat.iter j (moves_mark g n 1) 0.
Lemma mark_is j k : mark g sigma n (j + k) (prompt_of (question j k)) = turned j.
Proof.
  unfold mark, question. rewrite <- pairs_length at 2. rewrite <- letters_length, map_middle. unfold letters. rewrite fold_left_app.
  assert (still : forall x, fold_left (fun x t => moves_mark g n (key sigma t) x) (repeat (token 0 sigma) k) x = x).
  { induction k as [|q IH]; intros x; [reflexivity|]. cbn [repeat fold_left]. rewrite key_token by lia. apply IH. }
  rewrite still. clear still. unfold turned. induction j as [|j IH]; [reflexivity|].
  cbn [repeat]. rewrite repeat_cons, fold_left_app. cbn [fold_left]. rewrite IH, key_token by lia. reflexivity.
Qed.
Hypothesis two : 2 <= letters_of g n.
Lemma asked j k : asks (tracked_recall g n sigma (j + k)) (prompt_of (question j k)).
Proof.
  cbn [asks tracked_recall]. repeat split.
  - rewrite pair_at, key_token by (auto; specialize (fits i); lia). exact H.
  - rewrite pair_at, value_token by (auto; specialize (fits i); lia). apply fits.
  - intros i i' li li'. rewrite !pair_at, !key_token by (auto; pose proof (fits i); pose proof (fits i'); lia). auto.
  - destruct (letter_at j k i H) as (c & lc & ->). rewrite key_token by lia. lia.
  - destruct (letter_at j k i H) as (c & lc & ->). now rewrite value_token by lia.
  - rewrite end_at. now rewrite key_token by lia.
  - rewrite end_at. now rewrite value_token by lia.
Qed.
Lemma replies j k : turned j < n -> reply (tracked_recall g n sigma (j + k)) (prompt_of (question j k)) = f (turned j).
Proof.
  intros lt. cbn [reply tracked_recall]. rewrite mark_is. unfold Tasks.place.
  destruct (find (fun i => key sigma (prompt_of (question j k) i) =? turned j) (seq 0 n)) as [i|] eqn:e.
  - apply find_some in e as [I e]. apply in_seq in I. apply Nat.eqb_eq in e.
    assert (fi : f i <= sigma) by (specialize (fits i); lia).
    rewrite pair_at in e by lia. rewrite key_token in e by exact fi. subst i. rewrite pair_at by exact lt. now rewrite value_token by exact fi.
  - exfalso. pose proof (find_none _ _ e (turned j) ltac:(apply in_seq; lia)) as no. cbv beta in no.
    rewrite pair_at, key_token, Nat.eqb_refl in no by (auto; specialize (fits (turned j)); lia). discriminate.
Qed.

Theorem lost (m : model) kinds (turns : nat) (w : N) :
  tracked_recall_impossible kinds (N.of_nat n) (N.of_nat turns) w = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  1 <= n -> (forall j, turned j < n) -> (forall j, exists i, i < turns /\ f (turned (j + i)) <> f (turned (S (j + i)))) ->
  ~ solves m (tracked_recall g n sigma (N.to_nat w)).
Proof.
  intros H un all n1 inside turn solved. unfold tracked_recall_impossible in H. apply andb_true_iff in H as [fo H]. apply N.leb_le in H.
  rewrite copies_are in H by (auto; lia). set (c := horizon kinds) in *.
  destruct (turn (N.to_nat c)) as (i & li & differ). set (j := N.to_nat c + i) in *. set (k := N.to_nat w - S j).
  assert (said_is : forall j k, j + k = N.to_nat w -> said m (question j k) = inr (f (turned j))).
  { intros q z e. rewrite <- (replies q z) by apply inside. rewrite e. unfold said.
    replace (length (question q z)) with (tokens (tracked_recall g n sigma (N.to_nat w))).
    - apply solved. rewrite <- e. apply asked.
    - cbn [tokens tracked_recall]. unfold question. rewrite !app_length, pairs_length, letters_length. cbn [length]. lia. }
  pose proof (said_is (S j) k ltac:(unfold k; lia)) as s1. pose proof (said_is j (S k) ltac:(unfold k; lia)) as s2.
  assert (np : pairs <> []) by (intros e; pose proof pairs_length as l; rewrite e in l; cbn [length] in l; lia).
  unfold question, letters in s1, s2. rewrite <- !app_assoc in s1, s2.
  rewrite (one_more m pairs _ (token 1 sigma) kinds j) in s1 by (auto; rewrite pairs_length, copies_are by (auto; lia); unfold j, c; lia).
  rewrite (app_assoc pairs) in s1, s2.
  rewrite (one_more m (pairs ++ repeat (token 1 sigma) j) _ (token 0 sigma) kinds k) in s2.
  - congruence.
  - exact fo.
  - exact un.
  - exact all.
  - intros e. apply app_eq_nil in e as [e _]. contradiction.
  - rewrite copies_are by (auto; rewrite app_length, pairs_length; lia). unfold k, j, c in *. lia.
Qed.
End Recall.

(* Letter 1 exchanges 0 and 1, or goes round [n]. *)
Lemma exchanged g n j : (g = Symmetric \/ g = Xor) -> turned g n j = if Nat.even j then 0 else 1.
Proof.
  intros G. unfold turned. induction j as [|j IH]; [reflexivity|]. cbn [Nat.iter nat_rect]. fold (Nat.iter j (moves_mark g n 1) 0).
  rewrite IH, Nat.even_succ, <- Nat.negb_even. destruct (Nat.even j); destruct G as [-> | ->]; reflexivity.
Qed.
Lemma round_the_cycle n j : 2 <= n -> turned Cyclic n j = j mod n.
Proof.
  intros n2. unfold turned. induction j as [|j IH]; [now rewrite Nat.mod_0_l by lia|]. cbn [Nat.iter nat_rect].
  fold (Nat.iter j (moves_mark Cyclic n 1) 0). rewrite IH. cbn [moves_mark].
  pose proof (Nat.mod_upper_bound j n ltac:(lia)) as b. pose proof (Nat.div_mod j n ltac:(lia)) as d.
  destruct (Nat.eqb_spec (j mod n + 1) n) as [e|ne].
  - apply (Nat.mod_unique (S j) n (S (j / n)) 0); [lia|]. rewrite Nat.mul_succ_r. lia.
  - apply (Nat.mod_unique (S j) n (j / n)); lia.
Qed.
Lemma even_nat n : Nat.even (N.to_nat n) = N.even n.
Proof.
  destruct (N.even n) eqn:e.
  - apply N.even_spec in e as [k ->]. apply Nat.even_spec. exists (N.to_nat k). lia.
  - assert (o : N.odd n = true) by (rewrite <- N.negb_even, e; reflexivity). apply N.odd_spec in o as [k ->].
    rewrite <- Nat.negb_odd. apply negb_false_iff, Nat.odd_spec. exists (N.to_nat k). lia.
Qed.
Theorem mark_lost (m : model) (g : group) kinds (n sigma w : N) :
  tracked_recall_impossible kinds n (match g with Cyclic => cycle_turns n sigma | _ => 1 end) w = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> (2 <= n)%N -> (2 <= sigma)%N ->
  ~ solves m (tracked_recall g (N.to_nat n) (N.to_nat sigma) (N.to_nat w)).
Proof.
  intros H un all n2 s2. rewrite <- (N2Nat.id n) in H at 1.
  assert (two : 2 <= letters_of g (N.to_nat n)).
  { destruct g; cbn [letters_of]; try lia. assert (1 <= Nat.log2 (N.to_nat n)); [|lia]. apply (Nat.log2_le_mono 2). lia. }
  assert (ex : g = Symmetric \/ g = Xor -> ~ solves m (tracked_recall g (N.to_nat n) (N.to_nat sigma) (N.to_nat w))).
  { intros G. assert (H' : tracked_recall_impossible kinds (N.of_nat (N.to_nat n)) (N.of_nat 1) w = true) by (destruct G as [-> | ->]; exact H).
    apply (lost g _ _ (fun x => if x =? 1 then 1 else 0)) with (kinds := kinds) (turns := 1); auto; try lia.
    - intros x. destruct (x =? 1); lia.
    - intros j. rewrite exchanged by exact G. destruct (Nat.even j); lia.
    - intros j. exists 0. split; [lia|]. rewrite Nat.add_0_r, !exchanged by exact G. rewrite Nat.even_succ, <- Nat.negb_even.
      destruct (Nat.even j); discriminate. }
  destruct g; auto. clear ex. set (N := N.to_nat n) in *. set (s := N.to_nat sigma) in *.
  assert (inside : forall j, turned Cyclic N j < N) by (intros j; rewrite round_the_cycle by lia; apply Nat.mod_upper_bound; lia).
  assert (next : forall j, (turned Cyclic N j = N - 1 /\ turned Cyclic N (S j) = 0) \/
                           (turned Cyclic N j < N - 1 /\ turned Cyclic N (S j) = S (turned Cyclic N j))).
  { intros j. specialize (inside j). change (turned Cyclic N (S j)) with (moves_mark Cyclic N 1 (turned Cyclic N j)). cbn [moves_mark].
    destruct (Nat.eqb_spec (turned Cyclic N j + 1) N); lia. }
  unfold cycle_turns in H. destruct ((3 <=? sigma)%N || N.even n) eqn:E.
  - (* 0, 1, 0, 1, .. round the cycle, and 2 at the end of an odd one *)
    apply (lost Cyclic N s (fun x => if (x =? N - 1) && negb (N.even n) then 2 else if Nat.even x then 0 else 1)) with (kinds := kinds) (turns := 1);
      auto; try lia.
    + intros x. destruct (N.even n).
      * rewrite andb_false_r. destruct (Nat.even x); lia.
      * rewrite orb_false_r in E. apply N.leb_le in E. destruct (x =? N - 1), (Nat.even x); cbn [andb negb]; lia.
    + intros j. exists 0. split; [lia|]. rewrite Nat.add_0_r. destruct (next j) as [[e ->]|[l ->]].
      * rewrite e, Nat.eqb_refl. destruct (Nat.eqb_spec 0 (N - 1)); [lia|]. cbn [andb Nat.even]. destruct (N.even n) eqn:ev; cbn [negb]; [|discriminate].
        rewrite <- even_nat in ev. fold N in ev. replace N with (S (N - 1)) in ev by lia. rewrite Nat.even_succ, <- Nat.negb_even in ev.
        destruct (Nat.even (N - 1)); discriminate.
      * set (x := turned Cyclic N j) in *. destruct (Nat.eqb_spec x (N - 1)); [lia|]. cbn [andb].
        destruct ((S x =? N - 1) && negb (N.even n)); [destruct (Nat.even x); discriminate|].
        rewrite Nat.even_succ, <- Nat.negb_even. destruct (Nat.even x); discriminate.
  - apply (lost Cyclic N s (fun x => if x =? 0 then 1 else 0)) with (kinds := kinds) (turns := N); auto; try lia.
    + intros x. destruct (x =? 0); lia.
    + assert (id : N.of_nat N = n) by apply N2Nat.id. rewrite id in *. exact H.
    + intros j. exists ((N - j mod N) mod N). split; [apply Nat.mod_upper_bound; lia|]. set (i := (N - j mod N) mod N).
      assert (z : turned Cyclic N (j + i) = 0).
      { rewrite round_the_cycle by lia. unfold i. rewrite Nat.add_mod_idemp_r by lia.
        pose proof (Nat.mod_upper_bound j N ltac:(lia)). pose proof (Nat.div_mod j N ltac:(lia)).
        replace (j + (N - j mod N)) with (S (j / N) * N) by (rewrite Nat.mul_succ_l; lia). apply Nat.mod_mul. lia. }
      destruct (next (j + i)) as [[e _]|[_ e]]; rewrite z in e; [lia|]. rewrite z, e. discriminate.
Qed.
