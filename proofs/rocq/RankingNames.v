(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Names of Ranking.v for use after those of TreeNames.v: loaded as text, not compiled on its own. *)
Local Notation kidY := (kidY v0 pool).
Local Notation kidsY := (kidsY v0 pool width).
Local Notation layer := (layer v0 pool width W root).
Local Notation tree := (tree v0 pool width W D root).
Local Notation eagerT := (eagerT v0 pool width W D root).
Local Notation ranked := (ranked v0 pool width W D root).
Local Notation fill := (fill smp).
Local Notation stepT := (stepT v0 pool smp width W D root).
Local Notation Er := (Er vs q).
Local Notation once := (once q).
Local Notation Er_scale := (Er_scale vsP).
Local Notation layer_score := (layer_score ok).
Local Notation siblingE := (siblingE ok).
Local Notation fill_kid := (fill_kid ok).
Local Notation availP := (availP ok).
Local Notation heapP := (heapP ok).
Local Notation heap_next := (heap_next ok).
Local Notation stepT_ranked := (stepT_ranked W D root ok).
Local Notation lazy_is_eager := (lazy_is_eager W D root ok).
Local Notation take_ranked := (take_ranked W D root ok).
