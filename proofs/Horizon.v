(* The horizon: from there on one letter more changes nothing. *)
From Coq Require Import List Arith NArith ZArith Bool Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Model Cut Steady Aperiodic Automata Softmax Gadget Counts Rest.
Import ListNotations.

Definition constant_from {X} (j : nat) (a : nat -> X) := forall i, j <= i -> a i = a j.
Definition rests {X} (l : layer X) (j k : nat) := forall a, constant_from j a -> constant_from k (apply l a).
Lemma constant_later {X} j k (a : nat -> X) : j <= k -> constant_from j a -> constant_from k a.
Proof. intros le c i li. rewrite (c i), (c k) by lia. reflexivity. Qed.

(* A non-decreasing map of a chain of B values rests after B - 1 steps. *)
Lemma chain_rests_before B g h : (forall x y, x <= y -> g x <= g y) -> (forall k, Nat.iter k g h < B) ->
  forall k, B - 1 <= k -> g (Nat.iter k g h) = Nat.iter k g h.
Proof.
  intros mono low.
  assert (fixed : forall j k, j <= k -> g (Nat.iter j g h) = Nat.iter j g h -> g (Nat.iter k g h) = Nat.iter k g h).
  { intros j k le e. induction k as [|k IH]; [now replace j with 0 in e by lia|].
    destruct (Nat.eq_dec j (S k)) as [->|]; auto. rewrite iter_succ. now rewrite !IH by lia. }
  intros k lk. apply (fixed (B - 1)); auto. clear k lk.
  pose proof (low (B - 1)) as l1. pose proof (low (S (B - 1))) as l2. rewrite iter_succ in l2.
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
    destruct (H (B - 1)) as [(j & lj & e)|ge]; [now apply (fixed j)|]. specialize (inc (B - 1)). lia.
  - assert (dec : forall k, g (Nat.iter k g h) <= Nat.iter k g h).
    { induction k as [|k IH]; [simpl; lia|]. rewrite iter_succ. now apply mono. }
    assert (H : forall k, (exists j, j <= k /\ g (Nat.iter j g h) = Nat.iter j g h) \/ Nat.iter k g h + k <= h).
    { induction k as [|k [(j & lj & e)|IH]].
      - right. simpl. lia.
      - left. exists j. auto.
      - destruct (Nat.eq_dec (g (Nat.iter k g h)) (Nat.iter k g h)) as [e|ne].
        + left. exists k. auto.
        + right. rewrite iter_succ. specialize (dec k). lia. }
    pose proof (low 0) as l0. simpl in l0.
    destruct (H (B - 1)) as [(j & lj & e)|ge]; [now apply (fixed j)|]. specialize (dec (B - 1)). lia.
Qed.

Section Kinds.
Context {X : Type}.

Lemma recent_constant c (a : nat -> X) j i : constant_from j a -> j + c <= S i -> recent c a i = repeat (a j) c.
Proof.
  intros con le. unfold recent.
  assert (G : forall k from, j <= from -> map a (seq from k) = repeat (a j) k).
  { induction k as [|k IH]; intros from lf; [reflexivity|]. cbn [seq map repeat]. rewrite IH by lia. now rewrite con. }
  apply G. lia.
Qed.
Lemma slides_rests (l : layer X) B c j : 1 <= c -> slides l B c -> rests l j (j + (c - 1) + (B - 2)).
Proof.
  intros pc (entry & moves & bound & mono & acts & reads) a con i li.
  set (k := j + (c - 1)) in *. set (xs := repeat (a j) c).
  assert (rec : forall i, k <= i -> recent c a i = xs) by (intros; apply recent_constant; auto; unfold k in *; lia).
  apply reads; try (unfold k in *; lia); [now rewrite !rec by lia|].
  intros e. set (g := moves xs e). set (h := entry e (state_after l a k)).
  assert (it : forall d, entry e (state_after l a (k + d)) = Nat.iter d g h).
  { induction d as [|d IH]; [now rewrite Nat.add_0_r|]. rewrite Nat.add_succ_r, acts by (unfold k; lia).
    rewrite rec by lia. rewrite IH, iter_succ. reflexivity. }
  assert (low : forall d, Nat.iter d g h < B) by (intros d; rewrite <- it; apply bound).
  assert (fix_ : forall d, B - 1 <= d -> Nat.iter d g h = Nat.iter (B - 1) g h).
  { intros d ld. induction d as [|d IH]; [now replace (B - 1) with 0 by lia|].
    destruct (Nat.eq_dec (B - 1) (S d)) as [->|]; auto. rewrite iter_succ.
    rewrite (chain_rests_before B g h) by (auto; try lia; intros; now apply mono). apply IH. lia. }
  assert (one : forall i, k + (B - 2) <= i -> entry e (state_after l a (S i)) = Nat.iter (B - 1) g h).
  { intros q lq. replace (S q) with (k + (S q - k)) by lia. rewrite it. apply fix_. lia. }
  now rewrite !one by lia.
Qed.

(* Top-k. *)
Lemma filter_seq_last (P : nat -> bool) n : filter P (seq 0 (S n)) = filter P (seq 0 n) ++ if P n then [n] else [].
Proof. rewrite seq_S, filter_app. simpl. destruct (P n); reflexivity. Qed.
Lemma count_at_least (P : nat -> bool) from k n : from + k <= n -> (forall u, from <= u < from + k -> P u = true) ->
  k <= length (filter P (seq 0 n)).
Proof.
  intros le all. replace n with (from + (k + (n - from - k))) by lia. rewrite !seq_app, !filter_app, !app_length.
  assert (e : filter P (seq (0 + from) k) = seq from k).
  { simpl. clear le n. revert from all. induction k as [|k IH]; intros from all; [reflexivity|].
    cbn [seq filter]. rewrite all by lia. f_equal. apply IH. intros; apply all; lia. }
  rewrite e, seq_length. lia.
Qed.
Lemma selects_rests (l : layer X) k j : 1 <= k -> selects l k -> rests l j (j + (k - 1)).
Proof.
  intros pk (score & f & acts) a con.
  assert (next : forall i, j + (k - 1) <= i -> selected score k a (S i) = selected score k a i).
  { intros i li. unfold selected. rewrite filter_seq_last.
    assert (aj : forall u, j <= u -> a u = a j) by (intros; apply con; lia).
    assert (q : a (S i) = a i) by (rewrite (aj (S i)), (aj i) by lia; reflexivity).
    assert (same : forall u t, beats score a (S i) u t = beats score a i u t) by (intros; unfold beats; now rewrite q).
    replace (length (filter (fun u => beats score a (S i) u (S i)) (seq 0 (S (S i)))) <? k) with false.
    2: { symmetry. apply Nat.ltb_ge. apply (count_at_least _ j); [lia|]. intros u lu. unfold beats.
         rewrite (aj (S i)), (aj u) by lia. rewrite Z.ltb_irrefl, Z.eqb_refl. simpl. apply Nat.ltb_lt. lia. }
    rewrite app_nil_r. apply filter_ext_in. intros t it. apply in_seq in it.
    rewrite filter_seq_last.
    rewrite (filter_ext (fun u => beats score a (S i) u t) (fun u => beats score a i u t)) by (intros; apply same).
    destruct (beats score a (S i) (S i) t) eqn:b; [|now rewrite app_nil_r].
    rewrite same in b. unfold beats in b. apply orb_true_iff in b as [b|b].
    2: { apply andb_true_iff in b as [_ b]. apply Nat.ltb_lt in b. lia. }
    assert (many : k <= length (filter (fun u => beats score a i u t) (seq 0 (S i)))).
    { apply (count_at_least _ j); [lia|]. intros u lu. unfold beats. rewrite (aj u) by lia. rewrite (aj (S i)) in b by lia. now rewrite b. }
    rewrite app_length. set (c := length (filter _ _)) in *. cbn [length].
    destruct (Nat.ltb_spec (c + 1) k), (Nat.ltb_spec c k); auto; lia. }
  assert (all : forall i, j + (k - 1) <= i -> selected score k a i = selected score k a (j + (k - 1))).
  { intros i li. induction li as [|i li IH]; auto. rewrite next by lia. exact IH. }
  intros i li. rewrite !acts, (all i li), (con i), (con (j + (k - 1))) by lia. reflexivity.
Qed.

(* Softmax. *)
Section Head.
Variables (h : head_maps X) (E R : Z).
Hypothesis within : head_within h E R.
Variables (a : nat -> X) (j : nat).
Hypothesis con : constant_from j a.
Let x := a j.
Definition w_at (u : nat) : Z := weight h (dot (query h 0 x) (key_of h 0 (a u))).
Definition v_at (c u : nat) : Z := nth c (value_of h 0 (a u)) 0%Z.
Definition width_of := length (value_of h 0 x).
Lemma sums_are i n : head_partial h i x a n =
  match n with O => [] | _ => total w_at n :: map (fun c => total (fun u => w_at u * v_at c u)%Z n) (seq 0 width_of) end.
Proof.
  destruct within as (fq & fk & fv & _ & len & _).
  assert (vec : forall u, map (Z.mul (w_at u)) (value_of h 0 (a u)) = map (fun c => w_at u * v_at c u)%Z (seq 0 width_of)).
  { intros u. unfold v_at, width_of. rewrite (len x (a u)). generalize (w_at u) as w. intros w.
    generalize (value_of h 0 (a u)). induction l as [|z zs IH]; [reflexivity|]. cbn [length seq map nth]. f_equal.
    rewrite <- seq_shift, map_map. exact IH. }
  induction n as [|n IH]; [reflexivity|]. cbn [head_partial]. rewrite IH. unfold head_term.
  rewrite fq, fk, fv. fold (w_at n). cbv zeta. rewrite vec. destruct n as [|n].
  - cbn [vadd total]. rewrite Z.add_0_l. f_equal.
  - cbn [vadd]. rewrite vadd_map. reflexivity.
Qed.
(* Behind j, k copies of one term. *)
Lemma total_tail (f : nat -> Z) k : (forall u, j <= u -> f u = f j) -> total f (j + k) = (total f j + Z.of_nat k * f j)%Z.
Proof.
  intros same. induction k as [|k IH]; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r. cbn [total]. rewrite IH, (same (j + k)) by lia. lia.
Qed.
Lemma rounds_to c k : (Z.of_nat j * (E * (2 * R - 1)) < Z.of_nat k)%Z -> (0 <= R)%Z -> 0 < k -> (1 <= w_at j)%Z ->
  rounded (total (fun u => w_at u * v_at c u)%Z (j + k)) (total w_at (j + k)) = v_at c j.
Proof.
  intros far pR pk pe. destruct within as (fq & fk & fv & wb & len & vb).
  assert (wpos : forall u, (0 <= w_at u <= E)%Z) by (intros; apply wb).
  rewrite !total_tail.
  2: { intros u lu. unfold w_at. now rewrite (con u lu). }
  2: { intros u lu. unfold w_at, v_at. now rewrite (con u lu). }
  set (v := v_at c j). set (e := w_at j). set (B := total w_at j). set (A := total (fun u => w_at u * v_at c u)%Z j).
  (* A - v B and B, together. *)
  assert (dif : forall n, (2 * Z.abs (total (fun u => w_at u * v_at c u)%Z n - v * total w_at n) - total w_at n <=
                           Z.of_nat n * Z.max 0 (E * (2 * R - 1)))%Z).
  { induction n as [|n IH]; [cbn [total]; rewrite Z.mul_0_r; change (Z.of_nat 0) with 0%Z; rewrite Z.mul_0_l; lia|].
    cbn [total]. rewrite Nat2Z.inj_succ, Z.mul_succ_l. set (F := Z.max 0 (E * (2 * R - 1))) in *.
    assert (d : (Z.abs (v_at c n - v) <= R)%Z) by (unfold v, v_at; apply vb).
    specialize (wpos n). set (w := w_at n) in *. set (u := v_at c n) in *.
    assert (t : (2 * (w * Z.abs (u - v)) - w <= F)%Z).
    { assert (w * (2 * Z.abs (u - v) - 1) <= F)%Z; [|lia]. unfold F.
      destruct (Z.le_gt_cases (2 * Z.abs (u - v) - 1) 0); [nia|].
      apply Z.le_trans with (E * (2 * R - 1))%Z; [apply Z.mul_le_mono_nonneg; lia|lia]. }
    replace (total (fun u0 => w_at u0 * v_at c u0) n + w * u - v * (total w_at n + w))%Z
      with ((total (fun u0 => w_at u0 * v_at c u0) n - v * total w_at n) + w * (u - v))%Z by ring.
    assert (ab : (Z.abs (w * (u - v)) = w * Z.abs (u - v))%Z) by (rewrite Z.abs_mul; lia). lia. }
  specialize (dif j). fold A B in dif.
  assert (pB : (0 <= B)%Z).
  { unfold B. clear - wpos. generalize j. intros q. induction q as [|n IH]; [simpl; lia|]. cbn [total]. specialize (wpos n). lia. }
  set (den := (B + Z.of_nat k * e)%Z).
  assert (far' : (Z.of_nat j * Z.max 0 (E * (2 * R - 1)) < Z.of_nat k)%Z).
  { destruct (Z.max_spec 0 (E * (2 * R - 1))) as [[_ ->]|[_ ->]]; lia. }
  assert (near : (2 * Z.abs (A - v * B) < den)%Z) by (unfold den; nia).
  unfold rounded. symmetry. apply Z.div_unique with (r := (2 * (A - v * B) + den)%Z); [left; lia|].
  unfold den. ring.
Qed.
End Head.
Lemma softmax_rests (l : layer X) E p scale j : 1 <= j -> softmax_within l E p scale ->
  rests l j (N.to_nat (rest_of (Full E p scale) (N.of_nat j))).
Proof.
  intros pj (hs & mlp & free & acts & all) a con i li. rewrite !acts.
  unfold apply, heads. cbn [out softmax_layer round]. cbn [rest_of] in *.
  set (R := (scale * (2 ^ p - 1))%N) in *. set (K := (E * (2 * R - 1))%N) in *.
  assert (ek : N.to_nat (N.of_nat j * (1 + K)) = j + j * N.to_nat K) by (clear; lia).
  rewrite ek in *. set (k0 := j + j * N.to_nat K) in *.
  assert (lj : j <= k0) by (unfold k0; lia).
  rewrite (free i), (free k0). rewrite !(con i), !(con k0) by lia. f_equal.
  rewrite !partial_heads, !map_map. apply map_ext_in. intros h ih.
  pose proof (proj1 (Forall_forall _ _) all h ih) as wh.
  (* A repeated token without weight adds nothing. *)
  destruct (Z.eq_dec (w_at h a j j) 0) as [none|some].
  { assert (same : forall q, k0 <= q -> head_round (head_partial h q (a j) a (S q)) = head_round (head_partial h 0 (a j) a j)).
    { intros q lq. rewrite !(sums_are h _ _ wh a j). destruct j as [|j']; [lia|]. set (j := S j') in *.
      assert (flat : forall f : nat -> Z, (forall u, j <= u -> f u = 0%Z) -> total f (S q) = total f j).
      { intros f z. replace (S q) with (j + (S q - j)) by lia. rewrite (total_tail j f).
        - rewrite z by lia. lia.
        - intros u lu. now rewrite !z by lia. }
      assert (zero : forall u, j <= u -> w_at h a j u = 0%Z) by (intros u lu; unfold w_at in *; now rewrite (con u lu)).
      rewrite (flat (w_at h a j)) by exact zero. do 2 f_equal. apply map_ext. intros c. apply flat. intros u lu. now rewrite zero. }
    now rewrite !same by lia. }
  assert (one : forall q, k0 <= q -> head_round (head_partial h q (a j) a (S q)) = value_of h 0 (a j)).
  { intros q lq. rewrite (sums_are h _ _ wh a j q (S q)). cbn [head_round]. rewrite map_map.
    replace (S q) with (j + (S q - j)) by lia.
    rewrite (map_ext_in _ (fun c => v_at h a c j)).
    - unfold v_at, width_of. generalize (value_of h 0 (a j)). clear. induction l as [|z zs IH]; [reflexivity|].
      cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH.
    - intros c _. apply (rounds_to h _ _ wh a j con c (S q - j)); [|lia|lia|].
      2: { destruct wh as (_ & _ & _ & wb & _). specialize (wb (dot (query h 0 (a j)) (key_of h 0 (a j)))). unfold w_at in some. unfold w_at. lia. }
      assert (big : (Z.of_N E * (2 * Z.of_N R - 1) <= Z.of_nat (N.to_nat K))%Z) by (unfold K; clear; nia).
      assert (far : j * N.to_nat K < S q - j) by (unfold k0 in lq; lia).
      clear -big far. nia. }
  now rewrite !one by lia.
Qed.

Lemma kind_rests (l : layer X) k j : 1 <= j -> is_kind l k -> rests l j (N.to_nat (rest_of k (N.of_nat j))) /\ j <= N.to_nat (rest_of k (N.of_nat j)).
Proof.
  intros pj. destruct k as [bits conv|width|k|E p scale]; cbn [is_kind].
  - intros [pc s]. apply slides_rests with (j := j) in s; auto. cbn [rest_of]. split; [|lia].
    replace (N.to_nat _) with (j + (N.to_nat conv - 1) + (N.to_nat (2 ^ bits) - 2)) by lia. exact s.
  - intros [pc s]. apply slides_rests with (j := j) in s; auto. cbn [rest_of]. split; [|lia].
    replace (N.to_nat _) with (j + (N.to_nat width - 1) + (1 - 2)) by lia. exact s.
  - intros [pk s]. apply selects_rests with (j := j) in s; auto. cbn [rest_of]. split; [|lia].
    replace (N.to_nat _) with (j + (N.to_nat k - 1)) by lia. exact s.
  - intros s. split; [now apply softmax_rests|]. cbn [rest_of]. set (K := (E * _)%N). clear. lia.
Qed.
Lemma layer_rests (l : layer X) ks j : 1 <= j -> is_layer l ks ->
  rests l j (N.to_nat (layer_rest ks (N.of_nat j))) /\ j <= N.to_nat (layer_rest ks (N.of_nat j)).
Proof.
  intros pj. induction 1 as [l f pt|l r b k ks kl rl IH (join & acts)].
  - cbn [layer_rest fold_right]. rewrite Nat2N.id. split; auto. intros a con i li. rewrite !pt. now rewrite con.
  - destruct IH as [IH jl]. destruct (kind_rests l k j pj kl) as [h jk]. unfold layer_rest in *. cbn [fold_right].
    change (fold_right (fun k => N.max (rest_of k (N.of_nat j))) (N.of_nat j) ks) with (layer_rest ks (N.of_nat j)) in *.
    revert h jk IH jl. generalize (rest_of k (N.of_nat j)) as u, (layer_rest ks (N.of_nat j)) as v. intros u v h jk IH jl.
    split; [|clear -jl; lia].
    intros a con i li. rewrite !acts.
    rewrite (constant_later (N.to_nat u) (N.to_nat (N.max u v)) _ ltac:(lia) (h a con) i li).
    rewrite (constant_later (N.to_nat v) (N.to_nat (N.max u v)) _ ltac:(lia) (IH a con) i li).
    rewrite (con i), (con (N.to_nat (N.max u v))) by lia. reflexivity.
Qed.
Lemma stack_rests (ls : list (layer X)) kinds j a : 1 <= j -> Forall2 is_layer ls kinds -> constant_from j a ->
  constant_from (N.to_nat (fold_left (fun j ks => layer_rest ks j) kinds (N.of_nat j))) (run ls a).
Proof.
  intros pj all. revert j a pj. induction all as [|l ks ls kinds one all IH]; intros j a pj con.
  - cbn [fold_left run]. now rewrite Nat2N.id.
  - cbn [fold_left run]. destruct (layer_rests l ks j pj one) as [h lj].
    set (k := layer_rest ks (N.of_nat j)) in *. rewrite <- (N2Nat.id k). apply IH; [lia|]. now apply h.
Qed.
End Kinds.

(* Behind the tokens u. *)
Theorem same_answers (m : model) (u : list nat) (t : nat) kinds n n' : unplaced m -> Forall2 is_layer (stack m) kinds -> u <> [] ->
  N.to_nat (copies kinds (N.of_nat (length u))) <= n -> N.to_nat (copies kinds (N.of_nat (length u))) <= n' ->
  said m (u ++ repeat t n) = said m (u ++ repeat t n').
Proof.
  intros un all nu ln ln'. set (p := fun i => nth i u t).
  assert (pu : 1 <= length u) by (destruct u; [contradiction|cbn [length]; lia]).
  assert (con : constant_from (length u) (input m p)).
  { intros i li. unfold input, p. rewrite !nth_overflow by lia. apply un. }
  pose proof (stack_rests (stack m) kinds (length u) _ pu all con) as rest.
  change (fold_left (fun j ks => layer_rest ks j) kinds (N.of_nat (length u))) with (horizon_from kinds (N.of_nat (length u))) in rest.
  unfold copies in ln, ln'. set (H := horizon_from kinds (N.of_nat (length u))) in *.
  assert (one : forall q, N.to_nat (H - N.of_nat (length u) + 1) <= q -> said m (u ++ repeat t q) = says m (run (stack m) (input m p) (N.to_nat H))).
  { intros q lq. unfold said, last_activation. f_equal. rewrite app_length, repeat_length.
    rewrite <- (rest (pred (length u + q))) by lia. apply run_ext. intros i li. unfold input, prompt_of, p. f_equal.
    destruct (le_lt_dec (length u) i) as [ge|lt].
    - rewrite app_nth2, (nth_overflow u) by lia. rewrite nth_indep with (d' := t) by (rewrite repeat_length; lia). apply nth_repeat.
    - rewrite app_nth1 by lia. now apply nth_indep. }
  now rewrite !one.
Qed.
