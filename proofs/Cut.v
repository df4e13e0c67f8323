(* The cut lemma: what a recurrent stack knows of the positions below a cut is what crosses it. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Counting Tasks.
Import ListNotations.

Section Layers.
Context {X : Type}.

Lemma state_after_ext (l : layer X) a b n : (forall i, i < n -> a i = b i) -> state_after l a n = state_after l b n.
Proof. induction n as [|n IH]; intros H; simpl; auto. rewrite IH, H; auto. Qed.

Lemma state_after_from (l : layer X) a b c n :
  c <= n -> state_after l a c = state_after l b c -> (forall i, c <= i < n -> a i = b i) ->
  state_after l a n = state_after l b n.
Proof.
  intros le e H. induction n as [|n IH]; simpl.
  - now replace c with 0 in e by lia.
  - destruct (Nat.eq_dec c (S n)) as [->|]; auto. rewrite IH, H; auto; try lia. intros; apply H; lia.
Qed.

Lemma partial_ext (l : layer X) i x a b from len :
  (forall j, from <= j < from + len -> a j = b j) -> partial l i x a from len = partial l i x b from len.
Proof. induction len as [|len IH]; intros H; simpl; auto. rewrite IH, H; auto; try lia. intros; apply H; lia. Qed.

Lemma partial_split (l : layer X) i x a from u v :
  partial l i x a from (u + v) = add l (partial l i x a from u) (partial l i x a (from + u) v).
Proof.
  induction v as [|v IH]; simpl.
  - now rewrite Nat.add_0_r, add_none.
  - rewrite Nat.add_succ_r. simpl. now rewrite IH, <- add_assoc, Nat.add_assoc.
Qed.

Lemma partial_none (l : layer X) i x a from len : no_full_heads l -> partial l i x a from len = none l.
Proof. intros R. induction len as [|len IH]; simpl; auto. now rewrite IH, R, add_none. Qed.

(* Causality. *)
Lemma apply_ext (l : layer X) a b i : (forall j, j <= i -> a j = b j) -> apply l a i = apply l b i.
Proof.
  intros H. unfold apply, heads. rewrite H by lia. f_equal.
  - apply state_after_ext. intros; apply H; lia.
  - f_equal. apply partial_ext. intros; apply H; lia.
Qed.
Lemma run_ext (ls : list (layer X)) a b i : (forall j, j <= i -> a j = b j) -> run ls a i = run ls b i.
Proof.
  revert a b. induction ls as [|l ls IH]; intros a b H; simpl; auto.
  apply IH. intros j le. apply apply_ext. intros; apply H; lia.
Qed.

(* One layer behind a cut: equal states and equal sums at the cut, equal activations behind it. *)
Lemma apply_behind (l : layer X) a b c i :
  c <= i -> (forall j, c <= j <= i -> a j = b j) ->
  (forall x, step l c x (state_after l a c) = step l c x (state_after l b c)) ->
  partial l i (a i) a 0 c = partial l i (a i) b 0 c ->
  apply l a i = apply l b i.
Proof.
  intros le same states sums. unfold apply, heads. rewrite <- (same i) by lia. f_equal.
  - apply state_after_from with (c := S c); [lia| |intros; apply same; lia].
    simpl. rewrite <- (same c) by lia. apply states.
  - f_equal. replace (S i) with (c + (S i - c)) by lia. rewrite !partial_split, sums. f_equal.
    apply partial_ext. intros; apply same; lia.
Qed.

(* The cut lemma: one number below 2^s, a function of what stands before the cut, decides everything behind it. *)
Lemma crossing c (ls : list (layer X)) s :
  recurrent_at c ls s -> exists code : (nat -> X) -> nat,
    (forall a, code a < 2 ^ s) /\
    (forall a b, (forall i, i < c -> a i = b i) -> code a = code b) /\
    (forall a b e, code a = code b -> (forall i, c <= i <= e -> a i = b i) ->
       forall i, c <= i <= e -> run ls a i = run ls b i).
Proof.
  induction 1 as [|l ls s t R (code & bound & inj) rest (later & bound' & past & inj')].
  - exists (fun _ => 0). simpl. auto.
  - exists (fun a => code (state_after l a c) + 2 ^ s * later (apply l a)). repeat split.
    + intros a. rewrite Nat.pow_add_r. specialize (bound a). specialize (bound' (apply l a)). nia.
    + intros a b H. rewrite (state_after_ext l a b); auto. f_equal. f_equal. apply past.
      intros i lt. apply apply_ext. intros; apply H; lia.
    + intros a b f e same i le. apply two_digits in e as [e1 e2]; auto. simpl.
      apply inj' with (e := f); auto. intros j lj. apply apply_behind with (c := c); auto; [lia| |].
      * intros; apply same; lia.
      * now rewrite !partial_none.
Qed.

(* The same with full heads in the first layer, where their sums over the positions before the cut are equal. *)
Lemma crossing_full c l (ls : list (layer X)) s t :
  crosses l c s -> recurrent_at c ls t -> exists code : (nat -> X) -> nat,
    (forall a, code a < 2 ^ (s + t)) /\
    (forall a b, (forall i, i < c -> a i = b i) -> code a = code b) /\
    (forall a b e, code a = code b -> (forall i, c <= i <= e -> a i = b i) ->
       (forall i, c <= i <= e -> partial l i (a i) a 0 c = partial l i (a i) b 0 c) ->
       forall i, c <= i <= e -> run (l :: ls) a i = run (l :: ls) b i).
Proof.
  intros (code & bound & inj) R. destruct (crossing c ls t R) as (later & bound' & past & inj').
  exists (fun a => code (state_after l a c) + 2 ^ s * later (apply l a)). repeat split.
  - intros a. rewrite Nat.pow_add_r. specialize (bound a). specialize (bound' (apply l a)). nia.
  - intros a b H. rewrite (state_after_ext l a b); auto. f_equal. f_equal. apply past.
    intros i lt. apply apply_ext. intros; apply H; lia.
  - intros a b f e same sums i le. apply two_digits in e as [e1 e2]; auto. simpl.
    apply inj' with (e := f); auto. intros j lj. apply apply_behind with (c := c); auto; [lia|].
    intros; apply same; lia.
Qed.
End Layers.

(* Prompts that agree behind the cut and are one before it get one answer, whatever is thought. *)
Definition join (c : nat) (p r : nat -> nat) : nat -> nat := fun i => if i <? c then p i else r i.
Lemma join_low c p r i : i < c -> join c p r i = p i.
Proof. intros. unfold join. destruct (Nat.ltb_spec i c); auto; lia. Qed.
Lemma join_high c p r i : c <= i -> join c p r i = r i.
Proof. intros. unfold join. destruct (Nat.ltb_spec i c); auto; lia. Qed.

Lemma same_thoughts m c s : recurrent_at c (stack m) s ->
  exists code : (nat -> nat) -> nat, (forall p, code p < 2 ^ s) /\
    (forall p q, (forall i, i < c -> p i = q i) -> code p = code q) /\
    forall p q T, c < T -> code p = code q -> (forall i, c <= i -> p i = q i) ->
    forall fuel, chain m fuel p T = chain m fuel q T.
Proof.
  intros R. destruct (crossing c (stack m) s R) as (code & bound & past & decides).
  exists (fun p => code (input m p)). repeat split; auto.
  - intros p q H. apply past. intros i lt. unfold input. now rewrite H.
  - intros p q T lt e same fuel. revert p q T lt e same.
    assert (last : forall p q T, c < T -> code (input m p) = code (input m q) -> (forall i, c <= i -> p i = q i) ->
                   last_activation m p T = last_activation m q T).
    { intros p q T lt e same. unfold last_activation. apply decides with (e := pred T); auto; [|lia].
      intros i le. unfold input. rewrite same; auto. lia. }
    induction fuel as [|fuel IH]; intros p q T lt e same; simpl; rewrite (last p q T) by auto; auto.
    destruct (says m _) as [t|y]; auto. apply IH; [lia| |].
    + rewrite (past (input m (append p T t)) (input m p)), (past (input m (append q T t)) (input m q)); auto;
        intros i li; unfold input, append; destruct (Nat.eqb_spec i T); auto; lia.
    + intros i le. unfold append. destruct (i =? T); auto.
Qed.

(* Pigeonhole over a family of first parts that later tokens tell apart. *)
Theorem cut_classes {A} (m : model) (t : task) (c s : nat) (family : list A) (first : A -> nat -> nat) :
  recurrent_at c (stack m) s -> c < tokens t -> NoDup family -> 2 ^ s < length family ->
  (forall a b, In a family -> In b family -> a <> b -> exists rest,
     asks t (join c (first a) rest) /\ asks t (join c (first b) rest) /\
     reply t (join c (first a) rest) <> reply t (join c (first b) rest)) ->
  ~ solves_by_thought m t.
Proof.
  intros R lt nd many apart solved.
  destruct (same_thoughts m c s R) as (code & bound & past & decides).
  destruct (pigeonhole (fun a => code (first a)) family (2 ^ s)) as (a & b & ia & ib & ne & e); auto.
  destruct (apart a b ia ib ne) as (rest & va & vb & differ).
  destruct (solved _ va) as [u hu]. destruct (solved _ vb) as [v hv].
  assert (more : forall fuel p T y, chain m fuel p T = Some y -> forall k, chain m (fuel + k) p T = Some y).
  { induction fuel as [|fuel IH]; intros p T y H k.
    - simpl in H. destruct k; simpl; destruct (says m _); auto; discriminate.
    - simpl in *. destruct (says m _); auto. }
  apply (more _ _ _ _) with (k := v) in hu. apply (more _ _ _ _) with (k := u) in hv.
  rewrite (Nat.add_comm v u) in hv.
  rewrite (decides _ (join c (first b) rest)) in hu; auto.
  - congruence.
  - rewrite (past (join c (first a) rest) (first a)), (past (join c (first b) rest) (first b)); auto;
      intros; apply join_low; auto.
  - intros i le. now rewrite !join_high.
Qed.

(* First parts of c positions, more than 2^s of them, of which every two have a common ending with different answers and with
   a last token in `ends`: whoever is limited to 2^s classes of them fails. *)
Definition limited (t : task) (c s : nat) (ends : nat -> Prop) (fails : Prop) :=
  forall (A : Type) (family : list A) (first : A -> nat -> nat),
    c < tokens t -> NoDup family -> 2 ^ s < length family ->
    (forall a b, In a family -> In b family -> a <> b -> exists rest, ends (rest (pred (tokens t))) /\
       asks t (join c (first a) rest) /\ asks t (join c (first b) rest) /\
       reply t (join c (first a) rest) <> reply t (join c (first b) rest)) -> fails.
Lemma recurrent_limited m t c s ends : recurrent_at c (stack m) s -> limited t c s ends (~ solves_by_thought m t).
Proof.
  intros R A family first lt nd many apart. apply (cut_classes m t c s family first); auto.
  intros a b ia ib ne. destruct (apart a b ia ib ne) as (rest & _ & h). exists rest. exact h.
Qed.
