(* The counts as programs on binary integers: `true` proves that no weights exist (Statements.v). *)
From Coq Require Import List NArith Bool.
From Rung Require Import Logarithm.
Import ListNotations.
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
Definition dyck_impossible (s n k : N) := (4 <=? n) && N.even n && exceeds (n / 2 - 1) k s.
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

(* Block-sparse: b bits a message, blocks of B tokens, k chosen. d: values that a message of b bits may determine. *)
Definition sparse_impossible (b B k n M : N) : bool := (0 <? B) && (k <? n / B) && (2 ^ b <? binomial M (N.to_nat B)).
Definition sparse_positions_impossible (b B k n M d : N) : bool :=
  (0 <? B) && (d + B <? M) && (2 ^ b <? 1 + nonempty_subsets (d + 1) B) && (k * M <? (M - d) * (n / B)).

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

(* The retrieval gadget (Softmax.v). A score table lists the weights of the scores 0, -1, -2, ..; below its end scores are
   clipped. At p bits beta, -beta and the clip are numbers of p bits, and all 2^D - 1 other codes together weigh less than
   the target: sum of C(D, h) E(-2 beta h) < E(0), 1 <= h <= D. *)
Definition clipped (table : list N) (s : N) : N := nth (N.to_nat (N.min s (N.of_nat (length table - 1)))) table 0.
Definition others_weigh (D : nat) (beta : N) (table : list N) : N :=
  fold_right N.add 0 (map (fun h => binomial (N.of_nat D) h * clipped table (2 * beta * N.of_nat h)) (seq 1 D)).
Definition lookup_holds (p : N) (D : nat) (beta : N) (table : list N) : bool :=
  (2 <=? p) && (beta <? 2 ^ (p - 1)) && (N.of_nat (length table - 1) <=? 2 ^ (p - 1)) &&
  (others_weigh D beta table <? clipped table 0).

(* State tracking: how many letters sigma a model reads before sigma^n and sigma^(n+1) look alike. A layer is a list of head
   kinds: a recurrence with entries of a bits behind a convolution of width c (1: none), a window or convolution of
   width w, a selection of k tokens, or softmax with weights up to E, values of p bits and an output scale. *)
Inductive kind := Recurrence (bits conv : N) | Window (width : N) | Selection (k : N) | Full (E p scale : N).
(* If the input is constant from position j on, the output is from here on. *)
Definition rest_of (k : kind) (j : N) : N :=
  match k with
  | Recurrence bits conv => j + (conv - 1) + (2 ^ bits - 2)
  | Window width => j + (width - 1)
  | Selection k => j + (k - 1)
  | Full E p scale => j * (1 + E * (2 * (scale * (2 ^ p - 1)) - 1))
  end.
Definition layer_rest (ks : list kind) (j : N) : N := fold_right (fun k => N.max (rest_of k j)) j ks.
Definition horizon_from (layers : list (list kind)) (first : N) : N := fold_left (fun j ks => layer_rest ks j) layers first.
Definition horizon (layers : list (list kind)) : N := horizon_from layers 1.
(* Behind `first` tokens: so many copies of a letter, and one more changes nothing. *)
Definition copies (layers : list (list kind)) (first : N) : N := horizon_from layers first - first + 1.
(* Words u sigma^n v of `before` + n + `after` letters behind one start token; among `turns` neighbours sigma^n, sigma^(n+1)
   some two have different answers. With letters behind the copies, or at one length only (a neutral letter fills up),
   without softmax, whose rest depends on all that came before. *)
Definition forgets (k : kind) : bool := match k with Full _ _ _ => false | _ => true end.
Definition tracking_impossible (layers : list (list kind)) (before after turns letters : N) : bool :=
  ((after =? 0) || forallb (forallb forgets) layers) && (before + (copies layers (1 + before) + turns) + after <=? letters).
Definition tracking_impossible_at (layers : list (list kind)) (before after turns letters : N) : bool :=
  forallb (forallb forgets) layers && (before + (copies layers (1 + before) + turns) + after + horizon layers <=? letters).
(* Tracked recall: the letters stand behind n pairs and before `=`. Letter 1 turns the mark in a cycle of n, or of 2. *)
Definition cycle_turns (n sigma : N) : N := if (3 <=? sigma) || N.even n then 1 else n.
Definition tracked_recall_impossible (layers : list (list kind)) (n turns letters : N) : bool :=
  forallb (forallb forgets) layers && (copies layers n + turns + horizon layers <=? letters).
