(* The counts of classes: what later tokens can ask about a first part. *)
From Coq Require Import List Arith Lia Bool.
From Rung Require Import Model Counting Tasks Cut SeqComp Subsets.
Import ListNotations.

(* Tables: the first c of n entries are free, any of them may be asked for. *)
Lemma index_cut m n sigma c s :
  recurrent_at c (stack m) s -> 0 < c <= n -> 2 ^ s < sigma ^ c -> ~ solves_by_thought m (index_task n sigma).
Proof.
  intros R le big.
  assert (pos : 0 < sigma). { destruct sigma; [|lia]. rewrite Nat.pow_0_l in big; lia. }
  apply (cut_classes m (index_task n sigma) c s (tables c sigma) table); auto.
  - simpl. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - intros u w iu iw ne. destruct (tables_differ c sigma u w) as [x [lx d]]; auto.
    exists (fun i => if i <? n then 0 else x).
    assert (ok : forall v, In v (tables c sigma) ->
                 asks (index_task n sigma) (join c (table v) (fun i => if i <? n then 0 else x)) /\
                 reply (index_task n sigma) (join c (table v) (fun i => if i <? n then 0 else x)) = table v x).
    { intros v iv. simpl. unfold join.
      assert (last : (if n <? c then table v n else if n <? n then 0 else x) = x).
      { destruct (Nat.ltb_spec n c); [lia|]. destruct (Nat.ltb_spec n n); lia. }
      rewrite last. repeat split.
      - intros i li. destruct (Nat.ltb_spec i c); [eapply table_value; eauto|].
        destruct (Nat.ltb_spec i n); lia.
      - lia.
      - destruct (Nat.ltb_spec x c); auto; lia. }
    destruct (ok u iu) as [au ru], (ok w iw) as [aw rw]. rewrite ru, rw. auto.
Qed.

Lemma find_place n (matches : nat -> bool) i :
  i < n -> matches i = true -> (forall j, j < n -> matches j = true -> j = i) -> place n matches = i.
Proof.
  intros lt yes only. unfold place. destruct (find matches (seq 0 n)) eqn:e.
  - apply find_some in e as [ie e]. apply in_seq in ie. apply only; auto; lia.
  - assert (matches i = false) by (apply (find_none _ _ e), in_seq; lia). congruence.
Qed.

Lemma retrieval_cut m n K sigma s :
  recurrent_at n (stack m) s -> n <= K -> 2 ^ s < sigma ^ n -> 0 < n -> ~ solves_by_thought m (retrieval n K sigma).
Proof.
  intros R le big pn.
  assert (pos : 0 < sigma). { destruct sigma; [|lia]. rewrite Nat.pow_0_l in big; lia. }
  set (first := fun u i => i * S sigma + table u i).
  apply (cut_classes m (retrieval n K sigma) n s (tables n sigma) first); auto.
  - simpl. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - intros u w iu iw ne. destruct (tables_differ n sigma u w) as [x [lx d]]; auto.
    exists (fun _ => x * S sigma + sigma).
    assert (fields : forall a b, b < S sigma -> key sigma (a * S sigma + b) = a /\ value sigma (a * S sigma + b) = b).
    { intros a b lb. unfold key, value. split.
      - rewrite Nat.div_add_l, Nat.div_small; lia.
      - rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; lia. }
    assert (ok : forall v, In v (tables n sigma) ->
      asks (retrieval n K sigma) (join n (first v) (fun _ => x * S sigma + sigma)) /\
      reply (retrieval n K sigma) (join n (first v) (fun _ => x * S sigma + sigma)) = table v x).
    { intros v iv.
      assert (tv : forall i, table v i < S sigma) by (intros i; pose proof (table_value n sigma v i iv pos); lia).
      assert (low : forall i, i < n -> join n (first v) (fun _ => x * S sigma + sigma) i = i * S sigma + table v i).
      { intros; rewrite join_low; auto. }
      assert (high : join n (first v) (fun _ => x * S sigma + sigma) n = x * S sigma + sigma) by (now rewrite join_high).
      cbn [asks reply retrieval]. rewrite high. repeat split.
      - rewrite low by auto. destruct (fields i (table v i)); auto. lia.
      - rewrite low by auto. destruct (fields i (table v i)) as [_ ->]; auto. eapply table_value; eauto.
      - intros i j li lj. rewrite !low by auto.
        destruct (fields i (table v i)) as [-> _]; auto. destruct (fields j (table v j)) as [-> _]; auto.
      - destruct (fields x sigma); auto.
      - exists x. split; auto. rewrite low by auto.
        destruct (fields x (table v x)) as [-> _]; auto. destruct (fields x sigma) as [-> _]; auto.
      - rewrite (find_place n _ x); auto.
        + rewrite low by auto. destruct (fields x (table v x)); auto.
        + rewrite low by auto. apply Nat.eqb_eq.
          destruct (fields x (table v x)) as [-> _]; auto. destruct (fields x sigma) as [-> _]; auto.
        + intros j lj e. rewrite low in e by auto. apply Nat.eqb_eq in e.
          destruct (fields j (table v j)) as [q _]; auto. rewrite q in e.
          destruct (fields x sigma) as [q' _]; auto. congruence. }
    destruct (ok u iu) as [au ru], (ok w iw) as [aw rw]. rewrite ru, rw. auto.
Qed.

Lemma mqar_cut m n K sigma s :
  recurrent_at (2 * n) (stack m) s -> n <= K -> 2 ^ s < sigma ^ n -> 0 < n -> ~ solves_by_thought m (mqar n K sigma).
Proof.
  intros R le big pn.
  assert (pos : 0 < sigma). { destruct sigma; [|lia]. rewrite Nat.pow_0_l in big; lia. }
  set (first := fun u i => if Nat.even i then sigma + Nat.div2 i else table u (Nat.div2 i)).
  apply (cut_classes m (mqar n K sigma) (2 * n) s (tables n sigma) first); auto.
  - simpl. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - intros u w iu iw ne. destruct (tables_differ n sigma u w) as [x [lx d]]; auto.
    exists (fun _ => sigma + x).
    assert (ok : forall v, In v (tables n sigma) ->
      asks (mqar n K sigma) (join (2 * n) (first v) (fun _ => sigma + x)) /\
      reply (mqar n K sigma) (join (2 * n) (first v) (fun _ => sigma + x)) = table v x).
    { intros v iv.
      assert (ev : forall i, i < n -> join (2 * n) (first v) (fun _ => sigma + x) (2 * i) = sigma + i).
      { intros i li. rewrite join_low by lia. unfold first. rewrite Nat.even_mul, Nat.div2_double. auto. }
      assert (od : forall i, i < n -> join (2 * n) (first v) (fun _ => sigma + x) (2 * i + 1) = table v i).
      { intros i li. rewrite join_low by lia. unfold first. rewrite Nat.add_1_r, Nat.even_succ, Nat.odd_mul.
        now rewrite Nat.div2_succ_double. }
      assert (high : join (2 * n) (first v) (fun _ => sigma + x) (2 * n) = sigma + x) by (now rewrite join_high).
      cbn [asks reply mqar]. rewrite high. repeat split.
      - rewrite ev by auto. lia.
      - rewrite ev by auto. lia.
      - rewrite od by auto. eapply table_value; eauto.
      - intros i j li lj. rewrite !ev by auto. lia.
      - exists x. split; auto.
      - rewrite (find_place n _ x); auto.
        + rewrite ev by auto. apply Nat.eqb_refl.
        + intros j lj e. rewrite ev in e by auto. apply Nat.eqb_eq in e. lia. }
    destruct (ok u iu) as [au ru], (ok w iw) as [aw rw]. rewrite ru, rw. auto.
Qed.

(* Sets: a list u of values as first part, filled up with its first element. *)
Definition listed (u : list nat) (i : nat) : nat := nth i u (hd 0 u).
Lemma listed_in u i : u <> [] -> In (listed u i) u.
Proof.
  intros ne. unfold listed. destruct u as [|a u]; [congruence|].
  destruct (nth_in_or_default i (a :: u) a) as [j|e]; [exact j|]. simpl hd. rewrite e. simpl. auto.
Qed.
Lemma in_listed u v c : In v u -> length u <= c -> exists i, i < c /\ listed u i = v.
Proof.
  intros i le. apply (In_nth u v (hd 0 u)) in i as [k [lk e]]. exists k. split; [lia|auto].
Qed.

(* Two different sets of a family: some value lies in the one and not in the other. *)
Lemma sets_differ from len l u w :
  NoDup l -> In u (subsets from len l) -> In w (subsets from len l) -> u <> w ->
  exists v : nat, (In v u /\ ~ In v w) \/ (In v w /\ ~ In v u).
Proof.
  intros nd iu iw ne. apply in_subsets in iu as (j & _ & iu). apply in_subsets in iw as (k & _ & iw).
  destruct (in_dec Nat.eq_dec 0 []) as [[]|_].
  assert (H : forall a b : list nat, (forall v, In v a -> In v b) \/ exists v, In v a /\ ~ In v b).
  { clear. induction a as [|x a IH]; intros b; [left; simpl; tauto|].
    destruct (in_dec Nat.eq_dec x b) as [i|i]; [|right; exists x; simpl; auto].
    destruct (IH b) as [s|(v & iv & nv)]; [left; intros v [<-|]; auto|right; exists v; simpl; auto]. }
  destruct (H u w) as [s1|(v & iv & nv)]; [|exists v; auto].
  destruct (H w u) as [s2|(v & iv & nv)]; [|exists v; auto].
  exfalso. apply ne. eapply choose_unique; eauto. intros; split; auto.
Qed.

(* A family of sets against a task in which `rest v` asks whether v was seen. *)
Lemma sets_cut t c s ends fails from len l (rest : nat -> nat -> nat) (polarity : bool -> nat) :
  limited t c s ends fails -> c < tokens t -> NoDup l -> 2 ^ s < binoms (length l) from len ->
  polarity true <> polarity false ->
  0 < from -> from + len <= S c -> (forall v, ends (rest v (pred (tokens t)))) ->
  (forall u v, In u (subsets from len l) -> In v l ->
     asks t (join c (listed u) (rest v)) /\
     reply t (join c (listed u) (rest v)) = polarity (existsb (Nat.eqb v) u)) ->
  fails.
Proof.
  intros R lt nd big pol fpos flen en ok.
  apply (R _ (subsets from len l) listed); auto.
  - now apply NoDup_subsets.
  - now rewrite subsets_length.
  - intros u w iu iw ne. destruct (sets_differ from len l u w) as [v dv]; auto.
    assert (iv : In v l).
    { apply in_subsets in iu as (j & _ & iu). apply in_subsets in iw as (k & _ & iw).
      apply choose_incl in iu, iw. destruct dv as [[i _]|[i _]]; auto. }
    exists (rest v). destruct (ok u v iu iv) as [au ru], (ok w v iw iv) as [aw rw].
    rewrite ru, rw. split; [apply en|]. repeat split; auto.
    assert (yesno : forall x, In v x -> existsb (Nat.eqb v) x = true).
    { intros x ix. apply existsb_exists. exists v. split; auto. apply Nat.eqb_refl. }
    assert (noyes : forall x, ~ In v x -> existsb (Nat.eqb v) x = false).
    { intros x ix. destruct (existsb (Nat.eqb v) x) eqn:e; auto.
      apply existsb_exists in e as [y [iy e]]. apply Nat.eqb_eq in e. subst. contradiction. }
    destruct dv as [[i j]|[i j]]; rewrite (yesno _ i), (noyes _ j); congruence.
Qed.

Lemma sets_props from len (l : list nat) u c : 0 < from -> from + len <= S c ->
  In u (subsets from len l) -> u <> [] /\ length u <= c /\ incl u l.
Proof.
  intros p le i. apply in_subsets in i as (j & lj & i).
  pose proof (choose_size _ _ _ i). pose proof (choose_incl _ _ _ i).
  repeat split; auto; [|lia]. intros ->. simpl in *. lia.
Qed.

Lemma cancels M x v : x < M -> v < M -> ((x + (M - v) mod M) mod M =? 0) = (v =? x).
Proof.
  intros lx lv. destruct (Nat.eq_dec v 0) as [->|nz].
  - rewrite Nat.sub_0_r, Nat.mod_same, Nat.add_0_r, Nat.mod_small by lia. destruct x; auto.
  - rewrite (Nat.mod_small (M - v)) by lia. destruct (Nat.eq_dec v x) as [->|ne].
    + replace (x + (M - x)) with M by lia. rewrite Nat.mod_same by lia. now rewrite !Nat.eqb_refl.
    + destruct (Nat.eqb_spec v x); [lia|]. apply Nat.eqb_neq.
      destruct (le_lt_dec M (x + (M - v))).
      * replace (x + (M - v)) with (x - v + 1 * M) by lia. rewrite Nat.mod_add, Nat.mod_small; lia.
      * rewrite Nat.mod_small; lia.
Qed.

(* 2-Sum-last: the first c numbers form a set of values of l; numbers c .. n-1 are a filler outside l. *)
Lemma two_sum_cut m n M c s from len l filler :
  recurrent_at c (stack m) s -> 0 < c <= n -> NoDup l -> (forall v, In v l -> v < M) -> 2 ^ s < binoms (length l) from len ->
  0 < from -> from + len <= S c -> (c = n \/ (filler < M /\ ~ In filler l)) ->
  ~ solves_by_thought m (two_sum n M).
Proof.
  intros R le nd inl big fp fl fill.
  apply (sets_cut (two_sum n M) c s (fun _ => True) _ from len l (fun v i => if i <? n then filler else (M - v) mod M) yes); auto using recurrent_limited.
  - simpl. lia.
  - discriminate.
  - intros u v iu iv. destruct (sets_props from len l u c fp fl iu) as (ne & lu & inc).
    pose proof (inl v iv) as lv.
    set (p := join c (listed u) (fun i => if i <? n then filler else (M - v) mod M)).
    assert (pl : forall i, i < c -> p i = listed u i) by (intros; apply join_low; auto).
    assert (pm : forall i, c <= i < n -> p i = filler).
    { intros i li. unfold p. rewrite join_high by lia. destruct (Nat.ltb_spec i n); lia. }
    assert (pn : p n = (M - v) mod M).
    { unfold p. rewrite join_high by lia. destruct (Nat.ltb_spec n n); lia. }
    assert (small : forall i, i < n -> p i < M).
    { intros i li. destruct (le_lt_dec c i).
      - rewrite pm by lia. destruct fill as [->|[]]; auto; lia.
      - rewrite pl by auto. apply inl, inc, listed_in; auto. }
    split.
    + intros i li. destruct (Nat.eq_dec i n) as [->|]; [rewrite pn; apply Nat.mod_upper_bound; lia|].
      apply small. lia.
    + cbn [reply two_sum]. fold p. rewrite pn. f_equal. apply eq_true_iff_eq. rewrite !existsb_exists. split.
      * intros (j & ij & e). apply in_seq in ij. rewrite cancels in e by (auto; apply small; lia).
        apply Nat.eqb_eq in e. exists v. rewrite Nat.eqb_refl. split; auto. rewrite e.
        destruct (le_lt_dec c j).
        -- rewrite pm in e by lia. destruct fill as [|[lf nf]]; [lia|]. subst v. contradiction.
        -- rewrite pl by auto. apply listed_in; auto.
      * intros (x & ix & e). apply Nat.eqb_eq in e. subst x.
        destruct (in_listed u v c) as (j & lj & e); auto.
        exists j. split; [apply in_seq; lia|]. rewrite cancels by (auto; apply small; lia).
        rewrite pl, e by auto. apply Nat.eqb_refl.
Qed.

Lemma eq_yes (a b : bool) : (a = true <-> b = true) -> yes a = yes b.
Proof. intros H. f_equal. now apply eq_true_iff_eq. Qed.

Lemma two_sum_exists_cut m n M s :
  recurrent_at (n - 1) (stack m) s -> 2 <= n -> 2 ^ s < binoms ((M - 1) / 2) 1 (n - 1) ->
  ~ solves_by_thought m (two_sum_exists n M).
Proof.
  intros R le big. remember (n - 1) as c eqn:ec.
  assert (half : 2 * ((M - 1) / 2) <= M - 1) by (apply Nat.mul_div_le; lia).
  apply (sets_cut (two_sum_exists n M) c s (fun _ => True) _ 1 c (seq 1 ((M - 1) / 2)) (fun v _ => M - v) yes); auto using recurrent_limited.
  - simpl. lia.
  - apply seq_NoDup.
  - now rewrite seq_length.
  - discriminate.
  - intros u v iu iv. destruct (sets_props 1 c _ u c ltac:(lia) ltac:(lia) iu) as (ne & lu & inc).
    apply in_seq in iv. set (p := join c (listed u) (fun _ => M - v)).
    assert (pl : forall i, i < c -> 1 <= p i <= (M - 1) / 2 /\ In (p i) u).
    { intros i li. unfold p. rewrite join_low by auto. pose proof (listed_in u i ne) as il.
      split; auto. apply inc, in_seq in il. lia. }
    assert (pn : p c = M - v) by (unfold p; now rewrite join_high).
    assert (last : forall i, i < c -> ((p i + p c) mod M =? 0) = (v =? p i)).
    { intros i li. rewrite pn. rewrite <- (Nat.mod_small (M - v) M) by lia.
      apply cancels; [|lia]. destruct (pl i li). lia. }
    split.
    + intros i li. destruct (Nat.eq_dec i c) as [->|]; [rewrite pn; lia|]. destruct (pl i); lia.
    + cbn [reply two_sum_exists]. fold p. apply eq_yes. rewrite !existsb_exists. split.
      * intros (i & ii & e). apply existsb_exists in e as (j & ij & e). apply in_seq in ii, ij.
        apply andb_true_iff in e as [lij e]. apply Nat.ltb_lt in lij.
        destruct (Nat.eq_dec j c) as [->|].
        -- rewrite last in e by lia. apply Nat.eqb_eq in e. exists v. rewrite Nat.eqb_refl. split; auto.
           rewrite e. apply pl. lia.
        -- exfalso. apply Nat.eqb_eq in e.
           destruct (pl i ltac:(lia)) as [b1 _], (pl j ltac:(lia)) as [b2 _].
           rewrite Nat.mod_small in e; lia.
      * intros (x & ix & e). apply Nat.eqb_eq in e. subst x.
        destruct (in_listed u v c) as (j & lj & e); auto.
        exists j. split; [apply in_seq; lia|]. apply existsb_exists. exists c. split; [apply in_seq; lia|].
        rewrite last by auto. destruct (Nat.ltb_spec j c); [|lia]. simpl.
        unfold p. rewrite join_low, e by auto. apply Nat.eqb_refl.
Qed.

(* The integers strictly between M/6 and M/3. *)
Definition middle_values (M : nat) : list nat := seq (S (M / 6)) ((M - 1) / 3 - M / 6).
Lemma middle_values_spec M v : 0 < M -> In v (middle_values M) -> M < 6 * v /\ 3 * v < M.
Proof.
  intros p i. apply in_seq in i. pose proof (Nat.mul_succ_div_gt M 6 ltac:(lia)).
  pose proof (Nat.mul_div_le (M - 1) 3 ltac:(lia)). lia.
Qed.

Lemma three_sum_cut n M s fails :
  limited (three_sum n M) (n - 2) s (eq 0) fails -> 3 <= n -> 2 ^ s < binoms (length (middle_values M)) 1 (n - 2) ->
  fails.
Proof.
  intros R le big. remember (n - 2) as c eqn:ec.
  destruct (Nat.eq_dec M 0) as [->|nz].
  { exfalso. cbn [middle_values] in big. change (length (middle_values 0)) with 0 in big.
    assert (binoms 0 1 c = 0) as e.
    { unfold binoms. assert (H : forall k from, 0 < from -> list_sum (map (binom 0) (seq from k)) = 0).
      { induction k as [|k IH]; intros f pf; simpl; auto. destruct f; [lia|]. simpl. apply IH. lia. }
      apply H. lia. }
    rewrite e in big. lia. }
  apply (sets_cut (three_sum n M) c s (eq 0) _ 1 c (middle_values M) (fun v i => if i =? c then M - v else 0) yes); auto.
  - simpl. lia.
  - apply seq_NoDup.
  - discriminate.
  - intros v. cbn [tokens three_sum]. destruct (Nat.eqb_spec (pred n) c); [lia|reflexivity].
  - intros u v iu iv. destruct (sets_props 1 c _ u c ltac:(lia) ltac:(lia) iu) as (ne & lu & inc).
    apply middle_values_spec in iv; [|lia].
    set (p := join c (listed u) (fun i => if i =? c then M - v else 0)).
    assert (pl : forall i, i < c -> (M < 6 * p i /\ 3 * p i < M) /\ In (p i) u).
    { intros i li. unfold p. rewrite join_low by auto. pose proof (listed_in u i ne) as il.
      split; auto. apply inc in il. apply middle_values_spec in il; auto. lia. }
    assert (pb : p c = M - v) by (unfold p; rewrite join_high, Nat.eqb_refl; auto).
    assert (p0 : p (S c) = 0).
    { unfold p. rewrite join_high by lia. destruct (Nat.eqb_spec (S c) c); lia. }
    assert (last : forall i, i < c -> ((p i + p c) mod M =? 0) = (v =? p i)).
    { intros i li. rewrite pb. rewrite <- (Nat.mod_small (M - v) M) by lia.
      apply cancels; [|lia]. destruct (pl i li). lia. }
    assert (nonzero : forall a k, k * M < a < S k * M -> a mod M <> 0).
    { intros a k r. replace a with (a - k * M + k * M) by lia. rewrite Nat.mod_add, Nat.mod_small by nia. lia. }
    split.
    + intros i li. destruct (Nat.eq_dec i c) as [->|]; [rewrite pb; lia|].
      destruct (Nat.eq_dec i (S c)) as [->|]; [rewrite p0; lia|]. destruct (pl i); lia.
    + cbn [reply three_sum]. fold p. apply eq_yes. rewrite !existsb_exists. split.
      * intros (i & ii & e). apply existsb_exists in e as (j & ij & e). apply existsb_exists in e as (k & ik & e).
        apply in_seq in ii, ij, ik. apply andb_true_iff in e as [e e0]. apply andb_true_iff in e as [lij ljk].
        apply Nat.ltb_lt in lij, ljk. apply Nat.eqb_eq in e0.
        destruct (Nat.eq_dec j c) as [->|nj].
        -- assert (k = S c) as -> by lia. rewrite p0, Nat.add_0_r in e0.
           apply Nat.eqb_eq in e0. rewrite last in e0 by lia. apply Nat.eqb_eq in e0.
           exists v. rewrite Nat.eqb_refl. split; auto. rewrite e0. apply pl. lia.
        -- exfalso. destruct (pl i ltac:(lia)) as [b1 _], (pl j ltac:(lia)) as [b2 _].
           destruct (Nat.eq_dec k c) as [->|nk]; [|destruct (Nat.eq_dec k (S c)) as [->|nk']].
           ++ rewrite pb in e0. apply (nonzero (p i + p j + (M - v)) 1) in e0; auto. lia.
           ++ rewrite p0 in e0. apply (nonzero (p i + p j + 0) 0) in e0; auto. lia.
           ++ destruct (pl k ltac:(lia)) as [b3 _]. apply (nonzero (p i + p j + p k) 0) in e0; auto. lia.
      * intros (x & ix & e). apply Nat.eqb_eq in e. subst x.
        destruct (in_listed u v c) as (j & lj & e); auto.
        exists j. split; [apply in_seq; lia|]. apply existsb_exists. exists c. split; [apply in_seq; lia|].
        apply existsb_exists. exists (S c). split; [apply in_seq; lia|].
        rewrite p0, Nat.add_0_r, last by auto.
        destruct (Nat.ltb_spec j c); [|lia]. destruct (Nat.ltb_spec c (S c)); [|lia]. simpl.
        unfold p. rewrite join_low, e by auto. apply Nat.eqb_refl.
Qed.

(* Strings: after a, all 2^n are apart. *)
Definition hash_and (n : nat) (b : nat -> nat) (i : nat) : nat :=
  if i =? n then 2 else if i =? 2 * n + 1 then 2 else b (i - (n + 1)).
Lemma strings_asked n u b : In u (tables n 2) -> (forall i, b i < 2) ->
  two_strings n (join n (table u) (hash_and n b)) /\
  (forall i, i < n -> join n (table u) (hash_and n b) i = table u i /\
                      join n (table u) (hash_and n b) (n + 1 + i) = b i).
Proof.
  intros iu hb.
  assert (H : forall i, i < n -> join n (table u) (hash_and n b) i = table u i /\
                      join n (table u) (hash_and n b) (n + 1 + i) = b i).
  { intros i li. rewrite join_low, join_high by lia. split; auto. unfold hash_and.
    destruct (Nat.eqb_spec (n + 1 + i) n); [lia|]. destruct (Nat.eqb_spec (n + 1 + i) (2 * n + 1)); [lia|].
    f_equal. lia. }
  split; [|exact H]. split; [|split].
  - intros k lk. destruct (H k lk) as [e1 e2]. rewrite e1, e2. split; [eapply table_value; eauto|apply hb].
  - rewrite join_high by lia. unfold hash_and. now rewrite Nat.eqb_refl.
  - rewrite join_high by lia. unfold hash_and. rewrite Nat.eqb_refl. now destruct (_ =? n).
Qed.

Lemma hash_last n b : 2 = hash_and n b (pred (2 * n + 2)).
Proof. unfold hash_and. replace (pred (2 * n + 2)) with (2 * n + 1) by lia. rewrite Nat.eqb_refl. now destruct (_ =? n). Qed.

Lemma equality_cut n s fails :
  limited (equality n) n s (eq 2) fails -> 2 ^ s < 2 ^ n -> fails.
Proof.
  intros R big. apply (R _ (tables n 2) table); auto.
  - simpl. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - intros u w iu iw ne. destruct (tables_differ n 2 u w) as [x [lx d]]; auto.
    exists (hash_and n (table u)).
    assert (hb : forall i, table u i < 2) by (intros; eapply table_value; eauto).
    destruct (strings_asked n u (table u) iu hb) as [au hu], (strings_asked n w (table u) iw hb) as [aw hw].
    split; [apply hash_last|]. split; [exact au|split; [exact aw|]]. cbn [reply equality].
    assert (e1 : forallb (fun i => join n (table u) (hash_and n (table u)) i =?
                                   join n (table u) (hash_and n (table u)) (n + 1 + i)) (seq 0 n) = true).
    { apply forallb_forall. intros i ii. apply in_seq in ii. destruct (hu i) as [-> ->]; [lia|]. apply Nat.eqb_refl. }
    rewrite e1. clear e1. destruct (forallb _ (seq 0 n)) eqn:e2; [|discriminate].
    exfalso. rewrite forallb_forall in e2. specialize (e2 x). cbv beta in e2. destruct (hw x lx) as [q r].
    rewrite q, r in e2. apply d. symmetry. apply Nat.eqb_eq, e2, in_seq. lia.
Qed.

Lemma disjointness_cut n s fails :
  limited (disjointness n) n s (eq 2) fails -> 2 ^ s < 2 ^ n -> fails.
Proof.
  intros R big. apply (R _ (tables n 2) table); auto.
  - simpl. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - assert (H : forall u w, In u (tables n 2) -> In w (tables n 2) -> forall x, x < n -> table u x = 1 -> table w x = 0 ->
      let rest := hash_and n (fun i => 1 - table w i) in 2 = rest (pred (tokens (disjointness n))) /\
      asks (disjointness n) (join n (table u) rest) /\ asks (disjointness n) (join n (table w) rest) /\
      reply (disjointness n) (join n (table u) rest) <> reply (disjointness n) (join n (table w) rest)).
    { intros u w iu iw x lx e1 e0 rest.
      assert (hb : forall i, 1 - table w i < 2) by (intros; lia).
      destruct (strings_asked n u _ iu hb) as [au hu], (strings_asked n w _ iw hb) as [aw hw].
      fold rest in au, hu, aw, hw.
      split; [apply hash_last|]. split; [exact au|split; [exact aw|]]. cbn [reply disjointness].
      assert (f1 : forallb (fun i => negb ((join n (table w) rest i =? 1) && (join n (table w) rest (n + 1 + i) =? 1)))
                           (seq 0 n) = true).
      { apply forallb_forall. intros i ii. apply in_seq in ii. destruct (hw i) as [-> ->]; [lia|].
        pose proof (table_value n 2 w i iw ltac:(lia)). destruct (table w i) as [|[|]]; simpl; auto; lia. }
      rewrite f1. clear f1. destruct (forallb _ (seq 0 n)) eqn:e2; [|discriminate].
      exfalso. rewrite forallb_forall in e2. specialize (e2 x). cbv beta in e2. destruct (hu x lx) as [q r].
      rewrite q, r, e1, e0 in e2. simpl in e2. discriminate e2. apply in_seq. lia. }
    intros u w iu iw ne. destruct (tables_differ n 2 u w) as [x [lx d]]; auto.
    pose proof (table_value n 2 u x iu ltac:(lia)). pose proof (table_value n 2 w x iw ltac:(lia)).
    destruct (Nat.eq_dec (table u x) 1) as [e1|].
    + exists (hash_and n (fun i => 1 - table w i)). apply (H u w iu iw x lx); lia.
    + exists (hash_and n (fun i => 1 - table u i)).
      destruct (H w u iw iu x lx ltac:(lia) ltac:(lia)) as (p0 & p1 & p2 & p3). auto.
Qed.

(* L-SeqComp: the first c values of z_L. *)
Lemma seqcomp_cut m n L c s fails :
  limited (seqcomp m n L) c s (eq 0) fails -> 1 <= L -> 0 < c <= entries m n (pred L) ->
  2 ^ s < entries m n (pred L) ^ c -> fails.
Proof.
  intros R l1 le big. set (N := entries m n (pred L)) in *.
  apply (R _ (tables c N) table); auto.
  - cbn [tokens seqcomp]. destruct L as [|k]; [lia|]. rewrite base_step by lia. cbn [pred] in N. lia.
  - apply NoDup_tables.
  - now rewrite tables_length.
  - intros u w iu iw ne. destruct (tables_differ c N u w) as [x [lx d]]; auto.
    destruct L as [|[|k]]; [lia| |]; cbn [pred] in *.
    + (* L = 1: z_0 asks *)
      set (z := fun (v : list nat) (_ j : nat) => if j <? c then table v j else 0).
      set (tail := fun i => if i =? 0 then x else 0).
      assert (fit : forall v, In v (tables c N) -> fits_sizes m n 1 (z v) tail).
      { intros v iv. split; [|unfold tail; simpl in *; repeat split; lia].
        intros l j hl lj. unfold z. replace (pred l) with 0 by lia. fold N.
        destruct (Nat.ltb_spec j c); [|lia]. eapply table_value; eauto; lia. }
      assert (shape : forall v i, join c (table v) (fill m n 1 (z v) tail) i = fill m n 1 (z v) tail i).
      { intros v i. unfold join. destruct (Nat.ltb_spec i c) as [lt|]; auto. cbn [fill]. unfold z.
        destruct (Nat.ltb_spec i (entries m n 0)); [|simpl in *; lia]. destruct (Nat.ltb_spec i c); auto; lia. }
      exists (fill m n 1 (z []) tail).
      assert (ok : forall v, In v (tables c N) ->
        asks (seqcomp m n 1) (join c (table v) (fill m n 1 (z []) tail)) /\
        reply (seqcomp m n 1) (join c (table v) (fill m n 1 (z []) tail)) = table v x).
      { intros v iv.
        assert (same : forall i, join c (table v) (fill m n 1 (z []) tail) i = fill m n 1 (z v) tail i).
        { intros i. rewrite <- shape. unfold join. destruct (Nat.ltb_spec i c) as [|ge]; auto.
          cbn [fill]. destruct (i <? entries m n 0); auto. unfold z. destruct (Nat.ltb_spec i c); auto; lia. }
        assert (ask : forall p q, (forall i, p i = q i) -> asks (seqcomp m n 1) p -> asks (seqcomp m n 1) q).
        { intros p q e (a1 & a2 & a3 & a4). repeat split; intros; rewrite <- e; auto. }
        split.
        - eapply ask; [intros; symmetry; apply same|]. apply fill_asked. auto.
        - cbn [reply seqcomp]. cbn [hop]. rewrite !same.
          change (hop m n 1 1 (fill m n 1 (z v) tail) = table v x). rewrite hop_fill; auto.
          simpl. unfold z, tail. simpl. destruct (Nat.ltb_spec x c); auto; lia. }
      destruct (ok u iu) as [au ru], (ok w iw) as [aw rw]. rewrite ru, rw. split; [|auto].
      cbn [tokens seqcomp]. replace (pred (base m n 1 0 + 1 + 1)) with (base m n 1 0 + 1) by lia. now rewrite fill_tail.
    + (* z_{L-1} is constant, w_{L-1} the rest of the argument *)
      set (E := entries m n k).
      assert (NE : N = n (S k) * E) by reflexivity.
      assert (Epos : 0 < E) by nia.
      set (hi := x / E). set (lo := x mod E).
      assert (lolt : lo < E) by (apply Nat.mod_upper_bound; lia).
      assert (hilt : hi < n (S k)). { apply Nat.div_lt_upper_bound; [lia|]. lia. }
      assert (xe : x = hi * E + lo). { unfold hi, lo. rewrite (Nat.mul_comm _ E). apply Nat.div_mod. lia. }
      set (z := fun (v : list nat) (l j : nat) =>
                  if l =? S (S k) then (if j <? c then table v j else 0) else if l =? S k then lo else 0).
      set (tail := fun i => if i =? S k then hi else 0).
      assert (epos : forall l, l <= k -> 0 < entries m n l).
      { intros l hl. unfold E in Epos. clear -Epos hl. induction k as [|k IH]; [now replace l with 0 by lia|].
        simpl in Epos. destruct (Nat.eq_dec l (S k)) as [->|]; [simpl; auto|]. apply IH; [nia|lia]. }
      assert (fit : forall v, In v (tables c N) -> fits_sizes m n (S (S k)) (z v) tail).
      { intros v iv. repeat split.
        - intros l j hl lj. unfold z. destruct (Nat.eqb_spec l (S (S k))) as [->|].
          + cbn [pred]. fold N. destruct (Nat.ltb_spec j c); [eapply table_value; eauto; lia|lia].
          + destruct (Nat.eqb_spec l (S k)) as [->|]; [exact lolt|]. apply epos. lia.
        - unfold tail. simpl. apply (epos 0). lia.
        - intros l hl. unfold tail. destruct (Nat.eqb_spec l (S k)) as [->|]; auto.
          assert (E0 : 0 < entries m n l) by (apply epos; lia). destruct l; [lia|]. simpl in E0. nia.
        - unfold tail. destruct (Nat.eqb_spec (S (S k)) (S k)); lia. }
      exists (fill m n (S (S k)) (z []) tail).
      assert (ok : forall v, In v (tables c N) ->
        asks (seqcomp m n (S (S k))) (join c (table v) (fill m n (S (S k)) (z []) tail)) /\
        reply (seqcomp m n (S (S k))) (join c (table v) (fill m n (S (S k)) (z []) tail)) = table v x).
      { intros v iv.
        assert (same : forall i, join c (table v) (fill m n (S (S k)) (z []) tail) i = fill m n (S (S k)) (z v) tail i).
        { intros i. unfold join. cbn [fill]. change (entries m n (S k)) with N.
          destruct (Nat.ltb_spec i c) as [|ge].
          - destruct (Nat.ltb_spec i N); [|lia]. unfold z. rewrite Nat.eqb_refl.
            destruct (Nat.ltb_spec i c); auto; lia.
          - destruct (Nat.ltb_spec i N).
            + unfold z. rewrite Nat.eqb_refl. destruct (Nat.ltb_spec i c); auto; lia.
            + destruct (i - N <? entries m n k).
              * unfold z. destruct (Nat.eqb_spec (S k) (S (S k))); [lia|]. auto.
              * apply fill_ext; auto. intros l j hl hj. unfold z. destruct (Nat.eqb_spec l (S (S k))); [lia|]. auto. }
        assert (ask : forall p q, (forall i, p i = q i) -> asks (seqcomp m n (S (S k))) p -> asks (seqcomp m n (S (S k))) q).
        { intros p q e (a1 & a2 & a3 & a4). repeat split; intros; rewrite <- e; auto. }
        assert (hope : forall p q l, (forall i, p i = q i) -> hop m n (S (S k)) l p = hop m n (S (S k)) l q).
        { intros p q l e. induction l as [|l IH]; [apply e|]. destruct l as [|j]; cbn [hop].
          - rewrite !e. reflexivity.
          - cbn [hop] in IH. rewrite IH, !e. reflexivity. }
        split.
        - eapply ask; [intros; symmetry; apply same|]. apply fill_asked. auto.
        - cbn [reply seqcomp]. rewrite (hope _ _ _ same), hop_fill; auto.
          assert (ck : compose m n (z v) tail (S k) = lo).
          { destruct k as [|k']; [reflexivity|]. cbn [compose]. unfold z at 1.
            destruct (Nat.eqb_spec (S (S k')) (S (S (S k')))); [lia|]. now rewrite Nat.eqb_refl. }
          change (z v (S (S k)) (tail (S k) * E + compose m n (z v) tail (S k)) = table v x).
          rewrite ck. unfold z, tail. rewrite !Nat.eqb_refl, <- xe.
          destruct (Nat.ltb_spec x c); auto; lia. }
      destruct (ok u iu) as [au ru], (ok w iw) as [aw rw]. rewrite ru, rw. split; [|auto].
      cbn [tokens seqcomp]. replace (pred (base m n (S (S k)) 0 + S (S k) + 1)) with (base m n (S (S k)) 0 + S (S k)) by lia.
      rewrite fill_tail. unfold tail. destruct (Nat.eqb_spec (S (S k)) (S k)); [lia|reflexivity].
Qed.
