(* The tasks: which prompts are asked, how long they are, and the right answer, read off the prompt itself. *)
From Coq Require Import List Arith Bool.
From Rung Require Import Model.
Import ListNotations.

Record task := Task {
  asks : (nat -> nat) -> Prop;
  tokens : nat;
  reply : (nat -> nat) -> nat
}.

(* Right on every prompt: at once, or after a chain of thought of any length. *)
Definition solves (m : model) (t : task) := forall p, asks t p -> answers m p (tokens t) (reply t p).
Definition solves_by_thought (m : model) (t : task) :=
  forall p, asks t p -> answers_by_thought m p (tokens t) (reply t p).

Definition yes (b : bool) : nat := if b then 1 else 0.

(* f(0) .. f(n-1), x -> f(x). *)
Definition index_task (n sigma : nat) := Task
  (fun p => (forall i, i < n -> p i < sigma) /\ p n < n) (n + 1) (fun p => p (p n)).
Definition eva (n : nat) := index_task n n.

(* Pairs (key, value) with different keys of [K], one a token, then a key -> its value. The token of a pair is
   key (sigma + 1) + value; a query has the blank value sigma. *)
Definition key (sigma t : nat) := t / S sigma.
Definition value (sigma t : nat) := t mod S sigma.
Definition place (n : nat) (matches : nat -> bool) : nat :=
  match find matches (seq 0 n) with Some i => i | None => 0 end.
Definition retrieval (n K sigma : nat) := Task
  (fun p => (forall i, i < n -> key sigma (p i) < K /\ value sigma (p i) < sigma) /\
            (forall i j, i < n -> j < n -> key sigma (p i) = key sigma (p j) -> i = j) /\
            value sigma (p n) = sigma /\ exists i, i < n /\ key sigma (p i) = key sigma (p n))
  (n + 1) (fun p => value sigma (p (place n (fun i => key sigma (p i) =? key sigma (p n))))).
(* The same with keys (sigma .. sigma + K - 1) and values in tokens of their own, the first query. *)
Definition mqar (n K sigma : nat) := Task
  (fun p => (forall i, i < n -> sigma <= p (2 * i) < sigma + K /\ p (2 * i + 1) < sigma) /\
            (forall i j, i < n -> j < n -> p (2 * i) = p (2 * j) -> i = j) /\
            exists i, i < n /\ p (2 * i) = p (2 * n))
  (2 * n + 1) (fun p => p (2 * place n (fun i => p (2 * i) =? p (2 * n)) + 1)).

(* Tracked recall: a pair for every key of [n], in any order, then w letters that move a mark on [n], which starts at 0, then `=` ->
   the value at the mark. Letters and `=` have the blank value; `=` has the number behind those of the letters. *)
Inductive group := Symmetric | Cyclic | Xor.
Definition letters_of (g : group) (n : nat) : nat := match g with Symmetric => n | Cyclic => 2 | Xor => S (Nat.log2 n) end.
Definition moves_mark (g : group) (n letter x : nat) : nat :=
  match letter with
  | 0 => x
  | S k => match g with
           | Symmetric => if x =? S k then k else if x =? k then S k else x
           | Cyclic => if x + 1 =? n then 0 else x + 1
           | Xor => Nat.lxor x (2 ^ k)
           end
  end.
Definition mark (g : group) (sigma n w : nat) (p : nat -> nat) : nat :=
  fold_left (fun x t => moves_mark g n (key sigma t) x) (map p (seq n w)) 0.
Definition tracked_recall (g : group) (n sigma w : nat) := Task
  (fun p => (forall i, i < n -> key sigma (p i) < n /\ value sigma (p i) < sigma) /\
            (forall i j, i < n -> j < n -> key sigma (p i) = key sigma (p j) -> i = j) /\
            (forall i, i < w -> key sigma (p (n + i)) < letters_of g n /\ value sigma (p (n + i)) = sigma) /\
            key sigma (p (n + w)) = letters_of g n /\ value sigma (p (n + w)) = sigma)
  (n + w + 1) (fun p => value sigma (p (place n (fun i => key sigma (p i) =? mark g sigma n w p)))).

(* x_1 .. x_n, x_{n+1}: does some x_j + x_{n+1} vanish mod M? *)
Definition below (M n : nat) (p : nat -> nat) := forall i, i < n -> p i < M.
Definition two_sum (n M : nat) := Task (below M (n + 1)) (n + 1)
  (fun p => yes (existsb (fun j => (p j + p n) mod M =? 0) (seq 0 n))).
(* Does some pair of different places? Some triple? *)
Definition two_sum_exists (n M : nat) := Task (below M n) n
  (fun p => yes (existsb (fun i => existsb (fun j => (i <? j) && ((p i + p j) mod M =? 0)) (seq 0 n)) (seq 0 n))).
Definition three_sum (n M : nat) := Task (below M n) n
  (fun p => yes (existsb (fun i => existsb (fun j => existsb (fun k =>
     (i <? j) && (j <? k) && ((p i + p j + p k) mod M =? 0)) (seq 0 n)) (seq 0 n)) (seq 0 n))).

(* Brackets of k types, opening ones [k], the closing one of type i is k + i: well nested, to a depth of at most D? *)
Fixpoint nested (k D : nat) (open word : list nat) : bool :=
  match word with
  | [] => match open with [] => true | _ => false end
  | t :: rest =>
    if t <? k then (length open <? D) && nested k D (t :: open) rest
    else match open with [] => false | o :: more => (t =? k + o) && nested k D more rest end
  end.
Definition dyck (n k D : nat) := Task (below (2 * k) n) n (fun p => yes (nested k D [] (map p (seq 0 n)))).

(* a#b#, n bits each, # = 2. *)
Definition two_strings (n : nat) (p : nat -> nat) :=
  (forall i, i < n -> p i < 2 /\ p (n + 1 + i) < 2) /\ p n = 2 /\ p (2 * n + 1) = 2.
Definition equality (n : nat) := Task (two_strings n) (2 * n + 2)
  (fun p => yes (forallb (fun i => p i =? p (n + 1 + i)) (seq 0 n))).
Definition disjointness (n : nat) := Task (two_strings n) (2 * n + 2)
  (fun p => yes (forallb (fun i => negb ((p i =? 1) && (p (n + 1 + i) =? 1))) (seq 0 n))).

(* L-SeqComp with N_0 = m, N_l = n_l N_{l-1}: the tables z_L, .., z_1 (z_l has N_{l-1} entries), then z_0, w_1 .. w_{L-1}
   and `=` (token 0). i_1 = z_1(z_0), i_l = z_l(w_{l-1} N_{l-2} + i_{l-1}); the answer is i_L. *)
Section SeqComp.
Variables (m : nat) (n : nat -> nat).
Fixpoint entries (l : nat) : nat := match l with 0 => m | S k => n (S k) * entries k end.  (* N_l *)
(* Where z_l begins: behind z_L .. z_{l+1}. *)
Fixpoint base (L l : nat) : nat :=
  match L with 0 => 0 | S k => if l <? S k then entries k + base k l else 0 end.
Fixpoint hop (L l : nat) (p : nat -> nat) : nat :=  (* i_l *)
  match l with
  | 0 => p (base L 0)
  | 1 => p (base L 1 + p (base L 0))
  | S (S k as j) => p (base L (S j) + (p (base L 0 + j) * entries k + hop L j p))
  end.
Definition seqcomp (L : nat) := Task
  (fun p => (forall l j, 1 <= l <= L -> j < entries (pred l) -> p (base L l + j) < entries (pred l)) /\
            p (base L 0) < m /\ (forall l, 1 <= l < L -> p (base L 0 + l) < n l) /\ p (base L 0 + L) = 0)
  (base L 0 + L + 1) (hop L L).
End SeqComp.
