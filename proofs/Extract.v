(* The counts as OCaml; nothing is replaced but the types of bool, option and pairs. *)
From Coq Require Import ExtrOcamlBasic.
From Rung Require Import Logarithm Counts.
Extraction "counts.ml"
  eva_impossible index_impossible recall_impossible seqcomp_impossible strings_impossible two_sum_impossible
  two_sum_exists_impossible three_sum_impossible log_linear_eva_impossible log_linear_index_impossible
  log_linear_seqcomp_impossible log_linear_two_sum_impossible late_impossible early_impossible two_full_impossible
  exceeds spreads.
