(* What is proved. Read Model.v (what a model is), Tasks.v (what is asked) and LogLinearLayer.v first; every theorem here
   speaks about those definitions and about the programs of Counts.v. Nothing else is needed to know what is claimed. *)
From Coq Require Import List NArith Arith Bool Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Model Tasks LogLinearLayer Steady Softmax Counts.
From Rung Require Import Counting Subsets Cut Recurrent LogLinear CountsCorrect SeqComp Pair Late EBound TwoFull Early SpreadCorrect
  Aperiodic Automata Gadget Constructions.

Local Notation "# n" := (N.to_nat n) (at level 1).

(** * Recurrent stacks: s state bits in all, any chain of thought *)

Theorem recurrent_index (m : model) (s n sigma : N) :
  index_impossible s n sigma = true -> recurrent (stack m) #s -> ~ solves_by_thought m (index_task #n #sigma).
Proof.
  intros H R. apply exceeds_nat in H. apply (index_cut m #n #sigma #n #s); auto; [now apply recurrent_anywhere|].
  pose proof (Nat.pow_nonzero 2 #s). destruct (Nat.eq_dec #n 0) as [e|]; [rewrite e in H; simpl in H|]; lia.
Qed.
Theorem recurrent_eva (m : model) (s n : N) :
  eva_impossible s n = true -> recurrent (stack m) #s -> ~ solves_by_thought m (eva #n).
Proof. apply recurrent_index. Qed.

Theorem recurrent_recall (m : model) (s n K sigma : N) :
  recall_impossible s n K sigma = true -> recurrent (stack m) #s ->
  ~ solves_by_thought m (retrieval #n #K #sigma) /\ ~ solves_by_thought m (mqar #n #K #sigma).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply exceeds_nat in H2.
  split; [apply (retrieval_cut m #n #K #sigma #s)|apply (mqar_cut m #n #K #sigma #s)];
    auto; try (now apply recurrent_anywhere); lia.
Qed.

(* N_{L-1}, the entries of z_L, for any sizes m, n_1, .. of L-SeqComp. *)
Theorem recurrent_seqcomp (mdl : model) (s N : N) (m L : nat) (n : nat -> nat) :
  seqcomp_impossible s N = true -> recurrent (stack mdl) #s ->
  1 <= L -> entries m n (pred L) = #N -> ~ solves_by_thought mdl (seqcomp m n L).
Proof.
  intros H R l1 e. apply exceeds_nat in H.
  apply (seqcomp_cut mdl m n L #N #s); auto; [now apply recurrent_anywhere| |now rewrite e].
  pose proof (Nat.pow_nonzero 2 #s). destruct (Nat.eq_dec #N 0) as [e0|]; [rewrite e0 in H; simpl in H|]; lia.
Qed.

Theorem recurrent_strings (m : model) (s n : N) :
  strings_impossible s n = true -> recurrent (stack m) #s ->
  ~ solves_by_thought m (equality #n) /\ ~ solves_by_thought m (disjointness #n).
Proof.
  intros H R. assert (lt : #s < #n) by (unfold strings_impossible in H; lia).
  apply (Nat.pow_lt_mono_r 2) in lt; [|lia].
  split; [apply (equality_cut m #n #s)|apply (disjointness_cut m #n #s)]; auto; now apply recurrent_anywhere.
Qed.

Theorem recurrent_two_sum (m : model) (s n M : N) :
  two_sum_impossible s n M = true -> recurrent (stack m) #s -> ~ solves_by_thought m (two_sum #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat M n).
  apply (two_sum_cut m #n #M #n #s 1 #n (seq 0 #M) 0); auto; try lia.
  - now apply recurrent_anywhere.
  - apply seq_NoDup.
  - intros v i. apply in_seq in i. lia.
  - rewrite seq_length. lia.
Qed.
Theorem recurrent_two_sum_exists (m : model) (s n M : N) :
  two_sum_exists_impossible s n M = true -> recurrent (stack m) #s -> ~ solves_by_thought m (two_sum_exists #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat ((M - 1) / 2) (n - 1)) as b.
  rewrite N2Nat.inj_div, !N2Nat.inj_sub in b. change #1 with 1 in b. change #2 with 2 in b.
  apply (two_sum_exists_cut m #n #M #s); [now apply recurrent_anywhere| |]; lia.
Qed.
Theorem recurrent_three_sum (m : model) (s n M : N) :
  three_sum_impossible s n M = true -> recurrent (stack m) #s -> ~ solves_by_thought m (three_sum #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat (three_sum_values M) (n - 2)) as b.
  unfold three_sum_values in b at 2. rewrite !N2Nat.inj_sub, !N2Nat.inj_div, N2Nat.inj_sub in b.
  change #1 with 1 in b. change #2 with 2 in b. change #3 with 3 in b. change #6 with 6 in b.
  apply (three_sum_cut m #n #M #s); [now apply recurrent_anywhere|lia|].
  unfold middle_values. rewrite seq_length. lia.
Qed.

(** * Log-linear stacks: s bits of one level of every log-linear layer and of all other states, any chain of thought *)

Theorem log_linear_index (m : model) (s n sigma : N) :
  log_linear_index_impossible s n sigma = true -> bucketed (stack m) #s ->
  ~ solves_by_thought m (index_task #n #sigma).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply exceeds_nat in H2.
  unfold oldest_bucket in H2. rewrite N2Nat.inj_pow in H2. change #2 with 2 in H2.
  apply (index_cut m #n #sigma (2 ^ #(N.log2 n)) #s); auto; [now apply bucketed_crosses|].
  split; [pose proof (Nat.pow_nonzero 2 #(N.log2 n)); lia|].
  destruct (N.log2_spec n) as [b _]; [lia|]. apply N.lt_succ_r, lt_nat in b.
  rewrite N2Nat.inj_pow, N2Nat.inj_succ in b. change #2 with 2 in b. lia.
Qed.
Theorem log_linear_eva (m : model) (s n : N) :
  log_linear_eva_impossible s n = true -> bucketed (stack m) #s -> ~ solves_by_thought m (eva #n).
Proof. apply log_linear_index. Qed.
Theorem log_linear_seqcomp (mdl : model) (s N : N) (m L : nat) (n : nat -> nat) :
  log_linear_seqcomp_impossible s N = true -> bucketed (stack mdl) #s ->
  1 <= L -> entries m n (pred L) = #N -> ~ solves_by_thought mdl (seqcomp m n L).
Proof.
  intros H R l1 e. apply andb_true_iff in H as [H1 H2]. apply exceeds_nat in H2.
  unfold oldest_bucket in H2. rewrite N2Nat.inj_pow in H2. change #2 with 2 in H2.
  apply (seqcomp_cut mdl m n L (2 ^ #(N.log2 N)) #s); auto; [now apply bucketed_crosses| |now rewrite e].
  split; [pose proof (Nat.pow_nonzero 2 #(N.log2 N)); lia|]. rewrite e.
  destruct (N.log2_spec N) as [b _]; [lia|]. apply N.lt_succ_r, lt_nat in b.
  rewrite N2Nat.inj_pow, N2Nat.inj_succ in b. change #2 with 2 in b. lia.
Qed.
Theorem log_linear_two_sum (m : model) (s n M : N) :
  log_linear_two_sum_impossible s n M = true -> bucketed (stack m) #s -> ~ solves_by_thought m (two_sum #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply andb_true_iff in H1 as [H0 H1].
  apply N.ltb_lt, pow_lt_nat in H2. rewrite binomial_nat in H2.
  unfold oldest_bucket in H2. rewrite N2Nat.inj_pow in H2. change #2 with 2 in H2.
  set (k := #(N.log2 n)) in *.
  assert (b : 2 ^ k <= #n).
  { destruct (N.log2_spec n) as [b _]; [lia|]. apply N.lt_succ_r, lt_nat in b.
    rewrite N2Nat.inj_pow, N2Nat.inj_succ in b. change #2 with 2 in b. fold k in b. lia. }
  assert (p : 2 ^ k <> 0) by (apply Nat.pow_nonzero; lia).
  set (values := if (n =? 2 ^ N.log2 n)%N then M else (M - 1)%N) in *.
  apply (two_sum_cut m #n #M (2 ^ k) #s (2 ^ k) 1 (seq 0 #values) #(M - 1)); auto; try lia.
  - now apply bucketed_crosses.
  - apply seq_NoDup.
  - intros v i. apply in_seq in i. unfold values in i. destruct (N.eqb_spec n (2 ^ N.log2 n)); lia.
  - rewrite seq_length. unfold binoms. simpl. lia.
  - unfold values. destruct (N.eqb_spec n (2 ^ N.log2 n)) as [e|ne].
    + left. rewrite e at 1. rewrite N2Nat.inj_pow. reflexivity.
    + right. unfold oldest_bucket in H1. fold values in H1. unfold values in H1.
      destruct (N.eqb_spec n (2 ^ N.log2 n)); [contradiction|].
      assert (0 < 2 ^ N.log2 n)%N by (apply N.neq_0_lt_0, N.pow_nonzero; lia).
      split; [lia|]. rewrite in_seq. lia.
Qed.

(** * One full layer, recurrent heads beside it (s bits) and recurrent layers behind it (t bits); no chain of thought *)

Theorem one_full_layer_late (mdl : model) (M s1 m n1 T x0 y : N) (L : nat) (n : nat -> nat)
    (l : layer (activation mdl)) (rest : list (layer (activation mdl))) (s t : nat) :
  late_impossible M s1 (N.of_nat (L - 2)) m n1 T x0 y = true ->
  stack mdl = l :: rest -> parts_fit l (tokens (seqcomp #m n L)) #M -> state_fits l s -> recurrent rest t -> s + t = #s1 ->
  2 <= L -> n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n L).
Proof.
  intros H shape P S R es L2 e1 npos. unfold late_impossible in H.
  apply andb_true_iff in H as [H count]. repeat rewrite andb_true_iff in H.
  destruct H as ((((H1 & H2) & H3) & H4) & H5). apply exceeds_nat in count.
  rewrite tokens_is in P.
  apply (late #m n L L2 npos mdl l rest shape #T #x0 #y #M s t); auto.
  - now apply state_fits_crosses.
  - now apply recurrent_anywhere.
  - clear count. lia.
  - clear count. lia.
  - clear count. lia.
  - rewrite !N2Nat.inj_mul, !N2Nat.inj_add, !N2Nat.inj_mul, !N2Nat.inj_add, Nat2N.id in count.
    rewrite e1, es. change #1 with 1 in count.
    replace (#x0 + #y + (L - 1)) with (#x0 + #y + 1 + (L - 2)) by (clear count; lia). exact count.
Qed.

(* Recurrent layers before the full one (s_0 bits) too. The proof needs less than the count asks for: T s_0 + 1 of its bits
   and the 2/T of its first condition are not used. *)
Theorem one_full_layer_early (mdl : model) (M s0 s1 m n1 T x0 y : N) (L : nat) (n : nat -> nat)
    (before : list (layer (activation mdl))) (l : layer (activation mdl)) (rest : list (layer (activation mdl))) (s t : nat) :
  early_impossible M s0 s1 (N.of_nat (L - 2)) m n1 T x0 y = true ->
  stack mdl = before ++ l :: rest -> recurrent before #s0 ->
  parts_fit l (tokens (seqcomp #m n L)) #M -> state_fits l s -> recurrent rest t -> s + t = #s1 ->
  2 <= L -> n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n L).
Proof.
  intros H shape R0 P S R es L2 e1 npos. unfold early_impossible in H.
  apply andb_true_iff in H as [H count]. apply andb_true_iff in H as [H spread]. repeat rewrite andb_true_iff in H.
  apply exceeds_nat in count. apply spreads_nat in spread; [|clear spread count; lia|clear spread count; lia].
  rewrite tokens_is in P.
  assert (eh : #(half_up (T * x0)) = (#T * #x0 + 1) / 2).
  { unfold half_up. rewrite N2Nat.inj_div, N2Nat.inj_add, N2Nat.inj_mul. reflexivity. }
  refine (early #m n L L2 npos mdl before l rest shape unit above unit_above factorial_above #T #x0 #y #M #s0 s t R0 P
            _ _ _ _ _ spread _).
  - now apply state_fits_crosses.
  - now apply recurrent_anywhere.
  - clear spread count. lia.
  - clear spread count. lia.
  - clear spread count. rewrite e1. lia.
  - clear spread. rewrite !N2Nat.inj_mul, eh in count. rewrite e1. eapply Nat.le_lt_trans; [|exact count].
    apply Nat.pow_le_mono_r; [discriminate|]. clear count.
    rewrite !N2Nat.inj_add, !N2Nat.inj_mul, !N2Nat.inj_add, !N2Nat.inj_mul, Nat2N.id, es.
    change #1 with 1. change #2 with 2. replace L with (2 + (L - 2)) at 1 by lia. generalize (L - 2). intros k.
    replace (1 + (2 + k) * #y) with (2 * #y + 1 + k * #y) by ring. lia.
Qed.

(** * Two full layers with recurrent heads beside them (s_1, s_2 bits), recurrent layers behind (t bits); no chain of
    thought. `two_full_layers` has no recurrent heads; `head_wise_2` is the general case, `rest = []` its word (F|R)(F|R). *)

Theorem head_wise_2 (mdl : model) (M out : N) (follows : bool) (after beside1 beside2 m n1 T x0 y : N) (n : nat -> nat)
    (l1 l2 : layer (activation mdl)) (rest : list (layer (activation mdl))) :
  two_full_impossible M out follows after beside1 beside2 m n1 T x0 y = true ->
  stack mdl = l1 :: l2 :: rest ->
  parts_fit l1 (tokens (seqcomp #m n 2)) #M -> parts_fit l2 (tokens (seqcomp #m n 2)) #M -> heads_fit l1 #out ->
  state_fits l1 #beside1 -> state_fits l2 #beside2 ->
  (rest = nil \/ follows = true /\ recurrent rest #after) ->
  n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n 2).
Proof.
  intros H shape (p1 & P1 & P1') (p2 & P2 & P2') (h1 & H1 & H1') (q1 & S1 & S1') (q2 & S2 & S2') R e1 npos.
  unfold two_full_impossible in H.
  apply andb_true_iff in H as [H count]. apply andb_true_iff in H as [H spread]. repeat rewrite andb_true_iff in H.
  apply exceeds_nat in count. apply strictly_nat in spread.
  rewrite tokens_is in P1, P1', P2, P2'.
  rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_add in spread. change #1 with 1 in spread.
  assert (eh : #(half_up (T * x0)) = (#T * #x0 + 1) / 2).
  { unfold half_up. rewrite N2Nat.inj_div, N2Nat.inj_add, N2Nat.inj_mul. reflexivity. }
  refine (two_full #m n npos mdl l1 l2 rest shape #M #out #beside1 #beside2 #after p1 P1 P1' p2 P2 P2' h1 H1 H1' q1 S1 S1'
           q2 S2 S2' unit above unit_above factorial_above follows _ #T #x0 #y _ _ _ spread _).
  - destruct R as [R|[f R]]; [left; exact R|right; split; [exact f|now apply recurrent_anywhere]].
  - clear spread count. lia.
  - clear spread count. lia.
  - clear spread count. rewrite e1. lia.
  - clear spread. rewrite !N2Nat.inj_mul, eh in count. rewrite e1. eapply Nat.le_lt_trans; [|exact count].
    apply Nat.pow_le_mono_r; [discriminate|]. unfold two_full_bits. destruct follows; clear count;
      rewrite ?N2Nat.inj_add, ?N2Nat.inj_mul, ?N2Nat.inj_add, ?N2Nat.inj_mul, ?N2Nat.inj_add; change #1 with 1; change #0 with 0;
      apply Nat.eq_le_incl; reflexivity.
Qed.
Theorem two_full_layers (mdl : model) (M out : N) (follows : bool) (after m n1 T x0 y : N) (n : nat -> nat)
    (l1 l2 : layer (activation mdl)) (rest : list (layer (activation mdl))) :
  two_full_impossible M out follows after 0 0 m n1 T x0 y = true ->
  stack mdl = l1 :: l2 :: rest ->
  parts_fit l1 (tokens (seqcomp #m n 2)) #M -> parts_fit l2 (tokens (seqcomp #m n 2)) #M -> heads_fit l1 #out ->
  state_fits l1 0 -> state_fits l2 0 ->
  (rest = nil \/ follows = true /\ recurrent rest #after) ->
  n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n 2).
Proof. intros H sh P1 P2 O1 S1 S2. exact (head_wise_2 mdl M out follows after 0 0 m n1 T x0 y n l1 l2 rest H sh P1 P2 O1 S1 S2). Qed.

(** * State tracking: layers without positions whose recurrences and sums come to rest (Steady.v) *)

(* On u w^n v the answer is one for all large n. *)
Theorem eventually_one_answer (m : model) (u w v : list nat) :
  unplaced m -> Forall steady (stack m) -> w <> nil -> u ++ v <> nil ->
  exists N, forall n, N <= n -> said m (u ++ power w n ++ v) = said m (u ++ power w N ++ v).
Proof. apply answers_settle. Qed.
(* Every minimal automaton that is solved at every length is aperiodic: no word cycles through different places. *)
Theorem aperiodicity (m : model) (a : automaton) (start size : nat) (letter : nat -> Prop) :
  unplaced m -> Forall steady (stack m) -> solved_at_every_length m a start letter ->
  finite_places a size -> minimal a letter ->
  forall u w, Forall letter u -> Forall letter w -> exists N, forall n, N <= n ->
    reach a (initial a) (u ++ power w (S n)) = reach a (initial a) (u ++ power w n).
Proof. apply aperiodic. Qed.
Theorem parity_impossible (m : model) (start : nat) :
  unplaced m -> Forall steady (stack m) -> ~ solved_at_every_length m parity start (fun t => t < 2).
Proof. apply no_parity. Qed.
(* Monotone recurrences come to rest after as many repetitions as an entry has values. *)
Theorem monotone_recurrences_rest {X} (l : layer X) (B : nat) (entry : nat -> state l -> nat) (moves : X -> nat -> nat -> nat) :
  (forall q r, (forall e, entry e q = entry e r) -> q = r) ->
  (forall e q, entry e q < B) ->
  (forall x e a b, a <= b -> moves x e a <= moves x e b) -> (forall x e a, a < B -> moves x e a < B) ->
  (forall x e q, entry e (step l 0 x q) = moves x e (entry e q)) ->
  forall xs q, along l xs (Nat.iter B (along l xs) q) = Nat.iter B (along l xs) q.
Proof. apply monotone_rests_after. Qed.

(** * Constructions: softmax layers on exact integers (Softmax.v) *)

Theorem eva_one_layer (D n : nat) : n + 1 <= 2 ^ D -> solves (eva_model D n) (eva n).
Proof. apply eva_possible. Qed.
Theorem seqcomp_one_layer_more (D m L : nat) (n : nat -> nat) : 1 <= L -> tokens (seqcomp m n L) <= 2 ^ D ->
  (forall p, asks (seqcomp m n L) p -> forall i, i < tokens (seqcomp m n L) -> p i < 2 ^ D) ->
  length (stack (seqcomp_model D m n L)) = L + 1 /\ solves (seqcomp_model D m n L) (seqcomp m n L).
Proof.
  intros. split; [|now apply seqcomp_possible].
  cbn [stack seqcomp_model]. rewrite map_length, seq_length. lia.
Qed.
