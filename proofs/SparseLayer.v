(* One block-sparse layer. The n tokens before the query are cut into blocks of B. Every complete block hands over a message
   (keys and values of all heads), some blocks are chosen by the query token and the messages, and the answer is made of
   the query token, all messages, the tokens of the chosen blocks and those of the incomplete block. Every map is arbitrary. *)
From Coq Require Import List Arith.
From Rung Require Import Tasks.
Import ListNotations.

Record sparse_model := SparseModel {
  message : Type;
  compress : nat -> list nat -> message;                                  (* block number, tokens *)
  chosen : nat -> list message -> list nat;                               (* query token, messages: block numbers *)
  concludes : nat -> list message -> list (list nat) -> list nat -> nat   (* the answer *)
}.
Section Sparse.
Variables (s : sparse_model) (B n : nat).
Definition block (p : nat -> nat) (r : nat) : list nat := map p (seq (r * B) B).
Definition messages (p : nat -> nat) : list (message s) := map (fun r => compress s r (block p r)) (seq 0 (n / B)).
Definition sparse_answer (p : nat -> nat) : nat :=
  concludes s (p n) (messages p) (map (block p) (chosen s (p n) (messages p))) (map p (seq (n / B * B) (n - n / B * B))).
End Sparse.
Definition sparse_solves (s : sparse_model) (B : nat) (t : task) :=
  forall p, asks t p -> sparse_answer s B (pred (tokens t)) p = reply t p.
(* Messages of b bits, at most k chosen blocks (a window counts the blocks that it meets), one map for all blocks. *)
Definition messages_fit (s : sparse_model) (b : nat) :=
  exists code : message s -> nat, (forall v, code v < 2 ^ b) /\ (forall v w, code v = code w -> v = w).
Definition chooses_at_most (s : sparse_model) (k : nat) := forall t ms, length (chosen s t ms) <= k.
Definition one_compression (s : sparse_model) := forall r r' u, compress s r u = compress s r' u.
