(* 2-Sum against one block-sparse layer. *)
From Coq Require Import List Arith Bool Lia.
From Rung Require Import Model Tasks Counting Subsets Recurrent SparseLayer.
Import ListNotations.

Section Flip.
Variables (s : sparse_model) (B n M k v f : nat) (S : list nat) (u w : nat -> list nat).
Hypothesis Bpos : 0 < B.
Hypothesis few : chooses_at_most s k.
Hypothesis vM : v < M.
Hypothesis fM : f < M.
Hypothesis fv : f <> v.
Hypothesis S_nodup : NoDup S.
Hypothesis S_blocks : forall r, In r S -> r < n / B.
Hypothesis S_many : k < length S.
Hypothesis u_ok : forall r, In r S -> length (u r) = B /\ (forall x, In x (u r) -> x < M) /\ ~ In v (u r).
Hypothesis w_ok : forall r, In r S -> length (w r) = B /\ (forall x, In x (w r) -> x < M) /\ In v (w r).
Hypothesis same : forall r, In r S -> compress s r (u r) = compress s r (w r).

Definition member (r : nat) : bool := existsb (Nat.eqb r) S.
Lemma member_spec r : member r = true <-> In r S.
Proof.
  unfold member. rewrite existsb_exists. split; [intros (x & i & e); apply Nat.eqb_eq in e; now subst|].
  intros i. exists r. split; auto. apply Nat.eqb_refl.
Qed.
Definition plain (i : nat) : nat :=
  if i =? n then (M - v) mod M else if member (i / B) then nth (i mod B) (u (i / B)) f else f.
Definition flipped (r i : nat) : nat := if (i / B =? r) && (i <? n) then nth (i mod B) (w r) f else plain i.

Lemma in_block r i : i / B = r -> i = r * B + i mod B.
Proof. intros <-. rewrite Nat.mul_comm. apply Nat.div_mod. lia. Qed.
Lemma block_low r i : r < n / B -> i / B = r -> i < n.
Proof.
  intros lr e. apply in_block in e. pose proof (Nat.mod_upper_bound i B ltac:(lia)).
  pose proof (Nat.mul_div_le n B ltac:(lia)). nia.
Qed.
Lemma block_at r j : j < B -> (r * B + j) / B = r /\ (r * B + j) mod B = j.
Proof.
  intros lj. split.
  - rewrite Nat.div_add_l, Nat.div_small by lia. lia.
  - rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; lia.
Qed.
Lemma block_is p r x : length x = B -> (forall j, j < B -> p (r * B + j) = nth j x f) -> block B p r = x.
Proof.
  intros len e. unfold block. apply (nth_ext _ _ f f); [now rewrite map_length, seq_length|].
  intros j lj. rewrite map_length, seq_length in lj.
  rewrite nth_indep with (d' := p 0) by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth by lia. now apply e.
Qed.
Lemma plain_block r : In r S -> block B plain r = u r.
Proof.
  intros i. destruct (u_ok r i) as (len & _). apply block_is; auto. intros j lj. destruct (block_at r j lj) as [d md].
  pose proof (block_low r (r * B + j) (S_blocks r i) d). unfold plain. destruct (Nat.eqb_spec (r * B + j) n); [lia|].
  rewrite d, md. now rewrite (proj2 (member_spec r) i).
Qed.
Lemma flipped_block r : In r S -> block B (flipped r) r = w r.
Proof.
  intros i. destruct (w_ok r i) as (len & _). apply block_is; auto. intros j lj. destruct (block_at r j lj) as [d md].
  pose proof (block_low r (r * B + j) (S_blocks r i) d). unfold flipped. rewrite d, md, Nat.eqb_refl.
  now rewrite (proj2 (Nat.ltb_lt _ _)).
Qed.
Lemma other_block r q : q <> r -> block B (flipped r) q = block B plain q.
Proof.
  intros ne. unfold block. apply map_ext_in. intros i ii. apply in_seq in ii. unfold flipped.
  replace (i / B) with q; [destruct (Nat.eqb_spec q r); [contradiction|reflexivity]|].
  replace i with (q * B + (i - q * B)) by lia. symmetry. apply block_at. lia.
Qed.
Lemma plain_small i : plain i < M.
Proof.
  unfold plain. destruct (i =? n); [apply Nat.mod_upper_bound; lia|]. destruct (member (i / B)) eqn:e; auto.
  apply member_spec in e. destruct (u_ok _ e) as (len & small & _). apply small, nth_In. rewrite len. apply Nat.mod_upper_bound. lia.
Qed.
Lemma plain_other i : i < n -> plain i <> v.
Proof.
  intros li. unfold plain. destruct (Nat.eqb_spec i n); [lia|]. destruct (member (i / B)) eqn:e; auto.
  apply member_spec in e. destruct (u_ok _ e) as (len & _ & nv). intros ev. apply nv. rewrite <- ev. apply nth_In.
  rewrite len. apply Nat.mod_upper_bound. lia.
Qed.

Theorem flip : ~ sparse_solves s B (two_sum n M).
Proof.
  intros solved. set (q := (M - v) mod M).
  assert (pn : plain n = q) by (unfold plain; now rewrite Nat.eqb_refl).
  set (sel := chosen s q (messages s B n plain)).
  assert (out : exists r, In r S /\ ~ In r sel).
  { destruct (forallb (fun r => existsb (Nat.eqb r) sel) S) eqn:e.
    - exfalso. rewrite forallb_forall in e.
      assert (inc : incl S sel).
      { intros r ir. specialize (e r ir). apply existsb_exists in e as (x & ix & ex). apply Nat.eqb_eq in ex. now subst. }
      pose proof (NoDup_incl_length S_nodup inc). pose proof (few q (messages s B n plain)). fold sel in H0. lia.
    - assert (G : forall l, forallb (fun r => existsb (Nat.eqb r) sel) l = false -> exists r, In r l /\ ~ In r sel).
      { induction l as [|r l IH]; intros el; [discriminate|]. cbn [forallb] in el. apply andb_false_iff in el as [el|el].
        - exists r. split; [now left|]. intros i. assert (existsb (Nat.eqb r) sel = true); [|congruence].
          apply existsb_exists. exists r. split; auto. apply Nat.eqb_refl.
        - destruct (IH el) as (r' & i & ni). exists r'. split; [now right|auto]. }
      apply G. exact e. }
  destruct out as (r & ir & nr).
  assert (fn : flipped r n = q).
  { unfold flipped. rewrite Nat.ltb_irrefl, andb_false_r. exact pn. }
  assert (ms : messages s B n (flipped r) = messages s B n plain).
  { unfold messages. apply map_ext_in. intros x ix. destruct (Nat.eq_dec x r) as [->|ne].
    - rewrite flipped_block, plain_block by auto. symmetry. now apply same.
    - now rewrite other_block. }
  assert (small : forall i, flipped r i < M).
  { intros i. unfold flipped. destruct ((i / B =? r) && (i <? n)); [|apply plain_small].
    destruct (w_ok r ir) as (len & lw & _). apply lw, nth_In. rewrite len. apply Nat.mod_upper_bound. lia. }
  assert (a1 : asks (two_sum n M) plain) by (intros i _; apply plain_small).
  assert (a2 : asks (two_sum n M) (flipped r)) by (intros i _; apply small).
  apply solved in a1, a2. cbn [tokens two_sum reply] in a1, a2. replace (pred (n + 1)) with n in a1, a2 by lia.
  assert (eq : sparse_answer s B n (flipped r) = sparse_answer s B n plain).
  { unfold sparse_answer. rewrite fn, pn, ms. fold sel. f_equal.
    - apply map_ext_in. intros x ix. apply other_block. intros ->. contradiction.
    - apply map_ext_in. intros i ii. apply in_seq in ii. unfold flipped.
      assert (ne : i / B <> r).
      { intros e. apply in_block in e. pose proof (S_blocks r ir). pose proof (Nat.mod_upper_bound i B ltac:(lia)). nia. }
      destruct (Nat.eqb_spec (i / B) r); [contradiction|reflexivity]. }
  rewrite a1, a2 in eq. clear a1 a2.
  destruct (existsb (fun j => (flipped r j + flipped r n) mod M =? 0) (seq 0 n)) eqn:e2.
  2: { assert (t : existsb (fun j => (flipped r j + flipped r n) mod M =? 0) (seq 0 n) = true); [|congruence].
       destruct (w_ok r ir) as (len & lw & iv). destruct (In_nth _ _ f iv) as (j & lj & ej). rewrite len in lj.
       destruct (block_at r j lj) as [d md]. pose proof (block_low r _ (S_blocks r ir) d) as low.
       apply existsb_exists. exists (r * B + j). split; [apply in_seq; lia|]. rewrite fn.
       unfold flipped. rewrite d, md, Nat.eqb_refl, (proj2 (Nat.ltb_lt _ _)) by auto. cbn [andb]. rewrite ej.
       unfold q. rewrite cancels by auto. apply Nat.eqb_refl. }
  destruct (existsb (fun j => (plain j + plain n) mod M =? 0) (seq 0 n)) eqn:e1; [|discriminate].
  apply existsb_exists in e1 as (j & ij & e1). apply in_seq in ij. rewrite pn in e1. unfold q in e1.
  rewrite cancels in e1; [|apply plain_small|exact vM]. apply Nat.eqb_eq in e1. apply (plain_other j); [lia|auto].
Qed.
End Flip.

Theorem sparse_common (s : sparse_model) (B n M b k : nat) :
  0 < B -> messages_fit s b -> chooses_at_most s k -> one_compression s -> k < n / B -> 2 ^ b < binom M B ->
  ~ sparse_solves s B (two_sum n M).
Proof.
  intros Bpos (code & bound & inj) few one many big.
  destruct (pigeonhole (fun a => code (compress s 0 a)) (choose B (seq 0 M)) (2 ^ b)) as (a & a' & ia & ia' & ne & e).
  { apply NoDup_choose, seq_NoDup. } { intros; apply bound. } { now rewrite choose_length, seq_length. }
  apply inj in e.
  assert (go : forall a a', In a (choose B (seq 0 M)) -> In a' (choose B (seq 0 M)) -> compress s 0 a = compress s 0 a' ->
               (exists v, In v a /\ ~ In v a') -> ~ sparse_solves s B (two_sum n M)).
  { clear a a' ia ia' ne e. intros a a' ia ia' e (v & iv & nv).
    assert (ok : forall x, In x (choose B (seq 0 M)) -> length x = B /\ forall y, In y x -> y < M).
    { intros x ix. split; [eapply choose_size; eauto|]. intros y iy. apply (choose_incl _ _ _ ix) in iy. apply in_seq in iy. lia. }
    destruct (ok a ia) as [la sa], (ok a' ia') as [la' sa'].
    destruct a' as [|f a'']; [simpl in la'; lia|].
    apply (flip s B n M k v f (seq 0 (n / B)) (fun _ => f :: a'') (fun _ => a)); auto.
    - apply sa'. now left.
    - intros ->. apply nv. now left.
    - apply seq_NoDup.
    - intros r ir. apply in_seq in ir. lia.
    - now rewrite seq_length.
    - intros r _. rewrite !(one r 0). now symmetry. }
  destruct (sets_differ B 1 (seq 0 M) a a') as (v & [h|h]); auto.
  - apply seq_NoDup.
  - unfold subsets. simpl. rewrite app_nil_r. exact ia.
  - unfold subsets. simpl. rewrite app_nil_r. exact ia'.
  - apply (go a a'); auto. exists v. exact h.
  - apply (go a' a); auto. exists v. exact h.
Qed.

(* Positions: a value is determined in a block if no two contents with one message differ in it. *)
Lemma double_count (P : nat -> nat -> bool) (rs vs : list nat) :
  list_sum (map (fun r => length (filter (P r) vs)) rs) = list_sum (map (fun v => length (filter (fun r => P r v) rs)) vs).
Proof.
  induction rs as [|r rs IH]; simpl.
  - induction vs as [|v vs IH]; simpl; auto.
  - rewrite IH. clear IH. induction vs as [|v vs IH]; simpl; auto.
    destruct (P r v); simpl; lia.
Qed.
Lemma sum_at_most (f : nat -> nat) (l : list nat) c : (forall x, In x l -> f x <= c) -> list_sum (map f l) <= length l * c.
Proof. induction l as [|x l IH]; intros H; simpl; auto. pose proof (H x (or_introl eq_refl)). specialize (IH (fun y i => H y (or_intror i))). lia. Qed.
Lemma sum_at_least (f : nat -> nat) (l : list nat) c : (forall x, In x l -> c <= f x) -> length l * c <= list_sum (map f l).
Proof. induction l as [|x l IH]; intros H; simpl; auto. pose proof (H x (or_introl eq_refl)). specialize (IH (fun y i => H y (or_intror i))). lia. Qed.
Lemma firstn_in {A} j (l : list A) x : In x (firstn j l) -> In x l.
Proof. revert j. induction l as [|y l IH]; intros [|j]; simpl; auto; try tauto. intros [->|i]; auto. right. now apply (IH j). Qed.
Lemma NoDup_firstn {A} j (l : list A) : NoDup l -> NoDup (firstn j l).
Proof.
  intros nd. revert j. induction nd as [|x l nx nd IH]; intros [|j]; simpl; constructor; auto.
  intros i. apply nx. now apply (firstn_in j).
Qed.

Theorem sparse_positions (s : sparse_model) (B n M b k d : nat) :
  0 < B -> messages_fit s b -> chooses_at_most s k -> d < M - B -> 2 ^ b < binoms (d + 1) 0 (B + 1) ->
  k * M < (M - d) * (n / B) -> ~ sparse_solves s B (two_sum n M).
Proof.
  intros Bpos (code & bound & inj) few dM big many.
  set (vals := seq 0 M). set (all := tables B M).
  set (has := fun (v : nat) (a : list nat) => existsb (Nat.eqb v) a).
  assert (has_spec : forall v a, has v a = true <-> In v a).
  { intros v a. unfold has. rewrite existsb_exists. split; [intros (x & i & e); apply Nat.eqb_eq in e; now subst|].
    intros i. exists v. split; auto. apply Nat.eqb_refl. }
  set (pair := fun r v a a' => has v a' && negb (has v a) && (code (compress s r a) =? code (compress s r a'))).
  set (und := fun r v => existsb (fun a => existsb (pair r v a) all) all).
  assert (determined : forall r, length (filter (fun v => negb (und r v)) vals) <= d).
  { intros r. set (D := filter (fun v => negb (und r v)) vals). destruct (le_lt_dec (length D) d) as [|lt]; auto. exfalso.
    set (D' := firstn (d + 1) D).
    assert (ndD : NoDup D) by (apply NoDup_filter, seq_NoDup).
    assert (nd : NoDup D') by now apply NoDup_firstn.
    assert (len : length D' = d + 1) by (unfold D'; rewrite firstn_length; lia).
    set (others := filter (fun v => negb (has v D')) vals).
    assert (lo : B <= length others).
    { assert (split : length (filter (fun v => has v D') vals) + length others = M).
      { unfold others. rewrite <- filter_length_split. apply seq_length. }
      assert (length (filter (fun v => has v D') vals) <= length D').
      { apply NoDup_incl_length; [apply NoDup_filter, seq_NoDup|]. intros x i. apply filter_In in i as [_ i]. now apply has_spec. }
      lia. }
    set (content := fun u : list nat => u ++ firstn (B - length u) others).
    assert (inD : forall x, In x D' -> x < M /\ und r x = false).
    { intros x i. apply firstn_in, filter_In in i as [i e]. apply in_seq in i. apply negb_true_iff in e. split; auto. lia. }
    assert (sub : forall u, In u (subsets 0 (B + 1) D') -> length u <= B /\ incl u D').
    { intros u i. apply in_subsets in i as (j & lj & i). split; [rewrite (choose_size _ _ _ i); lia|eapply choose_incl; eauto]. }
    assert (inall : forall u, In u (subsets 0 (B + 1) D') -> In (content u) all).
    { intros u i. destruct (sub u i) as [lu inc]. apply in_tuples. split.
      - unfold content. rewrite app_length, firstn_length. lia.
      - intros x ix. apply in_app_iff in ix as [ix|ix].
        + apply inc, inD in ix as [ix _]. apply in_seq. lia.
        + apply firstn_in, filter_In in ix as [ix _]. exact ix. }
    destruct (pigeonhole (fun u => code (compress s r (content u))) (subsets 0 (B + 1) D') (2 ^ b)) as (u & w & iu & iw & ne & e).
    { now apply NoDup_subsets. } { intros; apply bound. } { now rewrite subsets_length, len. }
    assert (no : forall u w x, In u (subsets 0 (B + 1) D') -> In w (subsets 0 (B + 1) D') ->
                 code (compress s r (content u)) = code (compress s r (content w)) -> In x u -> ~ In x w -> False).
    { clear u w iu iw ne e. intros u w x iu iw e xu xw. destruct (sub u iu) as [_ inc]. destruct (inD x (inc x xu)) as [_ f].
      assert (t : und r x = true); [|congruence]. unfold und. apply existsb_exists. exists (content w). split; [now apply inall|].
      apply existsb_exists. exists (content u). split; [now apply inall|]. unfold pair.
      assert (h1 : has x (content u) = true) by (apply has_spec, in_app_iff; now left).
      assert (h2 : has x (content w) = false).
      { apply not_true_iff_false. rewrite has_spec. intros i. apply in_app_iff in i as [i|i]; [contradiction|].
        apply firstn_in, filter_In in i as [_ i]. apply negb_true_iff in i. apply not_true_iff_false in i. apply i, has_spec, inc, xu. }
      rewrite h1, h2, e, Nat.eqb_refl. reflexivity. }
    destruct (sets_differ 0 (B + 1) D' u w) as (x & [[h1 h2]|[h1 h2]]); auto.
    - apply (no u w x); auto.
    - apply (no w u x); auto. }
  (* Some value is undetermined in more than k blocks. *)
  set (rs := seq 0 (n / B)).
  assert (ex : exists v, v < M /\ k < length (filter (fun r => und r v) rs)).
  { destruct (find (fun v => k <? length (filter (fun r => und r v) rs)) vals) as [v|] eqn:fd.
    - apply find_some in fd as [i e]. apply in_seq in i. apply Nat.ltb_lt in e. exists v. split; auto. lia.
    - exfalso. pose proof (double_count und rs vals) as dc.
      assert (lowb : length rs * (M - d) <= list_sum (map (fun r => length (filter (und r) vals)) rs)).
      { apply sum_at_least. intros r _. specialize (determined r).
        assert (split : length (filter (und r) vals) + length (filter (fun v => negb (und r v)) vals) = M).
        { rewrite <- filter_length_split. apply seq_length. }
        lia. }
      assert (highb : list_sum (map (fun v => length (filter (fun r => und r v) rs)) vals) <= length vals * k).
      { apply sum_at_most. intros v iv. pose proof (find_none _ _ fd v iv) as h. apply Nat.ltb_ge in h. exact h. }
      unfold rs, vals in *. rewrite !seq_length in *. nia. }
  destruct ex as (v & vM & more).
  set (S := filter (fun r => und r v) rs) in *.
  assert (wit : forall r, In r S -> exists aa, In (fst aa) all /\ In (snd aa) all /\ pair r v (fst aa) (snd aa) = true).
  { intros r ir. apply filter_In in ir as [_ e]. unfold und in e. apply existsb_exists in e as (a & ia & e).
    apply existsb_exists in e as (a' & ia' & e). exists (a, a'). auto. }
  set (both := fun r => match find (fun aa => pair r v (fst aa) (snd aa)) (list_prod all all) with Some aa => aa | None => ([], []) end).
  assert (is : forall r, In r S -> In (fst (both r)) all /\ In (snd (both r)) all /\ pair r v (fst (both r)) (snd (both r)) = true).
  { intros r ir. unfold both. destruct (find _ _) as [aa|] eqn:fd.
    - apply find_some in fd as [i e]. destruct aa as [a a']. apply in_prod_iff in i as [i1 i2]. auto.
    - exfalso. destruct (wit r ir) as ((a & a') & i1 & i2 & e). cbn [fst snd] in *.
      pose proof (find_none _ _ fd (a, a') (proj2 (in_prod_iff all all a a') (conj i1 i2))) as f. cbn [fst snd] in f. congruence. }
  assert (tab : forall a, In a all -> length a = B /\ forall x, In x a -> x < M).
  { intros a i. apply in_tuples in i as [l h]. split; auto. intros x ix. specialize (h x ix). apply in_seq in h. lia. }
  apply (flip s B n M k v (if v =? 0 then 1 else 0) S (fun r => fst (both r)) (fun r => snd (both r))); auto.
  - destruct (v =? 0); lia.
  - destruct (Nat.eqb_spec v 0); lia.
  - apply NoDup_filter, seq_NoDup.
  - intros r ir. apply filter_In in ir as [ir _]. apply in_seq in ir. lia.
  - intros r ir. destruct (is r ir) as (i1 & _ & e). unfold pair in e. rewrite !andb_true_iff in e. destruct e as ((_ & e) & _).
    destruct (tab _ i1). repeat split; auto. apply negb_true_iff, not_true_iff_false in e. now rewrite has_spec in e.
  - intros r ir. destruct (is r ir) as (_ & i2 & e). unfold pair in e. rewrite !andb_true_iff in e. destruct e as ((e & _) & _).
    destruct (tab _ i2). repeat split; auto. now apply has_spec.
  - intros r ir. destruct (is r ir) as (_ & _ & e). unfold pair in e. rewrite !andb_true_iff in e. destruct e as (_ & e).
    apply Nat.eqb_eq in e. now apply inj.
Qed.
