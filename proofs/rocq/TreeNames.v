(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Names of DynamicTree.v for use in a section that has its variables: loaded there as text, not compiled on its own. *)
Local Notation node := (node R V).
Local Notation reads := (reads R V).
Local Notation slot_of := (slot_of v0 pool).
Local Notation rootn := (rootn R root).
Local Notation kid := (kid v0 pool).
Local Notation kids := (kids v0 pool width).
Local Notation token := (token v0).
Local Notation in_sampled_slot := (in_sampled_slot smp).
Local Notation expand := (expand W).
Local Notation expandR := (expandR v0 pool smp width).
Local Notation buildR := (buildR v0 pool smp width W).
Local Notation eagerR := (eagerR v0 pool smp width W D root).
Local Notation sibling := (sibling v0 smp).
Local Notation avail := (avail v0 pool smp width).
Local Notation expanded := (expanded W D root).
Local Notation heap := (heap v0 pool smp width W D root).
Local Notation pick := (pick v0 pool smp width W D root).
Local Notation lazyR := (lazyR v0 pool smp width W D root).
Local Notation kid_lead := (kid_lead ok).
Local Notation kid_score := (kid_score ok).
Local Notation kid_score_ge0 := (kid_score_ge0 ok).
Local Notation kid_score_le := (kid_score_le ok).
Local Notation prio_parent := (prio_parent ok).
Local Notation prio_sampled := (prio_sampled ok).
