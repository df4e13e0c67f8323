(* What is proved. Read Model.v (what a model is), Tasks.v (what is asked) and LogLinearLayer.v first; every theorem here
   speaks about those definitions and about the programs of Counts.v. Nothing else is needed to know what is claimed. *)
From Coq Require Import List NArith Arith Bool Lia.
From Coq Require Import ZifyN ZifyNat ZifyBool.
From Rung Require Import Model Tasks LogLinearLayer SparseLayer Steady Softmax Counts Rest.
From Rung Require Import Counting Subsets Cut Recurrent LogLinear CountsCorrect SeqComp Pair Late EBound TwoFull Early SpreadCorrect
  Alone Brackets Sparse Aperiodic Automata Quotient Horizon Shift Tracked Search Gadget Constructions.

Local Notation "# n" := (N.to_nat n) (at level 1).

(** * Recurrent stacks: s bits in all are handed over one cut (what the layers' states hold there; before and behind it they
    may hold more or less), any chain of thought *)

Theorem recurrent_index (m : model) (s n sigma : N) :
  index_impossible s n sigma = true -> recurrent_at #n (stack m) #s -> ~ solves_by_thought m (index_task #n #sigma).
Proof.
  intros H R. apply exceeds_nat in H. apply (index_cut m #n #sigma #n #s); auto.
  pose proof (Nat.pow_nonzero 2 #s). destruct (Nat.eq_dec #n 0) as [e|]; [rewrite e in H; simpl in H|]; lia.
Qed.
Theorem recurrent_eva (m : model) (s n : N) :
  eva_impossible s n = true -> recurrent_at #n (stack m) #s -> ~ solves_by_thought m (eva #n).
Proof. apply recurrent_index. Qed.

Theorem recurrent_recall (m : model) (s n K sigma : N) :
  recall_impossible s n K sigma = true ->
  (recurrent_at #n (stack m) #s -> ~ solves_by_thought m (retrieval #n #K #sigma)) /\
  (recurrent_at (2 * #n) (stack m) #s -> ~ solves_by_thought m (mqar #n #K #sigma)).
Proof.
  intros H. apply andb_true_iff in H as [H1 H2]. apply exceeds_nat in H2.
  split; intros R; [apply (retrieval_cut m #n #K #sigma #s)|apply (mqar_cut m #n #K #sigma #s)]; auto; lia.
Qed.

(* N_{L-1}, the entries of z_L, for any sizes m, n_1, .. of L-SeqComp. *)
Theorem recurrent_seqcomp (mdl : model) (s N : N) (m L : nat) (n : nat -> nat) :
  seqcomp_impossible s N = true -> recurrent_at #N (stack mdl) #s ->
  1 <= L -> entries m n (pred L) = #N -> ~ solves_by_thought mdl (seqcomp m n L).
Proof.
  intros H R l1 e. apply exceeds_nat in H.
  apply (seqcomp_cut m n L #N #s); auto; [now apply recurrent_limited| |now rewrite e].
  pose proof (Nat.pow_nonzero 2 #s). destruct (Nat.eq_dec #N 0) as [e0|]; [rewrite e0 in H; simpl in H|]; lia.
Qed.

Theorem recurrent_strings (m : model) (s n : N) :
  strings_impossible s n = true -> recurrent_at #n (stack m) #s ->
  ~ solves_by_thought m (equality #n) /\ ~ solves_by_thought m (disjointness #n).
Proof.
  intros H R. assert (lt : #s < #n) by (unfold strings_impossible in H; lia).
  apply (Nat.pow_lt_mono_r 2) in lt; [|lia].
  split; [apply (equality_cut #n #s)|apply (disjointness_cut #n #s)]; auto; now apply recurrent_limited.
Qed.

Theorem recurrent_two_sum (m : model) (s n M : N) :
  two_sum_impossible s n M = true -> recurrent_at #n (stack m) #s -> ~ solves_by_thought m (two_sum #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat M n).
  apply (two_sum_cut m #n #M #n #s 1 #n (seq 0 #M) 0); auto; try lia.
  - apply seq_NoDup.
  - intros v i. apply in_seq in i. lia.
  - rewrite seq_length. lia.
Qed.
Theorem recurrent_two_sum_exists (m : model) (s n M : N) :
  two_sum_exists_impossible s n M = true -> recurrent_at (#n - 1) (stack m) #s -> ~ solves_by_thought m (two_sum_exists #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat ((M - 1) / 2) (n - 1)) as b.
  rewrite N2Nat.inj_div, !N2Nat.inj_sub in b. change #1 with 1 in b. change #2 with 2 in b.
  apply (two_sum_exists_cut m #n #M #s); auto; lia.
Qed.
Theorem recurrent_three_sum (m : model) (s n M : N) :
  three_sum_impossible s n M = true -> recurrent_at (#n - 2) (stack m) #s -> ~ solves_by_thought m (three_sum #n #M).
Proof.
  intros H R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat (three_sum_values M) (n - 2)) as b.
  unfold three_sum_values in b at 2. rewrite !N2Nat.inj_sub, !N2Nat.inj_div, N2Nat.inj_sub in b.
  change #1 with 1 in b. change #2 with 2 in b. change #3 with 3 in b. change #6 with 6 in b.
  apply (three_sum_cut #n #M #s); [now apply recurrent_limited|lia|].
  unfold middle_values. rewrite seq_length. lia.
Qed.

(** * Log-linear stacks: s bits of one level of every log-linear layer and of all other states, any chain of thought *)

Theorem log_linear_index (m : model) (s n sigma : N) :
  log_linear_index_impossible s n sigma = true -> bucketed (2 ^ #(N.log2 n)) (stack m) #s ->
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
  log_linear_eva_impossible s n = true -> bucketed (2 ^ #(N.log2 n)) (stack m) #s -> ~ solves_by_thought m (eva #n).
Proof. apply log_linear_index. Qed.
Theorem log_linear_seqcomp (mdl : model) (s N : N) (m L : nat) (n : nat -> nat) :
  log_linear_seqcomp_impossible s N = true -> bucketed (2 ^ #(N.log2 N)) (stack mdl) #s ->
  1 <= L -> entries m n (pred L) = #N -> ~ solves_by_thought mdl (seqcomp m n L).
Proof.
  intros H R l1 e. apply andb_true_iff in H as [H1 H2]. apply exceeds_nat in H2.
  unfold oldest_bucket in H2. rewrite N2Nat.inj_pow in H2. change #2 with 2 in H2.
  apply (seqcomp_cut m n L (2 ^ #(N.log2 N)) #s); auto; [now apply recurrent_limited, bucketed_crosses| |now rewrite e].
  split; [pose proof (Nat.pow_nonzero 2 #(N.log2 N)); lia|]. rewrite e.
  destruct (N.log2_spec N) as [b _]; [lia|]. apply N.lt_succ_r, lt_nat in b.
  rewrite N2Nat.inj_pow, N2Nat.inj_succ in b. change #2 with 2 in b. lia.
Qed.
Theorem log_linear_two_sum (m : model) (s n M : N) :
  log_linear_two_sum_impossible s n M = true -> bucketed (2 ^ #(N.log2 n)) (stack m) #s -> ~ solves_by_thought m (two_sum #n #M).
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
  stack mdl = l :: rest -> parts_fit l (tokens (seqcomp #m n L)) #M -> 
  crosses l (base #m n L 0) s -> recurrent_at (base #m n L 0) rest t -> s + t = #s1 ->
  2 <= L -> n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n L).
Proof.
  intros H shape P S R es L2 e1 npos. unfold late_impossible in H.
  apply andb_true_iff in H as [H count]. repeat rewrite andb_true_iff in H.
  destruct H as ((((H1 & H2) & H3) & H4) & H5). apply exceeds_nat in count.
  rewrite tokens_is in P.
  apply (late #m n L L2 npos mdl l rest shape #T #x0 #y #M s t); auto.
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
  stack mdl = before ++ l :: rest -> recurrent_at (base #m n L 1) before #s0 -> recurrent_at (base #m n L 0) before #s0 ->
  parts_fit l (tokens (seqcomp #m n L)) #M -> crosses l (base #m n L 0) s -> recurrent_at (base #m n L 0) rest t -> s + t = #s1 ->
  2 <= L -> n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n L).
Proof.
  intros H shape Rb Rc P S R es L2 e1 npos. unfold early_impossible in H.
  apply andb_true_iff in H as [H count]. apply andb_true_iff in H as [H spread]. repeat rewrite andb_true_iff in H.
  apply exceeds_nat in count. apply spreads_nat in spread; [|clear spread count; lia|clear spread count; lia].
  rewrite tokens_is in P.
  assert (eh : #(half_up (T * x0)) = (#T * #x0 + 1) / 2).
  { unfold half_up. rewrite N2Nat.inj_div, N2Nat.inj_add, N2Nat.inj_mul. reflexivity. }
  refine (early #m n L L2 npos mdl before l rest shape unit above unit_above factorial_above #T #x0 #y #M #s0 s t Rb Rc P
            S R _ _ _ spread _).
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
  state_fits l1 (tokens (seqcomp #m n 2)) #beside1 -> state_fits l2 (tokens (seqcomp #m n 2)) #beside2 ->
  (rest = nil \/ follows = true /\ recurrent_at (base #m n 2 0) rest #after) ->
  n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n 2).
Proof.
  intros H shape (p1 & P1 & P1') (p2 & P2 & P2') (h1 & H1 & H1') (q1 & S1 & S1') (q2 & S2 & S2') R e1 npos.
  unfold two_full_impossible in H.
  apply andb_true_iff in H as [H count]. apply andb_true_iff in H as [H spread]. repeat rewrite andb_true_iff in H.
  apply exceeds_nat in count. apply strictly_nat in spread.
  rewrite tokens_is in P1, P1', P2, P2', S1, S1', S2, S2'.
  rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_add in spread. change #1 with 1 in spread.
  assert (eh : #(half_up (T * x0)) = (#T * #x0 + 1) / 2).
  { unfold half_up. rewrite N2Nat.inj_div, N2Nat.inj_add, N2Nat.inj_mul. reflexivity. }
  refine (two_full #m n npos mdl l1 l2 rest shape #M #out #beside1 #beside2 #after p1 P1 P1' p2 P2 P2' h1 H1 H1' q1 S1 S1'
           q2 S2 S2' unit above unit_above factorial_above follows _ #T #x0 #y _ _ _ spread _).
  - destruct R as [R|[f R]]; [left; exact R|right; split; [exact f|exact R]].
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
  state_fits l1 (tokens (seqcomp #m n 2)) 0 -> state_fits l2 (tokens (seqcomp #m n 2)) 0 ->
  (rest = nil \/ follows = true /\ recurrent_at (base #m n 2 0) rest #after) ->
  n 1 = #n1 -> (forall k, 0 < n k) -> ~ solves mdl (seqcomp #m n 2).
Proof. intros H sh P1 P2 O1 S1 S2. exact (head_wise_2 mdl M out follows after 0 0 m n1 T x0 y n l1 l2 rest H sh P1 P2 O1 S1 S2). Qed.

(** * One full layer alone (M: bits of its partial sums), recurrent heads beside it (s bits), position-wise layers behind it; no
    chain of thought. The counts are those of recurrent stacks with M + s bits. *)

Theorem full_alone_strings (m : model) (M s n : N) (l : layer (activation m)) (rest : list (layer (activation m))) :
  strings_impossible (M + s) n = true -> stack m = l :: rest -> parts_fit l (2 * #n + 2) #M -> crosses l #n #s ->
  Forall position_wise rest -> ~ solves m (equality #n) /\ ~ solves m (disjointness #n).
Proof.
  intros H sh P S R. assert (lt : #M + #s < #n) by (unfold strings_impossible in H; lia).
  apply (Nat.pow_lt_mono_r 2) in lt; [|lia].
  split; [apply (equality_cut #n (#M + #s))|apply (disjointness_cut #n (#M + #s))]; auto; now apply (alone_limited m _ _ _ _ _ l rest).
Qed.
Theorem full_alone_three_sum (m : model) (M s n modulus : N) (l : layer (activation m)) (rest : list (layer (activation m))) :
  three_sum_impossible (M + s) n modulus = true -> stack m = l :: rest -> parts_fit l #n #M -> crosses l (#n - 2) #s ->
  Forall position_wise rest -> ~ solves m (three_sum #n #modulus).
Proof.
  intros H sh P S R. apply andb_true_iff in H as [H1 H2]. apply N.ltb_lt, pow_lt_nat in H2.
  pose proof (nonempty_subsets_nat (three_sum_values modulus) (n - 2)) as b.
  unfold three_sum_values in b at 2. rewrite !N2Nat.inj_sub, !N2Nat.inj_div, N2Nat.inj_sub in b.
  change #1 with 1 in b. change #2 with 2 in b. change #3 with 3 in b. change #6 with 6 in b.
  rewrite N2Nat.inj_add in H2.
  apply (three_sum_cut #n #modulus (#M + #s)); [now apply (alone_limited m _ _ _ _ _ l rest)|lia|].
  unfold middle_values. rewrite seq_length. lia.
Qed.
Theorem full_alone_seqcomp (mdl : model) (M s m : N) (n : nat -> nat) (l : layer (activation mdl)) (rest : list (layer (activation mdl))) :
  seqcomp_impossible (M + s) m = true -> stack mdl = l :: rest -> parts_fit l (tokens (seqcomp #m n 1)) #M -> crosses l #m #s ->
  Forall position_wise rest -> ~ solves mdl (seqcomp #m n 1).
Proof.
  intros H sh P S R. apply exceeds_nat in H. rewrite N2Nat.inj_add in H.
  apply (seqcomp_cut #m n 1 #m (#M + #s)); auto; [now apply (alone_limited mdl _ _ _ _ _ l rest)|].
  cbn [pred entries]. pose proof (Nat.pow_nonzero 2 (#M + #s)). destruct (Nat.eq_dec #m 0) as [e0|]; [rewrite e0 in H; simpl in H|]; lia.
Qed.

(* Brackets, already at depth 1: any_parts_fit, because those of the two players interleave; no recurrent heads. *)
Theorem full_alone_dyck (m : model) (M n k : N) (D : nat) (l : layer (activation m)) (rest : list (layer (activation m))) :
  dyck_impossible M n k = true -> stack m = l :: rest -> commutes l -> any_parts_fit l #n #M -> (forall q r : state l, q = r) ->
  Forall position_wise rest -> 1 <= D -> ~ solves m (dyck #n #k D).
Proof.
  intros H sh com P S R d1. unfold dyck_impossible in H. apply andb_true_iff in H as [H count]. apply andb_true_iff in H as [n4 ev].
  apply exceeds_nat in count. apply N.even_spec in ev as [h ->]. replace (2 * h / 2)%N with h in count by (symmetry; rewrite N.mul_comm; apply N.div_mul; lia).
  rewrite N2Nat.inj_mul in *. change #2 with 2 in *. rewrite N2Nat.inj_sub in count. change #1 with 1 in count.
  apply (dyck_alone m #M #h #k D l rest); auto. clear count. lia.
Qed.

(** * One block-sparse layer (SparseLayer.v), blocks of B tokens, messages of b bits, at most k chosen; no chain of thought *)

Theorem sparse_two_sum (s : sparse_model) (b B k n M : N) :
  sparse_impossible b B k n M = true -> messages_fit s #b -> chooses_at_most s #k -> one_compression s ->
  ~ sparse_solves s #B (two_sum #n #M).
Proof.
  intros H F C O. unfold sparse_impossible in H. rewrite !andb_true_iff in H. destruct H as ((H0 & H1) & H2).
  apply N.ltb_lt, pow_lt_nat in H2. rewrite binomial_nat in H2. apply N.ltb_lt, lt_nat in H1. rewrite N2Nat.inj_div in H1.
  apply (sparse_common s #B #n #M #b #k); auto. lia.
Qed.
(* d values can be determined, d + 1 cannot. *)
Theorem sparse_two_sum_positions (s : sparse_model) (b B k n M d : N) :
  sparse_positions_impossible b B k n M d = true -> messages_fit s #b -> chooses_at_most s #k ->
  ~ sparse_solves s #B (two_sum #n #M).
Proof.
  intros H F C. unfold sparse_positions_impossible in H. rewrite !andb_true_iff in H. destruct H as (((H0 & H1) & H2) & H3).
  apply N.ltb_lt, pow_lt_nat in H2. apply N.ltb_lt, lt_nat in H3. rewrite !N2Nat.inj_mul, N2Nat.inj_sub, N2Nat.inj_div in H3.
  pose proof (nonempty_subsets_nat (d + 1) B) as u. rewrite !N2Nat.inj_add in *. change #1 with 1 in *.
  apply (sparse_positions s #B #n #M #b #k #d); auto; try lia.
  replace (binoms (#d + 1) 0 (#B + 1)) with (1 + binoms (#d + 1) 1 #B); [lia|].
  rewrite (Nat.add_comm #B 1). unfold binoms. cbn [Nat.add seq map list_sum fold_right]. now rewrite Nat.add_comm.
Qed.

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

(* Softmax layers without positions and with positive weights come to rest: every premise above is met by them. *)
Theorem softmax_layers_rest {X} (hs : list (head_maps X)) (mlp : nat -> X -> list (list BinNums.Z) -> X) :
  Forall plain_head hs -> (forall i x o, mlp i x o = mlp 0 x o) -> steady (softmax_layer hs mlp).
Proof. apply softmax_steady. Qed.
(* The horizon (Rest.v): from there on one copy of a letter more changes nothing, so that an automaton whose answers to u t^n v go
   on turning is beyond every model of these kinds of layers, whatever its weights: on words of up to so many letters, *)
Theorem horizon_of_tracking (m : model) (a : automaton) (start t : nat) (letter : nat -> Prop) (kinds : list (list kind))
    (u v : list nat) (turns : nat) (letters : N) :
  tracking_impossible kinds (N.of_nat (length u)) (N.of_nat (length v)) (N.of_nat turns) letters = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> Forall letter u -> letter t -> Forall letter v -> turns_within a u t v turns ->
  ~ solved_up_to m a start letter #letters.
Proof. apply horizon_wrong. Qed.
(* and on words of exactly so many, where some letter e changes nothing. *)
Theorem horizon_at_one_length (m : model) (a : automaton) (start t e : nat) (letter : nat -> Prop) (kinds : list (list kind))
    (u v : list nat) (turns : nat) (letters : N) :
  tracking_impossible_at kinds (N.of_nat (length u)) (N.of_nat (length v)) (N.of_nat turns) letters = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> Forall letter u -> letter t -> Forall letter v -> letter e ->
  (forall q, move a q e = q) -> turns_within a u t v turns -> ~ solved_at m a start letter #letters.
Proof. apply horizon_wrong_at. Qed.
Theorem parity_within (m : model) (start : nat) (kinds : list (list kind)) (letters : N) :
  tracking_impossible kinds 0 0 1 letters = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  ~ solved_up_to m parity start (fun t => t < 2) #letters.
Proof. apply no_parity_within. Qed.
Theorem parity_at_one_length (m : model) (start : nat) (kinds : list (list kind)) (letters : N) :
  tracking_impossible_at kinds 0 0 1 letters = true -> unplaced m -> Forall2 is_layer (stack m) kinds ->
  ~ solved_at m parity start (fun t => t < 2) #letters.
Proof. apply no_parity_at. Qed.
(* Tracked recall, at every number of letters from there on: letter 1 turns the mark, and the table shows it. *)
Theorem tracked_recall_lost (m : model) (g : group) (kinds : list (list kind)) (n sigma w : N) :
  tracked_recall_impossible kinds n (match g with Cyclic => cycle_turns n sigma | _ => 1 end) w = true ->
  unplaced m -> Forall2 is_layer (stack m) kinds -> (2 <= n)%N -> (2 <= sigma)%N -> ~ solves m (tracked_recall g #n #sigma #w).
Proof. apply mark_lost. Qed.
(* The search of all lengths (Rest.v), for a recurrent stack without positions. `same` may be any sound test of equality. *)
Theorem all_lengths (m : model) (a : automaton) (start : nat) (letters : list nat)
    (same : graph_node m a -> graph_node m a -> bool) (levels : nat) :
  unplaced m -> Forall (fun l => position_free l /\ no_full_heads l) (stack m) -> (forall x y, same x y = true -> x = y) ->
  let over := Forall (fun t => In t letters) in
  let right word := said m (start :: word) = inr (answer a (reach a (initial a) word)) in
  match search m a start letters same levels with
  | Exhausted => forall word, over word -> word <> nil -> right word
  | Stopped => forall word, over word -> word <> nil -> length word <= levels -> right word
  | Wrong word => over word /\ ~ right word /\
                  forall shorter, over shorter -> shorter <> nil -> length shorter < length word -> right shorter
  end.
Proof. apply search_of_all_lengths. Qed.

(** * Constructions: softmax layers on exact integers (Softmax.v), at p bits, with any score table that `lookup_holds` accepts, and
    the same padded to a larger stack *)

Theorem eva_one_layer (p : N) (g : gadget) (n : nat) (ls : list (layer (list nat))) :
  lookup_holds p (code_digits g) (beta g) (score_table g) = true -> n + 1 <= 2 ^ code_digits g -> n <= 2 ^ value_digits g ->
  length (eva_layers g n) = 1 /\ (padded (eva_layers g n) ls -> solves (reading ls) (eva n)).
Proof.
  intros H le lv. split; [reflexivity|]. intros pad q ask. apply (padded_answers (eva_layers g n)); auto.
  apply eva_possible; auto. now apply (holds_weak p).
Qed.
Theorem seqcomp_one_layer_more (p : N) (g : gadget) (m L : nat) (n : nat -> nat) (ls : list (layer (list nat))) :
  lookup_holds p (code_digits g) (beta g) (score_table g) = true -> 1 <= L -> tokens (seqcomp m n L) <= 2 ^ code_digits g ->
  entries m n (pred L) <= 2 ^ value_digits g ->
  length (seqcomp_layers g m n L) = L + 1 /\ (padded (seqcomp_layers g m n L) ls -> solves (reading ls) (seqcomp m n L)).
Proof.
  intros H L1 le lv. split; [unfold seqcomp_layers; rewrite map_length, seq_length; lia|].
  intros pad q ask. apply (padded_answers (seqcomp_layers g m n L)); auto. apply seqcomp_possible; auto. now apply (holds_weak p).
Qed.
(* Heads of dimension 2 D, values of dimension V, and every number of a query, key or value has p bits. *)
Theorem lookup_sizes (p : N) (g : gadget) (target : list nat -> nat) (i j : nat) (x y : list nat) :
  lookup_holds p (code_digits g) (beta g) (score_table g) = true ->
  Forall (fits p) (query (fetch g target) i x ++ key_of (fetch g target) j y ++ value_of (fetch g target) j y) /\
  length (query (fetch g target) i x) = 2 * code_digits g /\ length (key_of (fetch g target) j y) = 2 * code_digits g /\
  length (value_of (fetch g target) j y) = value_digits g.
Proof.
  intros H. split; [|apply fetch_widths]. destruct (fetch_numbers p g target i x j y H) as (a & b & c).
  apply Forall_app. split; [exact a|]. now apply Forall_app.
Qed.
(* What `padded` allows: heads that nobody listens to, and layers whose MLP keeps the activation. *)
Theorem more_heads {X} (hs others : list (head_maps X)) (mlp : nat -> X -> list (list BinNums.Z) -> X) :
  acts_as (softmax_layer hs mlp) (softmax_layer (hs ++ others) (fun i x o => mlp i x (firstn (length hs) o))).
Proof. apply heads_ignored. Qed.
