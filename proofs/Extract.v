(* The counts as OCaml; nothing is replaced but the types of bool, option, pairs and lists. *)
From Coq Require Import ExtrOcamlBasic NArith.
From Rung Require Import Logarithm Counts.
Extraction "counts.ml"
  eva_impossible index_impossible recall_impossible seqcomp_impossible strings_impossible two_sum_impossible
  two_sum_exists_impossible three_sum_impossible log_linear_eva_impossible log_linear_index_impossible
  log_linear_seqcomp_impossible log_linear_two_sum_impossible late_impossible early_impossible two_full_impossible
  sparse_impossible sparse_positions_impossible lookup_holds tracking_impossible
  tracking_impossible_at tracked_recall_impossible dyck_impossible exceeds spreads N.to_nat.
