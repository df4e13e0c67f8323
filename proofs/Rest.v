(* How long layers take to come to rest on a repeated letter, and how long a finite model has to be searched. *)
From Coq Require Import List Arith NArith ZArith Bool.
From Rung Require Import Model Steady Softmax Counts.
Import ListNotations.

(** * The horizon of the aperiodicity theorem *)

(* Every entry of the state is a number below B. At every position a non-decreasing map moves it, which, as the output, depends
   on the last c activations. Recurrences with monotone updates behind a convolution of width c (1: none); with B = 1 no
   state matters: windows and convolutions of width c. *)
Definition recent {X} (c : nat) (a : nat -> X) (i : nat) : list X := map a (seq (S i - c) c).
Definition slides {X} (l : layer X) (B c : nat) :=
  exists (entry : nat -> state l -> nat) (moves : list X -> nat -> nat -> nat),
    (forall e q, entry e q < B) /\
    (forall xs e u v, u <= v -> moves xs e u <= moves xs e v) /\
    (forall a i e, c <= S i -> entry e (state_after l a (S i)) = moves (recent c a i) e (entry e (state_after l a i))) /\
    (forall a b i k, c <= S i -> c <= S k -> recent c a i = recent c b k ->
       (forall e, entry e (state_after l a (S i)) = entry e (state_after l b (S k))) -> apply l a i = apply l b k).

(* Softmax heads without positions: weights from 0 to E, values that differ by at most R. *)
Definition head_within {X} (h : head_maps X) (E R : Z) :=
  (forall i x, query h i x = query h 0 x) /\ (forall j y, key_of h j y = key_of h 0 y) /\
  (forall j y, value_of h j y = value_of h 0 y) /\ (forall s, 0 <= weight h s <= E)%Z /\
  (forall y y', length (value_of h 0 y) = length (value_of h 0 y')) /\
  (forall y y' k, Z.abs (nth k (value_of h 0 y) 0 - nth k (value_of h 0 y') 0) <= R)%Z.
(* Values are whole numbers of p bits, the output is scale times their mean. *)
Definition softmax_within {X} (l : layer X) (E p scale : N) :=
  exists hs mlp, (forall i x o, mlp i x o = mlp 0 x o) /\ acts_as (softmax_layer hs mlp) l /\
    Forall (fun h => head_within h (Z.of_N E) (Z.of_N (scale * (2 ^ p - 1)))) hs.

(* Top-k: the k positions of largest score, ties to the smaller position, are read, in order. *)
Definition beats {X} (score : X -> X -> Z) (a : nat -> X) (i u t : nat) : bool :=
  ((score (a i) (a t) <? score (a i) (a u))%Z || ((score (a i) (a t) =? score (a i) (a u))%Z && (u <? t))).
Definition selected {X} (score : X -> X -> Z) (k : nat) (a : nat -> X) (i : nat) : list nat :=
  filter (fun t => length (filter (fun u => beats score a i u t) (seq 0 (S i))) <? k) (seq 0 (S i)).
Definition selects {X} (l : layer X) (k : nat) :=
  exists score (f : X -> list X -> X), forall a i, apply l a i = f (a i) (map a (selected score k a i)).

(* Two groups of heads that read one input, and a map of what they give. *)
Definition beside {X} (l r b : layer X) :=
  exists join : X -> X -> X -> X, forall a i, apply b a i = join (a i) (apply l a i) (apply r a i).

Definition is_kind {X} (l : layer X) (k : kind) :=
  match k with
  | Recurrence bits conv => 1 <= N.to_nat conv /\ slides l (N.to_nat (2 ^ bits)) (N.to_nat conv)
  | Window width => 1 <= N.to_nat width /\ slides l 1 (N.to_nat width)
  | Selection k => 1 <= N.to_nat k /\ selects l (N.to_nat k)
  | Full E p scale => softmax_within l E p scale
  end.
(* A layer and the kinds of its heads; none: position-wise. *)
Inductive is_layer {X} : layer X -> list kind -> Prop :=
| is_pointwise l f : (forall a i, apply l a i = f (a i)) -> is_layer l []
| is_beside l r b k ks : is_kind l k -> is_layer r ks -> beside l r b -> is_layer b (k :: ks).

(* u t^n v: wherever n begins, some two of the next `d` neighbours n, n + 1 have different answers. *)
Definition turns_within (a : automaton) (u : list nat) (t : nat) (v : list nat) (d : nat) :=
  forall n, exists i, i < d /\
    answer a (reach a (initial a) (u ++ repeat t (n + i) ++ v)) <> answer a (reach a (initial a) (u ++ repeat t (S (n + i)) ++ v)).

(* Right on all words of at most `most` letters, none of them empty. *)
Definition solved_up_to (m : model) (a : automaton) (start : nat) (letter : nat -> Prop) (most : nat) :=
  forall word, Forall letter word -> word <> [] -> length word <= most ->
    said m (start :: word) = inr (answer a (reach a (initial a) word)).

(* Right on all words of exactly n letters. *)
Definition solved_at (m : model) (a : automaton) (start : nat) (letter : nat -> Prop) (n : nat) :=
  forall word, Forall letter word -> length word = n -> said m (start :: word) = inr (answer a (reach a (initial a) word)).

(** * All lengths at once: a recurrent stack without positions and an automaton are one graph *)

(* The states of all layers, and one step of all of them: the new states and the last activation. *)
Fixpoint states {X} (ls : list (layer X)) : Type :=
  match ls with [] => Datatypes.unit | l :: rest => (state l * states rest)%type end.
Fixpoint initial_states {X} (ls : list (layer X)) : states ls :=
  match ls with [] => tt | l :: rest => (init l, initial_states rest) end.
Fixpoint steps {X} (ls : list (layer X)) (x : X) : states ls -> states ls * X :=
  match ls with
  | [] => fun _ => (tt, x)
  | l :: rest => fun q =>
    let s := step l 0 x (fst q) in
    let (r, y) := steps rest (out l 0 x s (round l (none l))) (snd q) in ((s, r), y)
  end.

(* Breadth first. `right x t`: the answer on the edge t out of x is right. Every edge out of a node of the frontier is
   compared, edges into known nodes included; then the new nodes are the frontier. *)
Inductive found := Exhausted | Stopped | Wrong (word : list nat).
Section Search.
Context {node : Type} (same : node -> node -> bool) (next : node -> nat -> node) (right : node -> nat -> bool).
Variable letters : list nat.
Definition edges (frontier : list (list nat * node)) : list (list nat * node) :=
  flat_map (fun wx => map (fun t => (fst wx ++ [t], next (snd wx) t)) letters) frontier.
Fixpoint wrong_edge (frontier : list (list nat * node)) : option (list nat) :=
  match frontier with
  | [] => None
  | (w, x) :: rest => match find (fun t => negb (right x t)) letters with Some t => Some (w ++ [t]) | None => wrong_edge rest end
  end.
Fixpoint fresh (candidates : list (list nat * node)) (seen : list node) : list (list nat * node) :=
  match candidates with
  | [] => []
  | (w, x) :: rest => if existsb (same x) seen then fresh rest seen else (w, x) :: fresh rest (x :: seen)
  end.
Fixpoint explore (levels : nat) (seen : list node) (frontier : list (list nat * node)) : found :=
  match frontier, levels with
  | [], _ => Exhausted
  | _, 0 => Stopped
  | _, S k => match wrong_edge frontier with
              | Some w => Wrong w
              | None => let new := fresh (edges frontier) seen in explore k (map snd new ++ seen) new
              end
  end.
End Search.

(* A model and an automaton: a node is the model's states and the automaton's place after a word. *)
Section Graph.
Variables (m : model) (a : automaton) (start : nat) (letters : list nat).
Definition graph_node : Type := (states (stack m) * place a)%type.
Definition graph_next (x : graph_node) (t : nat) : graph_node := (fst (steps (stack m) (embed m 0 t) (fst x)), move a (snd x) t).
Definition graph_right (x : graph_node) (t : nat) : bool :=
  match says m (snd (steps (stack m) (embed m 0 t) (fst x))) with inr y => y =? answer a (move a (snd x) t) | inl _ => false end.
Definition graph_start : graph_node := (fst (steps (stack m) (embed m 0 start) (initial_states (stack m))), initial a).
Definition search (same : graph_node -> graph_node -> bool) (levels : nat) : found :=
  explore same graph_next graph_right letters levels [graph_start] [([], graph_start)].
End Graph.
