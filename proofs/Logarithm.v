(* Enclosed logarithms on binary integers, and the inequalities that the counts rest on. *)
From Coq Require Import NArith Arith Lia.
From Coq Require Import ZifyN ZifyNat.
Local Open Scope N_scope.

(* x^(2^steps) lies above 2^e m, or below it: squared step by step, m kept to `digits` binary digits. *)
Definition trim_down (digits e m : N) : N * N :=
  let shift := N.size m - digits in (e + shift, N.shiftr m shift).
Definition trim_up (digits e m : N) : N * N :=
  let shift := N.size m - digits in
  let cut := N.shiftr m shift in
  (e + shift, if N.shiftl cut shift =? m then cut else cut + 1).
Fixpoint squared_down (steps : nat) (digits e m : N) : N * N :=
  match steps with
  | O => (e, m)
  | S k => let (e', m') := trim_down digits (2 * e) (m * m) in squared_down k digits e' m'
  end.
Fixpoint squared_up (steps : nat) (digits e m : N) : N * N :=
  match steps with
  | O => (e, m)
  | S k => let (e', m') := trim_up digits (2 * e) (m * m) in squared_up k digits e' m'
  end.
(* 2^lg_down <= x^(2^steps) <= 2^lg_up, for x > 0. *)
Definition lg_down (steps : nat) (digits x : N) : N :=
  let (e, m) := squared_down steps digits 0 x in e + N.log2 m.
Definition lg_up (steps : nat) (digits x : N) : N :=
  let (e, m) := squared_up steps digits 0 x in e + N.log2_up m.

Lemma pow2_pos a : 0 < 2 ^ a.
Proof. apply N.neq_0_lt_0, N.pow_nonzero. lia. Qed.

Lemma shiftr_below m s : N.shiftr m s * 2 ^ s <= m.
Proof.
  rewrite N.shiftr_div_pow2, N.mul_comm. apply N.mul_div_le, N.pow_nonzero. lia.
Qed.
Lemma trim_down_spec digits e m : let (e', m') := trim_down digits e m in 2 ^ e' * m' <= 2 ^ e * m.
Proof.
  unfold trim_down. rewrite N.pow_add_r, <- N.mul_assoc. apply N.mul_le_mono_l.
  rewrite N.mul_comm. apply shiftr_below.
Qed.
Lemma trim_up_spec digits e m : let (e', m') := trim_up digits e m in 2 ^ e * m <= 2 ^ e' * m'.
Proof.
  unfold trim_up. set (s := N.size m - digits). set (c := N.shiftr m s).
  rewrite N.pow_add_r, <- N.mul_assoc. apply N.mul_le_mono_l.
  rewrite N.shiftl_mul_pow2. destruct (N.eqb_spec (c * 2 ^ s) m) as [e0|].
  - rewrite N.mul_comm, e0. lia.
  - unfold c. rewrite N.shiftr_div_pow2. pose proof (N.mul_succ_div_gt m (2 ^ s)) as H.
    rewrite N.add_1_r. apply N.lt_le_incl, H, N.pow_nonzero. lia.
Qed.

Lemma squared_down_spec steps digits e m x :
  2 ^ e * m <= x -> let (e', m') := squared_down steps digits e m in 2 ^ e' * m' <= x ^ (2 ^ N.of_nat steps).
Proof.
  revert e m x. induction steps as [|k IH]; intros e m x H.
  - cbn [squared_down]. change (2 ^ N.of_nat 0) with 1. rewrite N.pow_1_r. auto.
  - cbn [squared_down]. pose proof (trim_down_spec digits (2 * e) (m * m)) as t.
    destruct (trim_down digits (2 * e) (m * m)) as [e1 m1].
    specialize (IH e1 m1 (x * x)). destruct (squared_down k digits e1 m1) as [e2 m2].
    rewrite Nat2N.inj_succ, N.pow_succ_r', N.pow_mul_r, N.pow_2_r. apply IH.
    etransitivity; [exact t|]. replace (2 * e) with (e + e) by lia. rewrite N.pow_add_r.
    replace (2 ^ e * 2 ^ e * (m * m)) with ((2 ^ e * m) * (2 ^ e * m)) by lia.
    now apply N.mul_le_mono.
Qed.
Lemma squared_up_spec steps digits e m x :
  x <= 2 ^ e * m -> let (e', m') := squared_up steps digits e m in x ^ (2 ^ N.of_nat steps) <= 2 ^ e' * m'.
Proof.
  revert e m x. induction steps as [|k IH]; intros e m x H.
  - cbn [squared_up]. change (2 ^ N.of_nat 0) with 1. rewrite N.pow_1_r. auto.
  - cbn [squared_up]. pose proof (trim_up_spec digits (2 * e) (m * m)) as t.
    destruct (trim_up digits (2 * e) (m * m)) as [e1 m1].
    specialize (IH e1 m1 (x * x)). destruct (squared_up k digits e1 m1) as [e2 m2].
    rewrite Nat2N.inj_succ, N.pow_succ_r', N.pow_mul_r, N.pow_2_r. apply IH.
    etransitivity; [|exact t]. replace (2 * e) with (e + e) by lia. rewrite N.pow_add_r.
    replace (2 ^ e * 2 ^ e * (m * m)) with ((2 ^ e * m) * (2 ^ e * m)) by lia.
    now apply N.mul_le_mono.
Qed.

Lemma squared_down_pos steps digits e m : 0 < m -> 0 < digits -> let (_, m') := squared_down steps digits e m in 0 < m'.
Proof.
  intros H d. revert e m H. induction steps as [|k IH]; intros e m H; simpl; auto.
  destruct (trim_down digits (2 * e) (m * m)) as [e1 m1] eqn:q. apply IH.
  unfold trim_down in q. injection q as _ <-.
  set (w := m * m) in *. assert (wp : 0 < w) by (unfold w; nia).
  rewrite N.shiftr_div_pow2. apply N.div_str_pos. split; [apply pow2_pos|].
  (* 2^(size w - digits) <= 2^(size w - 1) <= w *)
  rewrite N.size_log2 by lia. etransitivity; [|apply N.log2_spec; auto].
  apply N.pow_le_mono_r; lia.
Qed.

Lemma lg_down_spec steps digits x : 0 < x -> 0 < digits -> 2 ^ lg_down steps digits x <= x ^ (2 ^ N.of_nat steps).
Proof.
  intros p d. unfold lg_down. pose proof (squared_down_spec steps digits 0 x x) as H.
  pose proof (squared_down_pos steps digits 0 x p d) as P.
  destruct (squared_down steps digits 0 x) as [e m].
  etransitivity; [|apply H; rewrite N.pow_0_r; lia]. rewrite N.pow_add_r.
  apply N.mul_le_mono_l. apply N.log2_spec. auto.
Qed.
Lemma lg_up_spec steps digits x : x ^ (2 ^ N.of_nat steps) <= 2 ^ lg_up steps digits x.
Proof.
  unfold lg_up. pose proof (squared_up_spec steps digits 0 x x) as H.
  destruct (squared_up steps digits 0 x) as [e m].
  etransitivity; [apply H; rewrite N.pow_0_r; lia|]. rewrite N.pow_add_r.
  apply N.mul_le_mono_l. destruct (N.eq_dec m 0) as [->|]; [lia|].
  destruct (N.eq_dec m 1) as [->|]; [pose proof (pow2_pos (N.log2_up 1)); lia|].
  apply N.log2_up_spec. lia.
Qed.

(* The two precisions that are tried, as steps and digits. *)
Definition coarse : nat * N := (48%nat, 72).
Definition fine : nat * N := (160%nat, 192).

(* 2^c < b^a? Decided by enclosures; what both leave open is multiplied out where that is small, and else "no". *)
Definition exceeds_at (precision : nat * N) (a b c : N) : option bool :=
  let (steps, digits) := precision in
  let unit := N.shiftl 1 (N.of_nat steps) in
  if c * unit <? a * lg_down steps digits b then Some true
  else if a * lg_up steps digits b <=? c * unit then Some false
  else None.
Definition small_power : N := 100000.  (* binary digits that are multiplied out *)
Definition exceeds (a b c : N) : bool :=
  if b =? 0 then false else
  match exceeds_at coarse a b c with
  | Some v => v
  | None => match exceeds_at fine a b c with
            | Some v => v
            | None => if a * N.size b <=? small_power then 2 ^ c <? b ^ a else false
            end
  end.

Lemma shiftl_1 k : N.shiftl 1 k = 2 ^ k.
Proof. rewrite N.shiftl_mul_pow2. lia. Qed.

Lemma exceeds_at_sound precision a b c : 0 < b -> 0 < snd precision -> exceeds_at precision a b c = Some true -> 2 ^ c < b ^ a.
Proof.
  destruct precision as [steps digits]. unfold exceeds_at. intros pb pd. cbn [snd] in pd.
  destruct (N.ltb_spec (c * N.shiftl 1 (N.of_nat steps)) (a * lg_down steps digits b)) as [lt|].
  2:{ destruct (_ <=? _); discriminate. }
  intros _. rewrite shiftl_1 in lt. set (k := 2 ^ N.of_nat steps) in *.
  assert (kp : 0 < k) by apply pow2_pos.
  apply (N.pow_lt_mono_l_iff _ _ k); [lia|].
  rewrite <- !N.pow_mul_r, (N.mul_comm a k), (N.pow_mul_r b k a).
  eapply N.lt_le_trans; [apply N.pow_lt_mono_r; [lia|exact lt]|].
  rewrite N.mul_comm, N.pow_mul_r. apply N.pow_le_mono_l. now apply lg_down_spec.
Qed.
Theorem exceeds_sound a b c : exceeds a b c = true -> 2 ^ c < b ^ a.
Proof.
  unfold exceeds. destruct (N.eqb_spec b 0); [discriminate|]. assert (pb : 0 < b) by lia.
  destruct (exceeds_at coarse a b c) as [[|]|] eqn:e1; [intros _; eapply exceeds_at_sound; eauto; reflexivity|discriminate|].
  destruct (exceeds_at fine a b c) as [[|]|] eqn:e2; [intros _; eapply exceeds_at_sound; eauto; reflexivity|discriminate|].
  destruct (_ <=? small_power); [|discriminate]. intros H. now apply N.ltb_lt.
Qed.

(* e < above_e / unit_e, proved in Spread.v. *)
Definition unit_e : N := 100000000000000000000000000000000000000000.
Definition above_e : N := 271828182845904523536028747135266249775725.

(* J lg(2N / (e T J)) >= 2D + extra/T, that is (e T J)^(T J) 2^(2 T D + extra) <= (2 N)^(T J), with above_e for e. *)
Definition spread_at (precision : nat * N) (J n T bits : N) : option bool :=
  let (steps, digits) := precision in
  let right := N.shiftl bits (N.of_nat steps) in
  if T * J * lg_up steps digits (above_e * T * J) + right <=? T * J * lg_down steps digits (2 * n * unit_e)
  then Some true
  else if T * J * lg_up steps digits (2 * n * unit_e) <? T * J * lg_down steps digits (above_e * T * J) + right
  then Some false else None.
Definition spread (J n T bits : N) : bool :=
  if n =? 0 then false else
  match spread_at coarse J n T bits with
  | Some v => v
  | None => match spread_at fine J n T bits with Some v => v | None => false end
  end.
Definition spreads (J n T D : N) : bool := spread J n T (2 * T * D + 2).
(* Strictly above 2D: a whole unit of the finest precision, or the next bit. *)
Definition strictly_at (precision : nat * N) (J n T bits : N) : option bool :=
  let (steps, digits) := precision in
  let right := N.shiftl bits (N.of_nat steps) in
  if T * J * lg_up steps digits (above_e * T * J) + right <? T * J * lg_down steps digits (2 * n * unit_e)
  then Some true
  else if T * J * lg_up steps digits (2 * n * unit_e) <=? T * J * lg_down steps digits (above_e * T * J) + right
  then Some false else None.
Definition spreads_strictly (J n T D : N) : bool :=
  if n =? 0 then false else
  match strictly_at coarse J n T (2 * T * D) with
  | Some v => v
  | None => match strictly_at fine J n T (2 * T * D) with Some v => v | None => false end
  end.

Lemma spread_at_sound precision J n T bits : 0 < n -> 0 < snd precision -> spread_at precision J n T bits = Some true ->
  (above_e * T * J) ^ (T * J) * 2 ^ bits <= (2 * n * unit_e) ^ (T * J).
Proof.
  destruct precision as [steps digits]. unfold spread_at. intros pn pd. cbn [snd] in pd.
  set (A := above_e * T * J). set (B := 2 * n * unit_e). set (q := T * J).
  assert (pB : 0 < B) by (unfold B, unit_e; lia).
  clearbody A B q.
  rewrite N.shiftl_mul_pow2. set (k := 2 ^ N.of_nat steps). assert (kp : 0 < k) by apply pow2_pos.
  destruct (N.leb_spec (q * lg_up steps digits A + bits * k) (q * lg_down steps digits B)) as [le|].
  2:{ destruct (_ <? _); discriminate. }
  intros _. apply (N.pow_le_mono_l_iff _ _ k); [lia|].
  rewrite N.pow_mul_l, <- !N.pow_mul_r, (N.mul_comm q k), (N.pow_mul_r A), (N.pow_mul_r B).
  transitivity (2 ^ (q * lg_up steps digits A + bits * k)).
  - rewrite N.pow_add_r. apply N.mul_le_mono_r. rewrite N.mul_comm, N.pow_mul_r. apply N.pow_le_mono_l, lg_up_spec.
  - transitivity (2 ^ (q * lg_down steps digits B)); [apply N.pow_le_mono_r; lia|].
    rewrite N.mul_comm, N.pow_mul_r. apply N.pow_le_mono_l. now apply lg_down_spec.
Qed.
Lemma strictly_at_sound precision J n T bits : 0 < n -> 0 < snd precision -> strictly_at precision J n T bits = Some true ->
  (above_e * T * J) ^ (T * J) * 2 ^ bits < (2 * n * unit_e) ^ (T * J).
Proof.
  destruct precision as [steps digits]. unfold strictly_at. intros pn pd. cbn [snd] in pd.
  set (A := above_e * T * J). set (B := 2 * n * unit_e). set (q := T * J).
  assert (pB : 0 < B) by (unfold B, unit_e; lia).
  clearbody A B q.
  rewrite N.shiftl_mul_pow2. set (k := 2 ^ N.of_nat steps). assert (kp : 0 < k) by apply pow2_pos.
  destruct (N.ltb_spec (q * lg_up steps digits A + bits * k) (q * lg_down steps digits B)) as [lt|].
  2:{ destruct (_ <=? _); discriminate. }
  intros _. apply (N.pow_lt_mono_l_iff _ _ k); [lia|].
  rewrite N.pow_mul_l, <- !N.pow_mul_r, (N.mul_comm q k), (N.pow_mul_r A), (N.pow_mul_r B).
  apply N.le_lt_trans with (2 ^ (q * lg_up steps digits A + bits * k)).
  - rewrite N.pow_add_r. apply N.mul_le_mono_r. rewrite N.mul_comm, N.pow_mul_r. apply N.pow_le_mono_l, lg_up_spec.
  - apply N.lt_le_trans with (2 ^ (q * lg_down steps digits B)); [apply N.pow_lt_mono_r; lia|].
    rewrite N.mul_comm, N.pow_mul_r. apply N.pow_le_mono_l. now apply lg_down_spec.
Qed.
Theorem spread_sound J n T bits : spread J n T bits = true ->
  (above_e * T * J) ^ (T * J) * 2 ^ bits <= (2 * n * unit_e) ^ (T * J).
Proof.
  unfold spread. destruct (N.eqb_spec n 0); [discriminate|]. assert (pb : 0 < n) by lia.
  destruct (spread_at coarse J n T bits) as [[|]|] eqn:e1;
    [intros _; eapply spread_at_sound; eauto; reflexivity|discriminate|].
  destruct (spread_at fine J n T bits) as [[|]|] eqn:e2;
    [intros _; eapply spread_at_sound; eauto; reflexivity|discriminate|discriminate].
Qed.
Theorem spreads_strictly_sound J n T D : spreads_strictly J n T D = true ->
  (above_e * T * J) ^ (T * J) * 2 ^ (2 * T * D) < (2 * n * unit_e) ^ (T * J).
Proof.
  unfold spreads_strictly. destruct (N.eqb_spec n 0); [discriminate|]. assert (pb : 0 < n) by lia.
  destruct (strictly_at coarse J n T _) as [[|]|] eqn:e1;
    [intros _; eapply strictly_at_sound; eauto; reflexivity|discriminate|].
  destruct (strictly_at fine J n T _) as [[|]|] eqn:e2;
    [intros _; eapply strictly_at_sound; eauto; reflexivity|discriminate|discriminate].
Qed.
