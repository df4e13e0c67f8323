(* Reads lines "count 1a 3f ...", a name and hexadecimal numbers, and answers each by 1 or 0: the extracted count on
   these numbers. *)
open Counts

let number text =
  let bit value k = (value lsr k) land 1 = 1 in
  let push n b = match n, b with
    | N0, false -> N0
    | N0, true -> Npos XH
    | Npos p, false -> Npos (XO p)
    | Npos p, true -> Npos (XI p) in
  let digit n c =
    let value = int_of_string ("0x" ^ String.make 1 c) in
    push (push (push (push n (bit value 3)) (bit value 2)) (bit value 1)) (bit value 0) in
  Seq.fold_left digit N0 (String.to_seq text)

let decide = function
  | "recurrent-eva", [s; n] -> eva_impossible s n
  | "recurrent-index", [s; n; sigma] -> index_impossible s n sigma
  | "recurrent-recall", [s; n; keys; sigma] -> recall_impossible s n keys sigma
  | "recurrent-seqcomp", [s; entries] -> seqcomp_impossible s entries
  | "recurrent-strings", [s; n] -> strings_impossible s n
  | "recurrent-two-sum", [s; n; m] -> two_sum_impossible s n m
  | "recurrent-two-sum-exists", [s; n; m] -> two_sum_exists_impossible s n m
  | "recurrent-three-sum", [s; n; m] -> three_sum_impossible s n m
  | "log-linear-eva", [s; n] -> log_linear_eva_impossible s n
  | "log-linear-index", [s; n; sigma] -> log_linear_index_impossible s n sigma
  | "log-linear-seqcomp", [s; entries] -> log_linear_seqcomp_impossible s entries
  | "log-linear-two-sum", [s; n; m] -> log_linear_two_sum_impossible s n m
  | "one-full-layer-late", [partial; s1; spare; m; n1; t; x0; y] -> late_impossible partial s1 spare m n1 t x0 y
  | "one-full-layer-early", [partial; s0; s1; spare; m; n1; t; x0; y] ->
    early_impossible partial s0 s1 spare m n1 t x0 y
  | "two-full-layers", [partial; out; follows; after; beside1; beside2; m; n1; t; x0; y] ->
    two_full_impossible partial out (follows <> N0) after beside1 beside2 m n1 t x0 y
  | "exceeds", [a; b; c] -> exceeds a b c
  | "spreads", [j; n; t; d] -> spreads j n t d
  | "subsets", [n; most; bits] -> two_sum_impossible bits most n
  | name, numbers -> failwith (Printf.sprintf "no count %s of %d numbers" name (List.length numbers))

let () =
  try
    while true do
      match String.split_on_char ' ' (input_line stdin) with
      | name :: numbers -> print_endline (if decide (name, List.map number numbers) then "1" else "0")
      | [] -> ()
    done
  with End_of_file -> ()
