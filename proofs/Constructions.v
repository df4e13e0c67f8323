(* Eva in one layer, L-SeqComp in L + 1. *)
From Coq Require Import List Arith NArith Lia.
From Rung Require Import Model Tasks SeqComp Counts Softmax Gadget.
Import ListNotations.

Lemma padded_answers ls ms p T y : padded ls ms -> answers (reading ls) p T y -> answers (reading ms) p T y.
Proof.
  intros pad H. unfold answers, last_activation in *. cbn [stack reading] in *.
  change (input (reading ms) p) with (input (reading ls) p). now rewrite (run_padded _ _ pad).
Qed.

Section Built.
Variable g : gadget.
Notation D := (code_digits g).
Notation V := (value_digits g).
Hypothesis weak : (others_weigh D (beta g) (score_table g) < clipped (score_table g) 0)%N.

Lemma eva_possible n : n + 1 <= 2 ^ D -> n <= 2 ^ V -> solves (reading (eva_layers g n)) (eva n).
Proof.
  intros le lv p (small & lx). cbn [tokens eva index_task reply]. unfold answers, last_activation.
  replace (pred (n + 1)) with n by lia. cbn [stack reading eva_layers run says]. f_equal.
  rewrite lookup_at; auto; try lia.
  intros t [<-|[]]. cbn [input embed reading hd]. split; [lia|]. specialize (small (p n) lx). lia.
Qed.

Section SeqComp.
Variables (m : nat) (n : nat -> nat) (L : nat).
Hypothesis L1 : 1 <= L.
Notation e := (base m n L 0 + L).
Variable p : nat -> nat.
Hypothesis asked : asks (seqcomp m n L) p.
Hypothesis le : e + 1 <= 2 ^ D.
Hypothesis lv : entries m n (pred L) <= 2 ^ V.

Lemma hop_bound l : l <= L -> hop m n L l p < entries m n (pred l).
Proof.
  destruct asked as (tables & t0 & ws & _). induction l as [|l IH]; intros lt; [exact t0|].
  destruct l as [|k].
  - cbn [hop pred]. apply (tables 1); [lia|]. exact t0.
  - specialize (IH ltac:(lia)). cbn [pred] in IH.
    change (hop m n L (S (S k)) p) with (p (base m n L (S (S k)) + (p (base m n L 0 + S k) * entries m n k + hop m n L (S k) p))).
    apply (tables (S (S k))); [lia|]. change (entries m n (pred (S (S k)))) with (n (S k) * entries m n k).
    assert (p (base m n L 0 + S k) < n (S k)) by (apply ws; lia). nia.
Qed.
Lemma base_end k : 1 <= k <= L -> base m n L k + entries m n (pred k) <= base m n L 0.
Proof.
  assert (next : forall q k, k < q -> base m n q k = base m n q (S k) + entries m n k).
  { clear. induction q as [|q IH]; intros k lt; [lia|]. destruct (Nat.eq_dec k q) as [->|].
    - rewrite base_step, !base_top by lia. lia.
    - rewrite !base_step by lia. rewrite IH by lia. lia. }
  intros lk. destruct k as [|k]; [lia|]. cbn [pred]. rewrite <- (next L k) by lia. clear lk.
  assert (H : k <= L -> base m n L k <= base m n L 0).
  { induction k as [|k IH]; auto. intros lt. rewrite (next L k) in IH by lia. specialize (IH ltac:(lia)). lia. }
  destruct (le_lt_dec k L); auto.
  assert (base m n L k = 0) as ->; [|lia]. clear -l. induction L as [|q IH]; auto. simpl. destruct (Nat.ltb_spec k (S q)); lia.
Qed.
(* Every number that is fetched has V digits. *)
Lemma entries_pos k : k < L -> 0 < entries m n k.
Proof.
  destruct asked as (_ & t0 & ws & _). induction k as [|k IH]; intros lk; [cbn [entries]; lia|].
  specialize (IH ltac:(lia)). specialize (ws (S k) ltac:(lia)). cbn [entries]. nia.
Qed.
Lemma entries_up k q : k <= q -> q < L -> entries m n k <= entries m n q.
Proof.
  intros le'. induction le' as [|q le' IH]; intros lq; [lia|]. specialize (IH ltac:(lia)).
  destruct asked as (_ & _ & ws & _). specialize (ws (S q) ltac:(lia)). cbn [entries]. nia.
Qed.
Lemma hop_small l : l <= L -> hop m n L l p < 2 ^ V.
Proof.
  intros ll. pose proof (hop_bound l ll). pose proof (entries_up (pred l) (pred L) ltac:(lia) ltac:(lia)). lia.
Qed.
Lemma branch_small l : 1 <= l < L -> p (base m n L 0 + l) < 2 ^ V.
Proof.
  intros ll. pose proof asked as (_ & _ & ws & _). specialize (ws l ll).
  pose proof (entries_up l (pred L) ltac:(lia) ltac:(lia)). destruct l as [|l]; [lia|]. cbn [entries] in *.
  pose proof (entries_pos l ltac:(lia)). nia.
Qed.

Lemma run_app {X} (ls : list (layer X)) l a : run (ls ++ [l]) a = apply l (run ls a).
Proof. revert a. induction ls as [|x ls IH]; intros a; simpl; auto. Qed.

(* After layer k: `=` holds i_k, w_k and w_{k+1}, all else is as it was. *)
Definition holds (k : nat) (a : nat -> list nat) :=
  (forall i, i <> e -> a i = [p i]) /\ hd 0 (a e) = p e /\ nth 1 (a e) 0 = hop m n L k p /\
  (1 <= k < L -> nth 2 (a e) 0 = p (base m n L 0 + k)) /\ (k + 1 < L -> nth 3 (a e) 0 = p (base m n L 0 + (k + 1))).
Lemma layer_holds k a : k <= L ->
  (forall i, i <> e -> a i = [p i]) -> hd 0 (a e) = p e ->
  (1 <= k < L -> nth 3 (a e) 0 = p (base m n L 0 + k)) ->
  hop_target m n L k (a e) <= e -> p (hop_target m n L k (a e)) = hop m n L k p ->
  holds k (apply (hop_layer g m n L k) a).
Proof.
  intros lk others own held t1 t2. unfold hop_layer. split.
  { intros i ne. rewrite lookup_elsewhere by auto. auto. }
  assert (hdp : forall j, hd 0 (a j) = p j).
  { intros j. destruct (Nat.eq_dec j e) as [->|ne]; [exact own|rewrite others by auto; reflexivity]. }
  rewrite lookup_at; auto; try lia.
  - cbn [hd map nth]. rewrite !hdp. repeat split; auto.
    intros lt. destruct (Nat.ltb_spec (k + 1) L); [|lia]. cbn [map nth]. apply hdp.
  - intros t it. rewrite hdp. destruct it as [<-|it]; [split; [lia|rewrite t2; now apply hop_small]|].
    destruct (Nat.ltb_spec (k + 1) L); [|destruct it]. destruct it as [<-|[]].
    split; [lia|]. apply branch_small. lia.
Qed.
Lemma after k : k <= L -> holds k (run (map (hop_layer g m n L) (seq 0 (S k))) (input (reading []) p)).
Proof.
  induction k as [|k IH]; intros lk.
  - cbn [seq map run]. apply layer_holds; auto; try reflexivity; try lia. cbn [hop_target]. lia.
  - rewrite seq_S, map_app. cbn [map]. rewrite run_app, Nat.add_0_l. specialize (IH ltac:(lia)).
    set (a := run (map (hop_layer g m n L) (seq 0 (S k))) (input (reading []) p)) in *.
    destruct IH as (others & own & hop_k & w_k & w_next).
    assert (H : hop_target m n L (S k) (a e) <= e /\ p (hop_target m n L (S k) (a e)) = hop m n L (S k) p).
    { destruct k as [|k].
      - cbn [hop_target]. rewrite hop_k. pose proof (hop_bound 0 ltac:(lia)) as hb. cbn [hop pred entries] in hb.
        pose proof (base_end 1 ltac:(lia)) as be. cbn [pred entries] in be. split; [cbn [hop]; lia|reflexivity].
      - cbn [hop_target]. rewrite hop_k, (w_k ltac:(lia)).
        pose proof (hop_bound (S k) ltac:(lia)) as hb. cbn [pred] in hb.
        pose proof (base_end (S (S k)) ltac:(lia)) as be.
        change (entries m n (pred (S (S k)))) with (n (S k) * entries m n k) in be.
        destruct asked as (_ & _ & ws & _). assert (p (base m n L 0 + S k) < n (S k)) by (apply ws; lia).
        split; [nia|reflexivity]. }
    destruct H as [t1 t2]. apply layer_holds; auto.
    intros lt. replace (S k) with (k + 1) by lia. apply w_next. lia.
Qed.
End SeqComp.

Lemma seqcomp_possible m n L : 1 <= L -> tokens (seqcomp m n L) <= 2 ^ D -> entries m n (pred L) <= 2 ^ V ->
  solves (reading (seqcomp_layers g m n L)) (seqcomp m n L).
Proof.
  intros L1 le lv p asked. cbn [tokens reply seqcomp] in *. unfold answers, last_activation.
  replace (pred (base m n L 0 + L + 1)) with (base m n L 0 + L) by lia. cbn [stack reading says]. f_equal.
  destruct (after m n L L1 p asked ltac:(lia) lv L ltac:(lia)) as (_ & _ & H & _). exact H.
Qed.
End Built.
