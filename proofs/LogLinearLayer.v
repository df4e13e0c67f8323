(* Log-linear attention as a layer: level 0 holds the newest token, level l+1 a bucket of 2^l tokens. Before token t > 0
   comes in, let l be the lowest set bit of t: levels 0 .. l are gathered into level l+1 and cleared. Gates may then
   change every level by the new token; the output reads all levels in any way. *)
From Coq Require Import List Arith.
From Rung Require Import Model.
Import ListNotations.

Fixpoint lowest_bit_within (fuel t : nat) : nat :=
  match fuel with
  | 0 => 0
  | S f => if Nat.even t then S (lowest_bit_within f (Nat.div2 t)) else 0
  end.
Definition lowest_bit (t : nat) : nat := lowest_bit_within t t.

Record log_linear (X : Type) := LogLinear {
  level : Type;
  single : nat -> X -> level;                  (* the state of one token *)
  gather : list (option level) -> level;       (* levels 0 .. l into one *)
  gate : nat -> X -> nat -> level -> level;    (* position, token, level *)
  read : nat -> X -> list (option level) -> X
}.
Arguments level {X}. Arguments single {X}. Arguments gather {X}. Arguments gate {X}. Arguments read {X}.

Section LogLinear.
Context {X : Type} (f : log_linear X).
Definition gated (t : nat) (x : X) (from : nat) (q : list (option (level f))) : list (option (level f)) :=
  map (fun lq => option_map (gate f t x (fst lq)) (snd lq)) (combine (seq from (length q)) q).
Definition insert (t : nat) (x : X) (q : list (option (level f))) : list (option (level f)) :=
  match t with
  | 0 => [Some (single f t x)]
  | S _ => let l := lowest_bit t in
           Some (single f t x) :: repeat None l ++
           Some (gate f t x (S l) (gather f (firstn (S l) q))) :: gated t x (S (S l)) (skipn (S (S l)) q)
  end.
Definition log_linear_layer : layer X :=
  Layer X (list (option (level f))) [] insert unit tt (fun _ _ => tt) (fun _ _ _ _ => tt) unit (fun _ => tt)
    (fun i x q _ => read f i x q) (fun _ _ _ => eq_refl) (fun a => match a with tt => eq_refl end).
(* One level of one layer holds s bits. *)
Definition level_fits (s : nat) :=
  exists code : level f -> nat, (forall q, code q < 2 ^ s) /\ (forall q r, code q = code r -> q = r).
End LogLinear.

(* Recurrent and log-linear layers; s bits in all are handed over the cut before position c, a log-linear layer counted with
   one level. *)
Inductive bucketed {X : Type} (c : nat) : list (layer X) -> nat -> Prop :=
| bucketed_nil : bucketed c [] 0
| bucketed_plain l ls s t : no_full_heads l -> crosses l c s -> bucketed c ls t -> bucketed c (l :: ls) (s + t)
| bucketed_levels f ls s t : level_fits f s -> bucketed c ls t -> bucketed c (log_linear_layer f :: ls) (s + t).
