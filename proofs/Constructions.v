(* Eva in one layer, L-SeqComp in L + 1. *)
From Coq Require Import List Arith Lia.
From Rung Require Import Model Tasks SeqComp Softmax Gadget.
Import ListNotations.

Theorem eva_possible D n : n + 1 <= 2 ^ D -> solves (eva_model D n) (eva n).
Proof.
  intros le p (small & lx). cbn [tokens eva index_task reply]. unfold answers, last_activation.
  replace (pred (n + 1)) with n by lia. cbn [stack eva_model run says]. f_equal.
  rewrite lookup_at; cbn [input embed eva_model hd nth]; auto; try lia.
  intros j lj. unfold input. cbn [embed eva_model hd].
  destruct (Nat.eq_dec j n) as [->|]; [lia|]. specialize (small j ltac:(lia)). lia.
Qed.

Section SeqComp.
Variables (D m : nat) (n : nat -> nat) (L : nat).
Hypothesis L1 : 1 <= L.
Notation e := (base m n L 0 + L).
Variable p : nat -> nat.
Hypothesis asked : asks (seqcomp m n L) p.
Hypothesis le : e + 1 <= 2 ^ D.
Hypothesis small : forall i, i <= e -> p i < 2 ^ D.

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

Lemma run_app {X} (ls : list (layer X)) l a : run (ls ++ [l]) a = apply l (run ls a).
Proof. revert a. induction ls as [|x ls IH]; intros a; simpl; auto. Qed.

(* After layer k: `=` holds i_k and w_k, all else is as it was. *)
Lemma after k : k <= L ->
  let a := run (map (hop_layer D m n L) (seq 0 (S k))) (input (seqcomp_model D m n L) p) in
  (forall i, i <> e -> a i = [p i]) /\ a e = [p e; hop m n L k p; p (base m n L 0 + k)].
Proof.
  induction k as [|k IH]; intros lk a; unfold a; clear a.
  - cbn [seq map run]. unfold hop_layer. split.
    + intros i ne. rewrite lookup_elsewhere by auto. reflexivity.
    + rewrite lookup_at; cbn [hop_target]; try lia; [reflexivity|].
      intros j lj. apply small. exact lj.
  - rewrite seq_S, map_app. cbn [map]. rewrite run_app, Nat.add_0_l.
    specialize (IH ltac:(lia)). cbv zeta in IH.
    set (a := run (map (hop_layer D m n L) (seq 0 (S k))) (input (seqcomp_model D m n L) p)) in *.
    destruct IH as [others own]. unfold hop_layer. split.
    + intros i ne. rewrite lookup_elsewhere by auto. auto.
    + assert (hdp : forall j, hd 0 (a j) = p j).
      { intros j. destruct (Nat.eq_dec j e) as [->|ne]; [rewrite own|rewrite others by auto]; reflexivity. }
      assert (target : hop_target m n L (S k) (a e) <= e /\ p (hop_target m n L (S k) (a e)) = hop m n L (S k) p).
      { rewrite own. destruct k as [|k].
        - cbn [hop_target nth]. pose proof (hop_bound 0 ltac:(lia)) as hb. cbn [hop pred entries] in hb.
          pose proof (base_end 1 ltac:(lia)) as be. cbn [pred entries] in be. split; [cbn [hop]; lia|reflexivity].
        - cbn [hop_target nth].
          pose proof (hop_bound (S k) ltac:(lia)) as hb. cbn [pred] in hb.
          pose proof (base_end (S (S k)) ltac:(lia)) as be.
          change (entries m n (pred (S (S k)))) with (n (S k) * entries m n k) in be.
          destruct asked as (_ & _ & ws & _). assert (p (base m n L 0 + S k) < n (S k)) by (apply ws; lia).
          split; [nia|reflexivity]. }
      destruct target as [t1 t2].
      rewrite lookup_at; auto; try lia.
      * rewrite !hdp, t2. reflexivity.
      * intros j lj. rewrite hdp. now apply small.
Qed.
End SeqComp.

Theorem seqcomp_possible D m n L : 1 <= L -> tokens (seqcomp m n L) <= 2 ^ D ->
  (forall p, asks (seqcomp m n L) p -> forall i, i < tokens (seqcomp m n L) -> p i < 2 ^ D) ->
  solves (seqcomp_model D m n L) (seqcomp m n L).
Proof.
  intros L1 le small p asked. unfold answers, last_activation. cbn [tokens seqcomp] in *.
  replace (pred (base m n L 0 + L + 1)) with (base m n L 0 + L) by lia.
  destruct (after D m n L L1 p asked le) with (k := L) as [_ own]; auto.
  - intros i li. apply small; auto. lia.
  - cbv zeta in own. cbn [reply seqcomp]. exact (f_equal (fun x => @inr nat nat (nth 1 x 0)) own).
Qed.
