(* The counts as programs on binary integers: `true` proves that no weights exist (Statements.v). *)
From Coq Require Import NArith Bool.
From Rung Require Import Logarithm.
Local Open Scope N_scope.

(* C(M, k), and C(M, 1) + .. + C(M, n). *)
Fixpoint binomial (M : N) (k : nat) : N :=
  match k with
  | O => 1
  | S j => binomial M j * (M - N.of_nat j) / N.of_nat (S j)
  end.
Fixpoint binomials_up_to (M : N) (n : nat) : N * N :=  (* C(M, n), and the sum over 1 .. n *)
  match n with
  | O => (1, 0)
  | S j => let (c, sum) := binomials_up_to M j in
           let next := c * (M - N.of_nat j) / N.of_nat (S j) in (next, sum + next)
  end.
Definition nonempty_subsets (M n : N) : N := snd (binomials_up_to M (N.to_nat (N.min n M))).

(* s: state bits of the whole stack, or, for log-linear stacks, of one level of every layer. *)
Definition eva_impossible (s n : N) := exceeds n n s.
Definition index_impossible (s n sigma : N) := exceeds n sigma s.
Definition recall_impossible (s n K sigma : N) := (0 <? n) && (n <=? K) && exceeds n sigma s.
Definition seqcomp_impossible (s entries : N) := exceeds entries entries s.
Definition strings_impossible (s n : N) := s <? n.
Definition two_sum_impossible (s n M : N) := (0 <? n) && (2 ^ s <? nonempty_subsets M n).
Definition two_sum_exists_impossible (s n M : N) := (2 <=? n) && (2 ^ s <? nonempty_subsets ((M - 1) / 2) (n - 1)).
Definition three_sum_values (M : N) : N := (M - 1) / 3 - M / 6.
Definition three_sum_impossible (s n M : N) := (3 <=? n) && (2 ^ s <? nonempty_subsets (three_sum_values M) (n - 2)).

(* 2^(floor lg n): the oldest bucket. *)
Definition oldest_bucket (n : N) : N := 2 ^ N.log2 n.
Definition log_linear_index_impossible (s n sigma : N) := (0 <? n) && exceeds (oldest_bucket n) sigma s.
Definition log_linear_eva_impossible (s n : N) := log_linear_index_impossible s n n.
Definition log_linear_seqcomp_impossible (s entries : N) := log_linear_index_impossible s entries entries.
Definition log_linear_two_sum_impossible (s n M : N) :=
  let bucket := oldest_bucket n in
  let values := if n =? bucket then M else M - 1 in
  (0 <? n) && (bucket <=? values) && (2 ^ s <? binomial values (N.to_nat bucket)).

(* 2-SeqComp. M: bits of partial sums a token, out: bits of rounded head outputs a token, s_1, after, beside: state bits
   behind and beside the full layers; the proof's own T, x_0 and y. spare: tokens w_2, .. of a deeper composition. *)
Definition half_up (a : N) : N := (a + 1) / 2.
Definition late_impossible (M s1 spare m n1 T x0 y : N) : bool :=
  (1 <=? T) && (1 <=? x0) && (1 <=? y) && (y <=? n1) && (T * x0 <=? m) &&
  exceeds (T * x0 * y) (n1 * m) ((x0 + y + 1 + spare) * M + T * s1).
Definition two_full_impossible (M out : N) (follows : bool) (after beside1 beside2 m n1 T x0 y : N) : bool :=
  (1 <=? T) && (1 <=? x0) && (x0 <=? m) && (1 <=? y) && (y <=? n1) &&
  spreads_strictly x0 m T ((y + 1) * M + beside1) &&
  exceeds (half_up (T * x0) * y) (n1 * m)
    (M * (x0 * y + x0 + y + 1) + out * T * m + beside1 + T * beside2 +
     if follows then M * x0 * (y + T) + T * after else 0).
Definition early_impossible (M s0 s1 spare m n1 T x0 y : N) : bool :=
  (1 <=? T) && (1 <=? x0) && (x0 <=? m) && (1 <=? y) && (y <=? n1) && spreads x0 m T s0 &&
  exceeds (half_up (T * x0) * y) (n1 * m) (T * (s0 + s1) + s0 + 1 + M * x0 * (2 * y + 1 + spare * y)).
