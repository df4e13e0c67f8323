(* Pigeonholes and packed numbers. *)
From Coq Require Import List ListDec Arith Lia.
Import ListNotations.

(* Many things, few codes: two of one code. *)
Lemma pigeonhole {A} (f : A -> nat) (l : list A) (B : nat) :
  NoDup l -> (forall a, In a l -> f a < B) -> B < length l ->
  exists a b, In a l /\ In b l /\ a <> b /\ f a = f b.
Proof.
  intros nd bound long. destruct (ListDec.NoDup_dec Nat.eq_dec (map f l)) as [n|n].
  - exfalso. assert (inc : incl (map f l) (seq 0 B)).
    { intros v iv. apply in_map_iff in iv as [a [<- ia]]. apply in_seq. specialize (bound a ia). lia. }
    apply NoDup_incl_length in inc; auto. rewrite map_length, seq_length in inc. lia.
  - clear bound long. induction l as [|a l IH]; [exfalso; apply n; constructor|].
    inversion nd as [|? ? na nd']; subst. simpl in n.
    destruct (in_dec Nat.eq_dec (f a) (map f l)) as [i|i].
    + apply in_map_iff in i as [b [e i]]. exists a, b. repeat split; simpl; auto. congruence.
    + destruct IH as (b & c & ib & ic & ne & e); auto.
      * intros nd0. apply n. constructor; auto.
      * exists b, c. simpl. auto.
Qed.

Lemma filter_length_split {A} (p : A -> bool) (l : list A) :
  length l = length (filter p l) + length (filter (fun a => negb (p a)) l).
Proof. induction l as [|x l IH]; simpl; auto. destruct (p x); simpl; lia. Qed.

(* Some class holds its share. *)
Lemma largest_class {A} (f : A -> nat) (l : list A) (B : nat) :
  (forall a, In a l -> f a < B) -> 0 < B ->
  exists v, v < B /\ length l <= B * length (filter (fun a => f a =? v) l).
Proof.
  revert l. induction B as [|B IH]; intros l bound pos; [lia|].
  destruct (Nat.eq_dec B 0) as [->|nz].
  - exists 0. split; [lia|]. rewrite Nat.mul_1_l.
    replace (filter (fun a => f a =? 0) l) with l; auto.
    clear IH pos. induction l as [|x l IH]; simpl; auto.
    assert (f x < 1) by (apply bound; simpl; auto).
    replace (f x) with 0 by lia. simpl. f_equal. apply IH. intros; apply bound; simpl; auto.
  - set (low := filter (fun a => negb (f a =? B)) l).
    destruct (IH low) as [v [lv big]]; [|lia|].
    + intros a ia. unfold low in ia. apply filter_In in ia as [ia n].
      apply bound in ia. destruct (Nat.eqb_spec (f a) B); simpl in n; [discriminate|lia].
    + assert (sub : length (filter (fun a => f a =? v) low) <= length (filter (fun a => f a =? v) l)).
      { unfold low. clear. induction l as [|x l IH]; simpl; auto.
        destruct (f x =? B); simpl; destruct (f x =? v); simpl; lia. }
      pose proof (filter_length_split (fun a => f a =? B) l) as parts. cbv beta in parts. fold low in parts.
      assert (share : length low <= B * length (filter (fun a => f a =? v) l)) by nia.
      destruct (le_lt_dec (length (filter (fun a => f a =? v) l)) (length (filter (fun a => f a =? B) l))).
      * exists B. split; [lia|]. rewrite Nat.mul_succ_l, parts.
        apply (Nat.mul_le_mono_l _ _ B) in l0. lia.
      * exists v. split; [lia|]. rewrite Nat.mul_succ_l, parts. lia.
Qed.

(* Lists of k numbers below b. *)
Fixpoint tuples {A} (k : nat) (values : list A) : list (list A) :=
  match k with
  | 0 => [[]]
  | S k => flat_map (fun v => map (cons v) (tuples k values)) values
  end.

Lemma flat_map_length_const {A B} (f : A -> list B) (l : list A) (c : nat) :
  (forall a, In a l -> length (f a) = c) -> length (flat_map f l) = length l * c.
Proof.
  induction l as [|x l IH]; intros H; simpl; auto.
  rewrite app_length, IH, H; simpl; auto. intros; apply H; simpl; auto.
Qed.

Lemma tuples_length {A} k (values : list A) : length (tuples k values) = length values ^ k.
Proof.
  induction k as [|k IH]; simpl; auto.
  rewrite flat_map_length_const with (c := length values ^ k); auto.
  intros. now rewrite map_length, IH.
Qed.

Lemma in_tuples {A} k (values u : list A) :
  In u (tuples k values) <-> length u = k /\ (forall v, In v u -> In v values).
Proof.
  revert u. induction k as [|k IH]; intros u; simpl.
  - split.
    + intros [<-|[]]; split; simpl; tauto.
    + intros [e _]. destruct u; simpl in e; [auto|lia].
  - rewrite in_flat_map. split.
    + intros [v [iv i]]. apply in_map_iff in i as [t [<- it]]. apply IH in it as [<- a].
      split; auto. simpl. intros w [<-|]; auto.
    + intros [e a]. destruct u as [|v u]; [simpl in e; lia|]. exists v. split; [apply a; simpl; auto|].
      apply in_map. apply IH. split; [simpl in e; lia|]. intros; apply a; simpl; auto.
Qed.

Lemma NoDup_flat_map {A B} (f : A -> list B) (l : list A) :
  NoDup l -> (forall a, In a l -> NoDup (f a)) ->
  (forall a b x, In a l -> In b l -> In x (f a) -> In x (f b) -> a = b) -> NoDup (flat_map f l).
Proof.
  induction l as [|a l IH]; intros nd each apart; simpl; [constructor|].
  inversion nd as [|? ? n nd']; subst.
  assert (app : forall u v : list B, NoDup u -> NoDup v -> (forall x, In x u -> ~ In x v) -> NoDup (u ++ v)).
  { clear. induction u as [|x u IH]; intros v nu nv d; simpl; auto.
    inversion nu; subst. constructor.
    - rewrite in_app_iff. intros [i|i]; auto. apply (d x); simpl; auto.
    - apply IH; auto. intros y iy. apply d; simpl; auto. }
  apply app.
  - apply each; simpl; auto.
  - apply IH; auto; intros; [apply each|eapply apart]; simpl; eauto.
  - intros x i j. apply in_flat_map in j as [b [ib j]]. apply n.
    rewrite (apart a b x); simpl; auto.
Qed.

Lemma NoDup_map_inj {A B} (f : A -> B) (l : list A) :
  (forall a b, In a l -> In b l -> f a = f b -> a = b) -> NoDup l -> NoDup (map f l).
Proof.
  induction l as [|x l IH]; intros inj nd; simpl; [constructor|].
  inversion nd; subst. constructor.
  - intros i. apply in_map_iff in i as [y [e i]]. apply inj in e; simpl; auto. congruence.
  - apply IH; auto. intros; apply inj; simpl; auto.
Qed.

Lemma NoDup_tuples {A} k (values : list A) : NoDup values -> NoDup (tuples k values).
Proof.
  intros nd. induction k as [|k IH]; simpl; [repeat constructor; simpl; tauto|].
  apply NoDup_flat_map; auto.
  - intros a _. apply NoDup_map_inj; auto. intros; congruence.
  - intros a b x _ _ i j. apply in_map_iff in i as [u [<- _]]. apply in_map_iff in j as [v [e _]]. congruence.
Qed.

(* Numbers below b, packed into one below b^k. *)
Fixpoint pack (b : nat) (u : list nat) : nat :=
  match u with
  | [] => 0
  | v :: u => v + b * pack b u
  end.

Lemma pack_bound b u : (forall v, In v u -> v < b) -> pack b u < b ^ length u.
Proof.
  induction u as [|v u IH]; intros H; simpl; auto.
  assert (v < b) by (apply H; simpl; auto).
  assert (pack b u < b ^ length u) by (apply IH; intros; apply H; simpl; auto).
  nia.
Qed.

Lemma two_digits b v w p q : v < b -> w < b -> v + b * p = w + b * q -> v = w /\ p = q.
Proof. intros. assert (p = q) by nia. split; nia. Qed.

Lemma digits_bound a A b B : a < A -> b < B -> a + A * b < A * B.
Proof. nia. Qed.

Lemma pack_inj b u v :
  (forall x, In x u -> x < b) -> (forall x, In x v -> x < b) -> length u = length v -> pack b u = pack b v -> u = v.
Proof.
  revert v. induction u as [|x u IH]; intros [|y v] hu hv e p; simpl in *; try lia; auto.
  apply two_digits in p as [-> p]; auto. f_equal. apply IH; auto.
Qed.

(* The same for a family of codes: what is packed agrees item by item. *)
Lemma pack_map_bound {A} b (f : A -> nat) (l : list A) :
  (forall a, In a l -> f a < b) -> pack b (map f l) < b ^ length l.
Proof.
  intros H. rewrite <- (map_length f l). apply pack_bound. intros v i.
  apply in_map_iff in i as [a [<- i]]; auto.
Qed.

Lemma pack_map_inj {A} b (f g : A -> nat) (l : list A) :
  (forall a, In a l -> f a < b) -> (forall a, In a l -> g a < b) ->
  pack b (map f l) = pack b (map g l) -> forall a, In a l -> f a = g a.
Proof.
  intros hf hg e. apply pack_inj in e.
  - clear -e. induction l as [|x l IH]; simpl in *; [tauto|]. inversion e. intros a [<-|]; auto.
  - intros x i. apply in_map_iff in i as [a [<- i]]; auto.
  - intros x i. apply in_map_iff in i as [a [<- i]]; auto.
  - now rewrite !map_length.
Qed.

(* Tables [n] -> [v] as lists, and as functions. *)
Definition table (u : list nat) (x : nat) : nat := nth x u 0.
Definition tables (n v : nat) : list (list nat) := tuples n (seq 0 v).

Lemma tables_length n v : length (tables n v) = v ^ n.
Proof. unfold tables. now rewrite tuples_length, seq_length. Qed.
Lemma NoDup_tables n v : NoDup (tables n v).
Proof. apply NoDup_tuples, seq_NoDup. Qed.
Lemma table_value n v u x : In u (tables n v) -> 0 < v -> table u x < v.
Proof.
  intros i p. apply in_tuples in i as [e a]. unfold table.
  destruct (le_lt_dec (length u) x); [rewrite nth_overflow; auto|].
  specialize (a (nth x u 0) (nth_In u 0 l)). apply in_seq in a. lia.
Qed.
Lemma tables_differ n v u w :
  In u (tables n v) -> In w (tables n v) -> u <> w -> exists x, x < n /\ table u x <> table w x.
Proof.
  intros iu iw ne. apply in_tuples in iu as [eu _]. apply in_tuples in iw as [ew _].
  assert (H : forall u w : list nat, length u = length w -> u <> w ->
              exists x, x < length u /\ nth x u 0 <> nth x w 0).
  { clear. induction u as [|a u IH]; intros [|b w] e ne; simpl in *; try lia; try congruence.
    destruct (Nat.eq_dec a b) as [->|].
    - destruct (IH w) as [x [l d]]; [lia|congruence|]. exists (S x). split; [lia|auto].
    - exists 0. split; [lia|auto]. }
  destruct (H u w) as [x [l d]]; auto; [congruence|]. exists x. split; [lia|auto].
Qed.

(* Fewer than v^|D| messages over a family G of tables that holds at least v^(n-|D|) times their number: two tables of
   one message differ on D. *)
Lemma tables_collide n v (G : list (list nat)) (D : list nat) (message : list nat -> nat) (B : nat) :
  incl G (tables n v) -> NoDup G -> NoDup D -> (forall x, In x D -> x < n) ->
  (forall u, In u G -> message u < B) -> 0 < v -> B * v ^ (n - length D) < length G ->
  exists u w x, In u G /\ In w G /\ In x D /\ message u = message w /\ table u x <> table w x.
Proof.
  intros incG ndG ndD inD bound pos big.
  set (rest := filter (fun x => negb (existsb (Nat.eqb x) D)) (seq 0 n)).
  assert (lenrest : length rest + length D = n).
  { assert (e : length (filter (fun x => existsb (Nat.eqb x) D) (seq 0 n)) = length D).
    { apply Nat.le_antisymm.
      - apply NoDup_incl_length; [apply NoDup_filter, seq_NoDup|].
        intros x i. apply filter_In in i as [_ i]. apply existsb_exists in i as [y [iy e]].
        apply Nat.eqb_eq in e. now subst.
      - apply NoDup_incl_length; auto. intros x i. apply filter_In. split.
        + apply in_seq. specialize (inD x i). lia.
        + apply existsb_exists. exists x. split; auto. apply Nat.eqb_refl. }
    pose proof (filter_length_split (fun x => existsb (Nat.eqb x) D) (seq 0 n)) as s.
    cbv beta in s. rewrite seq_length, e in s. fold rest in s. lia. }
  set (code := fun u => message u + B * pack v (map (table u) rest)).
  destruct (pigeonhole code G (B * v ^ length rest)) as (u & w & iu & iw & ne & e); auto.
  - intros u iu. unfold code.
    assert (pack v (map (table u) rest) < v ^ length rest).
    { apply pack_map_bound. intros x _. eapply table_value; eauto. }
    specialize (bound u iu). nia.
  - replace (length rest) with (n - length D) by lia. auto.
  - unfold code in e. apply two_digits in e as [em ep]; auto.
    assert (same : forall x, In x rest -> table u x = table w x).
    { apply pack_map_inj with (b := v); auto; intros; eapply table_value; eauto. }
    destruct (tables_differ n v u w) as [x [lx d]]; auto.
    destruct (in_dec Nat.eq_dec x D) as [i|i].
    + exists u, w, x. auto.
    + exfalso. apply d, same. apply filter_In. split; [apply in_seq; lia|].
      destruct (existsb (Nat.eqb x) D) eqn:q; auto.
      apply existsb_exists in q as [y [iy q]]. apply Nat.eqb_eq in q. rewrite <- q in iy. contradiction.
Qed.
