(* Layers that settle: on u w^n v everything is independent of n, for large n. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Cut Steady.
Import ListNotations.

Lemma iter_succ {A} k (f : A -> A) x : Nat.iter (S k) f x = f (Nat.iter k f x).
Proof. reflexivity. Qed.

Section Layer.
Context {X : Type} (l : layer X).
Hypothesis free : position_free l.

Lemma state_shift a a' p p' d : state_after l a p = state_after l a' p' ->
  (forall e, e < d -> a (p + e) = a' (p' + e)) -> state_after l a (p + d) = state_after l a' (p' + d).
Proof.
  intros h. destruct free as (fs & _ & _). induction d as [|d IH]; intros same; [now rewrite !Nat.add_0_r|].
  rewrite !Nat.add_succ_r. cbn [state_after]. rewrite IH by (intros; apply same; lia).
  rewrite same by lia. rewrite (fs (p + d)), (fs (p' + d)). reflexivity.
Qed.
Lemma partial_shift a a' i i' x p p' d : (forall e, e < d -> a (p + e) = a' (p' + e)) ->
  partial l i x a p d = partial l i' x a' p' d.
Proof.
  destruct free as (_ & ft & _). induction d as [|d IH]; intros same; [reflexivity|].
  cbn [partial]. rewrite IH by (intros; apply same; lia). rewrite same by lia. f_equal.
  rewrite (ft i x (p + d)), (ft i' x (p' + d)). reflexivity.
Qed.

(* Whole periods. *)
Lemma state_periods a p W xs k : length xs = W ->
  (forall j r, j < k -> r < W -> a (p + j * W + r) = nth r xs (a p)) ->
  state_after l a (p + k * W) = Nat.iter k (along l xs) (state_after l a p).
Proof.
  intros len per. induction k as [|k IH]; [simpl; now rewrite Nat.add_0_r|].
  rewrite iter_succ, <- IH by (intros; apply per; lia).
  replace (p + S k * W) with (p + k * W + W) by lia. set (q := p + k * W).
  assert (H : forall d, d <= W -> state_after l a (q + d) = along l (firstn d xs) (state_after l a q)).
  { induction d as [|d IHd]; intros le; [now rewrite Nat.add_0_r|].
    rewrite Nat.add_succ_r. cbn [state_after]. rewrite IHd by lia.
    destruct free as (fs & _ & _). rewrite fs. unfold q. rewrite per by lia.
    assert (e : firstn (S d) xs = firstn d xs ++ [nth d xs (a p)]).
    { clear -le len. revert d le len. generalize (a p) as z. intros z.
      assert (G : forall (ys : list X) d, d < length ys -> firstn (S d) ys = firstn d ys ++ [nth d ys z]).
      { induction ys as [|y ys IH]; intros [|d] lt; simpl in *; try lia; auto. f_equal. apply IH. lia. }
      intros d le len. apply G. lia. }
    rewrite e. unfold along. rewrite fold_left_app. reflexivity. }
  rewrite H by lia. now rewrite firstn_all2 by lia.
Qed.
Lemma add_none_left_any a b c : add l (add l a b) c = add l a (add l b c).
Proof. now rewrite add_assoc. Qed.
Lemma partial_periods a i x p W y k :
  (forall j r, j < k -> r < W -> a (p + j * W + r) = y r) ->
  partial l i x a 0 (p + k * W) = add l (partial l i x a 0 p) (times l k (partial l i x y 0 W)).
Proof.
  intros per. induction k as [|k IH].
  - simpl. now rewrite Nat.add_0_r, add_none.
  - replace (p + S k * W) with (p + k * W + W) by lia. rewrite partial_split, IH by (intros; apply per; lia).
    cbn [times]. rewrite <- add_assoc. f_equal. f_equal. apply partial_shift.
    intros e le. simpl. apply per; lia.
Qed.
End Layer.

Section Words.
Context {X : Type}.
Variables (U W V : nat).
Hypothesis Wpos : 0 < W.

(* A family of activations, one for every number of repetitions, that is independent of it from n0 on. *)
Definition settled (A : nat -> nat -> X) := exists n0 (pre per tail : nat -> X), forall n, n0 <= n ->
  (forall i, i < U + n0 * W -> A n i = pre i) /\
  (forall k r, n0 <= k < n -> r < W -> A n (U + k * W + r) = per r) /\
  (forall j, j < V -> A n (U + n * W + j) = tail j).

Variable l : layer X.
Hypothesis free : position_free l.
Hypothesis states : steady_states l.
Hypothesis sums : steady_sums l.

(* Position d behind k periods, where the tokens from there on are y: one activation for all large k. *)
Lemma probe (A : nat -> nat -> X) n0 (pre per y : nat -> X) d :
  exists N, n0 <= N /\ forall n k n' k', N <= k <= n -> N <= k' <= n' ->
    (forall i, i < U + n0 * W -> A n i = pre i) -> (forall i, i < U + n0 * W -> A n' i = pre i) ->
    (forall q r, n0 <= q < k -> r < W -> A n (U + q * W + r) = per r) ->
    (forall q r, n0 <= q < k' -> r < W -> A n' (U + q * W + r) = per r) ->
    (forall e, e <= d -> A n (U + k * W + e) = y e) -> (forall e, e <= d -> A n' (U + k' * W + e) = y e) ->
    apply l (A n) (U + k * W + d) = apply l (A n') (U + k' * W + d).
Proof.
  destruct states as [K steady].
  set (xs := map per (seq 0 W)). set (p := U + n0 * W).
  set (s0 := partial l 0 (y d) pre 0 p). set (C := partial l 0 (y d) per 0 W). set (B := partial l 0 (y d) y 0 (S d)).
  destruct (sums (y d) pre per y p W (S d) Wpos) as [R const]. cbv zeta in const. fold s0 C B in const.
  exists (n0 + K + R). split; [lia|].
  intros n k n' k' hk hk' pre1 pre2 per1 per2 y1 y2.
  assert (lxs : length xs = W) by (unfold xs; now rewrite map_length, seq_length).
  assert (nx : forall z r, r < W -> nth r xs z = per r).
  { intros z r lr. rewrite nth_indep with (d' := per 0) by lia. unfold xs. rewrite map_nth, seq_nth; auto. }
  (* what holds of either *)
  assert (st : forall a k, n0 <= k -> (forall i, i < p -> a i = pre i) ->
               (forall q r, n0 <= q < k -> r < W -> a (U + q * W + r) = per r) ->
               state_after l a (U + k * W) = Nat.iter (k - n0) (along l xs) (state_after l pre p)).
  { intros a q le h1 h2. replace (U + q * W) with (p + (q - n0) * W)
      by (unfold p; rewrite <- Nat.add_assoc, <- Nat.mul_add_distr_r; do 2 f_equal; lia).
    rewrite (state_periods l free a p W xs (q - n0)); auto.
    - f_equal. apply state_after_ext. exact h1.
    - intros j r lj lr. rewrite nx by auto. unfold p. replace (U + n0 * W + j * W + r) with (U + (n0 + j) * W + r) by lia.
      apply h2; lia. }
  assert (su : forall a k i, n0 <= k -> (forall i, i < p -> a i = pre i) ->
               (forall q r, n0 <= q < k -> r < W -> a (U + q * W + r) = per r) ->
               (forall e, e <= d -> a (U + k * W + e) = y e) -> i = U + k * W + d ->
               partial l i (a i) a 0 (S i) = add l (add l s0 (times l (k - n0) C)) B).
  { intros a q i le h1 h2 h3 ->. rewrite (h3 d) by lia.
    replace (S (U + q * W + d)) with (U + q * W + S d) by lia. rewrite partial_split. f_equal.
    - replace (U + q * W) with (p + (q - n0) * W)
      by (unfold p; rewrite <- Nat.add_assoc, <- Nat.mul_add_distr_r; do 2 f_equal; lia).
      rewrite (partial_periods l free a _ (y d) p W per (q - n0)).
      + f_equal.
        * apply partial_shift; auto.
        * f_equal. apply partial_shift; auto.
      + intros j r lj lr. unfold p. replace (U + n0 * W + j * W + r) with (U + (n0 + j) * W + r) by lia. apply h2; lia.
    - apply partial_shift; auto. intros e lt. apply h3. lia. }
  destruct free as (fs & ft & fo). unfold apply, heads.
  rewrite (su (A n) k _), (su (A n') k' _) by (auto; lia).
  rewrite (y1 d), (y2 d) by lia. rewrite (fo (U + k * W + d)), (fo (U + k' * W + d)). f_equal.
  - replace (S (U + k * W + d)) with (U + k * W + S d) by lia. replace (S (U + k' * W + d)) with (U + k' * W + S d) by lia.
    apply state_shift; [exact (conj fs (conj ft fo))| |].
    + rewrite (st (A n) k), (st (A n') k') by (auto; lia).
      assert (it : forall q, K <= q -> Nat.iter q (along l xs) (state_after l pre p) = Nat.iter K (along l xs) (state_after l pre p)).
      { intros q le. induction q as [|q IH]; [now replace K with 0 by lia|].
        destruct (Nat.eq_dec K (S q)) as [->|]; auto. rewrite iter_succ, IH by lia. apply steady. }
      rewrite (it (k - n0)), (it (k' - n0)) by lia. reflexivity.
    + intros e lt. rewrite y1, y2 by lia. reflexivity.
  - rewrite (const (k - n0)), (const (k' - n0)) by lia. reflexivity.
Qed.

Lemma max_over (P : nat -> nat -> Prop) V' : (forall j N N', N <= N' -> P j N -> P j N') ->
  (forall j, j < V' -> exists N, P j N) -> exists N, forall j, j < V' -> P j N.
Proof.
  intros mono each. induction V' as [|q IH]; [exists 0; intros; lia|].
  destruct IH as [N h]; [intros; apply each; lia|]. destruct (each q) as [N' h']; [lia|].
  exists (max N N'). intros j lj. destruct (Nat.eq_dec j q) as [->|].
  - apply (mono _ N'); auto; lia.
  - apply (mono _ N); [lia|]. apply h. lia.
Qed.

Theorem layer_settles (A : nat -> nat -> X) : settled A -> settled (fun n => apply l (A n)).
Proof.
  intros (n0 & pre & per & tail & S0).
  destruct (max_over (fun r N => n0 <= N /\ forall n k n' k', N <= k < n -> N <= k' < n' ->
      apply l (A n) (U + k * W + r) = apply l (A n') (U + k' * W + r)) W) as [N1 h1].
  { intros j N N' le [h g]. split; [lia|]. intros; apply g; lia. }
  { intros r lr. destruct (probe A n0 pre per per r) as (N & le & h). exists N. split; auto.
    intros n k n' k' hk hk'. destruct (S0 n) as (a1 & a2 & _); [lia|]. destruct (S0 n') as (b1 & b2 & _); [lia|].
    apply h; auto; try lia; intros; try (apply a2; lia); try (apply b2; lia). }
  destruct (max_over (fun j N => n0 <= N /\ forall n n', N <= n -> N <= n' ->
      apply l (A n) (U + n * W + j) = apply l (A n') (U + n' * W + j)) V) as [N2 h2].
  { intros j N N' le [h g]. split; [lia|]. intros; apply g; lia. }
  { intros j lj. destruct (probe A n0 pre per tail j) as (N & le & h). exists N. split; auto.
    intros n n' hn hn'. destruct (S0 n) as (a1 & a2 & a3); [lia|]. destruct (S0 n') as (b1 & b2 & b3); [lia|].
    apply h; auto; try lia; intros; try (apply a3; lia); try (apply b3; lia). }
  set (n1 := n0 + N1 + N2).
  exists n1, (apply l (A n1)), (fun r => apply l (A (S n1)) (U + n1 * W + r)), (fun j => apply l (A n1) (U + n1 * W + j)).
  intros n le. repeat split.
  - intros i li. apply apply_ext. intros j lj.
    destruct (S0 n) as (a1 & a2 & _); [lia|]. destruct (S0 n1) as (b1 & b2 & _); [lia|].
    destruct (le_lt_dec (U + n0 * W) j) as [ge|lt]; [|now rewrite a1, b1].
    set (k := (j - U) / W). set (r := (j - U) mod W).
    assert (ej : j = U + k * W + r) by (unfold k, r; pose proof (Nat.div_mod (j - U) W); lia).
    assert (lr : r < W) by (apply Nat.mod_upper_bound; lia).
    assert (kn0 : n0 <= k) by (apply Nat.div_le_lower_bound; lia).
    assert (kn1 : k < n1) by nia.
    rewrite ej, a2, b2 by lia. reflexivity.
  - intros k r hk lr. apply h1; auto; lia.
  - intros j lj. apply h2; auto; lia.
Qed.
End Words.

Lemma stack_settles {X} (U W V : nat) (ls : list (layer X)) (A : nat -> nat -> X) : 0 < W ->
  Forall steady ls -> settled U W V A -> settled U W V (fun n => run ls (A n)).
Proof.
  intros pw. revert A. induction ls as [|l ls IH]; intros A st s; [exact s|].
  inversion st as [|? ? (fr & ss & su) st']; subst. apply (IH (fun n => apply l (A n))); auto.
  apply layer_settles; auto.
Qed.

(* u w^n v. *)
Theorem answers_settle (m : model) (u w v : list nat) :
  unplaced m -> Forall steady (stack m) -> w <> [] -> u ++ v <> [] ->
  exists N, forall n, N <= n -> said m (u ++ power w n ++ v) = said m (u ++ power w N ++ v).
Proof.
  intros un st ne nuv.
  set (U := length u). set (W := length w). set (V := length v).
  assert (pw : 0 < W) by (unfold W; destruct w; [congruence|simpl; lia]).
  assert (lp : forall n, length (power w n) = n * W).
  { induction n as [|n IH]; [reflexivity|]. cbn [power]. rewrite app_length, IH. unfold W. lia. }
  assert (np : forall n k r, k < n -> r < W -> nth (k * W + r) (power w n) 0 = nth r w 0).
  { induction n as [|n IH]; intros k r lk lr; [lia|]. cbn [power]. destruct k as [|k].
    - simpl. now rewrite app_nth1.
    - rewrite app_nth2 by (fold W; nia). fold W. replace (S k * W + r - W) with (k * W + r) by nia. apply IH; lia. }
  set (A := fun n => input m (prompt_of (u ++ power w n ++ v))).
  assert (e0 : forall i j x, embed m i x = embed m j x) by exact un.
  assert (s0 : settled U W V A).
  { exists 0, (fun i => embed m 0 (nth i u 0)), (fun r => embed m 0 (nth r w 0)), (fun j => embed m 0 (nth j v 0)).
    intros n _. unfold A, input, prompt_of. repeat split.
    - intros i li. rewrite app_nth1 by (fold U; lia). apply e0.
    - intros k r hk lr. rewrite app_nth2 by (fold U; lia). fold U. rewrite app_nth1 by (rewrite lp; nia).
      replace (U + k * W + r - U) with (k * W + r) by lia. rewrite np by lia. apply e0.
    - intros j lj. rewrite app_nth2 by (fold U; lia). fold U. rewrite app_nth2 by (rewrite lp; lia). rewrite lp.
      replace (U + n * W + j - U - n * W) with j by lia. apply e0. }
  destruct (stack_settles U W V (stack m) A pw st s0) as (n0 & pre & per & tail & h).
  assert (len : forall n, length (u ++ power w n ++ v) = U + n * W + V).
  { intros n. rewrite !app_length, lp. fold U V. lia. }
  destruct V as [|V'] eqn:eV.
  - (* the last token is the last of a period *)
    exists (S n0). intros n le. unfold said, last_activation. rewrite !len. f_equal.
    assert (H : forall q, S n0 <= q -> run (stack m) (input m (prompt_of (u ++ power w q ++ v))) (pred (U + q * W + 0)) = per (W - 1)).
    { intros q lq. destruct (h q) as (_ & hp & _); [lia|].
      replace (pred (U + q * W + 0)) with (U + (q - 1) * W + (W - 1)) by nia. apply hp; lia. }
    now rewrite !H by lia.
  - exists n0. intros n le. unfold said, last_activation. rewrite !len. f_equal.
    assert (H : forall q, n0 <= q -> run (stack m) (input m (prompt_of (u ++ power w q ++ v))) (pred (U + q * W + S V')) = tail V').
    { intros q lq. destruct (h q) as (_ & _ & ht); [lia|].
      replace (pred (U + q * W + S V')) with (U + q * W + V') by lia. apply ht. lia. }
    now rewrite !H by lia.
Qed.
