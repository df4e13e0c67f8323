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

let small n = let rec count = function O -> 0 | S k -> 1 + count k in count (N.to_nat n)

(* Layers: the number of heads, then for each its kind (0 recurrence, 1 window, 2 selection, 3 full) and three numbers. *)
let rec layers = function
  | [] -> []
  | heads :: rest ->
    let rec take k numbers = match k, numbers with
      | 0, left -> [], left
      | k, kind :: x :: y :: z :: left ->
        let head = match small kind with
          | 0 -> Recurrence (x, y)
          | 1 -> Window x
          | 2 -> Selection x
          | _ -> Full (x, y, z) in
        let more, left = take (k - 1) left in
        head :: more, left
      | _ -> failwith "a head has four numbers" in
    let layer, left = take (small heads) rest in
    layer :: layers left

let decide = function
  | "recurrent-eva", [s; n] -> eva_impossible s n
  | "recurrent-index", [s; n; sigma] -> index_impossible s n sigma
  | "recurrent-recall", [s; n; keys; sigma] -> recall_impossible s n keys sigma
  | "recurrent-seqcomp", [s; entries] -> seqcomp_impossible s entries
  | "recurrent-strings", [s; n] -> strings_impossible s n
  | "full-alone-dyck", [s; n; k] -> dyck_impossible s n k
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
  | "sparse-two-sum", [bits; block; chosen; n; m] -> sparse_impossible bits block chosen n m
  | "sparse-two-sum-positions", [bits; block; chosen; n; m; determined] ->
    sparse_positions_impossible bits block chosen n m determined
  | "lookup", p :: digits :: beta :: table -> lookup_holds p (N.to_nat digits) beta table
  | "tracking", before :: after :: turns :: letters :: stack ->
    tracking_impossible (layers stack) before after turns letters
  | "tracking-at", before :: after :: turns :: letters :: stack ->
    tracking_impossible_at (layers stack) before after turns letters
  | "tracked-recall", n :: turns :: letters :: stack -> tracked_recall_impossible (layers stack) n turns letters
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
