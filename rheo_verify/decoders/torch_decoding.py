"""The decoding loop on a real pair: the same drafting, rules and walk as on tables, over rows that networks compute.

A cycle at a context of T tokens: the head, which has seen T-1 verified pairs, drafts a tree, one batch a depth; the
target runs the context's last token and all nodes in one forward under a tree mask; the walk verifies; what was
accepted stays in the target's cache and is what the head takes in next (EAGLE-3, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rheo_verify.drafting.batched_tree import Drafted, batched_tree, covers
from rheo_verify.drafting.build_then_prune import unpruned_tree
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Node, TokenPath, Tree, children_of
from rheo_verify.errors import InputError
from rheo_verify.models.eagle3_drafting import HeadState
from rheo_verify.models.llama import TargetState
from rheo_verify.models.model import Context, Model
from rheo_verify.models.pair import Pair
from rheo_verify.models.rows import RowSettings, draft_rows, target_rows
from rheo_verify.probability.chance import RowChance
from rheo_verify.probability.sparse import SparseRow
from rheo_verify.verification.layer import LayerRule
from rheo_verify.verification.walk import verify_layer, walk


@dataclass(frozen=True)
class Cycle:
    """What one cycle did. `rows` [1 + nodes, V]: target rows after the context and after each node of `tree`.

    `logits` are the target's own, of the same shape. `drafts`: ranking and sampling draft at an expanded token path,
    None at any other.
    """

    context: Context
    tree: Tree
    rows: Any
    logits: Any
    drafts: Callable[[TokenPath], tuple[SparseRow, SparseRow] | None]
    emitted: TokenPath

    def row(self, path: TokenPath) -> Any:
        """The target's row after a path of drafted tokens."""
        return self.rows[self.place(path)]

    def place(self, path: TokenPath) -> int:
        """The index of that row, in `rows` and in `logits`."""
        return 1 + self.places[path] if path else 0

    @property
    def places(self) -> dict[TokenPath, int]:
        """The index of each node in the tree, by its token path."""
        return {node.tokens: place for place, node in enumerate(self.tree)}

    @property
    def accepted(self) -> int:
        """How many drafted tokens were accepted: all that was emitted but the last."""
        return len(self.emitted) - 1


@dataclass
class TorchDecoding:
    """Decoding of one sequence. `start` reads a prompt, each `cycle` emits 1 to D+1 tokens."""

    pair: Pair
    design: TreeDesign
    rule: LayerRule
    chance: RowChance
    settings: RowSettings = field(default_factory=RowSettings)
    context: Context = ()
    _root: tuple[Context, Any] | None = None

    def start(self, prompt: Sequence[int]) -> None:
        """Read a prompt of at least two tokens (a beginning-of-sequence token counts). Raises `InputError` RV106."""
        if len(prompt) < 2:
            raise InputError("RV106", f"a prompt needs at least 2 tokens, not {len(prompt)}: prepend the start token")
        wrong = [token for token in prompt if not 0 <= token < self.pair.target.vocab]
        if wrong:
            raise InputError("RV106", f"the prompt's token {wrong[0]} is not in 0…{self.pair.target.vocab - 1}")
        if self.design.pool > min(self.settings.support, self.pair.head.config.draft_vocab):
            raise InputError("RV106", f"pool K {self.design.pool} exceeds the support of the draft rows")
        self.context = tuple(prompt)
        self.target_state, self.head_state = TargetState.new(self.pair.target), HeadState(self.pair.head)
        _, features = self.target_state.prefill(self.context[:-1], logits=False)
        self.head_state.extend(features, self.context[1:])

    def draft(self) -> Drafted:
        """One tree at the context: in batches where `covers` says so, else node by node."""
        if not covers(self.design):
            return self.draft_by_nodes()
        state = self.head_state
        return batched_tree(
            self.chance,
            self.design,
            self.settings,
            self.pair.head.to_target,
            self.pair.target.vocab,
            state.root(),
            state.step,
        )

    def draft_by_nodes(self) -> Drafted:
        """The same by floor 2's own source text, pool by pool: for any design, and the slow twin of the batches."""
        known: dict[TokenPath, tuple[SparseRow, SparseRow]] = {}
        places: dict[TokenPath, int] = {}
        device = self.pair.head.to_target.device

        def ahead(paths: list[Context]) -> None:
            import torch

            if paths == [()]:
                logits = self.head_state.root()
            else:
                tokens, parents = [path[-1] for path in paths], [places[path[:-1]] for path in paths]
                logits = self.head_state.step(torch.tensor(tokens, device=device), torch.tensor(parents, device=device))
            places.update((path, row) for row, path in enumerate(paths))
            rows = draft_rows(logits, self.pair.head.to_target, self.settings)
            known.update(zip(paths, rows.sparse(self.pair.target.vocab), strict=True))

        model = _model(self.pair.target.vocab, draft=known)
        tree = unpruned_tree(self.chance, self.design, lambda path: pool_at(model, path, self.design), ahead)
        return Drafted(tuple(sorted(tree, key=priority_of(self.design))[: self.design.budget]), known.get)

    def cycle(self) -> Cycle:
        """Draft, run the target, verify, and keep what was accepted."""
        drafted = self.draft()
        tree = drafted.tree
        logits, features = self.target_state.forward(
            [self.context[-1], *(node.token for node in tree)], [0, *(node.depth for node in tree)], tree_mask(tree)
        )
        rows = self._rows(logits)
        cycle = Cycle(self.context, tree, rows, logits, drafted.rows, ())
        model = _model(self.pair.target.vocab, target=cycle)
        emitted = walk(self.chance, model, (), tree, self.rule)
        self._keep(tree, emitted, features)
        return Cycle(cycle.context, tree, rows, logits, drafted.rows, emitted)

    def _keep(self, tree: Tree, emitted: TokenPath, features: Any) -> None:
        places = {node.tokens: place + 1 for place, node in enumerate(tree)}
        kept = [0, *(places[emitted[:length]] for length in range(1, len(emitted)))]
        self.target_state.keep(kept)
        self.head_state.extend(features[kept], emitted)
        self.context += emitted

    def _rows(self, logits: Any) -> Any:
        if bool(logits.isnan().any()):
            raise InputError("RV608", f"the target's logits are not numbers in {self.pair.target.dtype}")
        return target_rows(logits, self.settings)

    def first_token(self) -> tuple[Any, int]:
        """The target's row at the context and the first token of one cycle there; the context stays. For statistics."""
        if self._root is None or self._root[0] != self.context:
            logits, _ = self.target_state.forward([self.context[-1]], [0], tree_mask(()))
            self.target_state.keep([])
            self._root = (self.context, self._rows(logits))
        rows = self._root[1]
        drafted = self.draft()
        tree = drafted.tree
        empty = Cycle(self.context, tree, rows, rows, drafted.rows, ())
        outcome = verify_layer(
            self.chance, _model(self.pair.target.vocab, target=empty), (), children_of(tree, ()), self.rule
        )
        return rows[0], outcome.token

    def run(self, length: int) -> Iterator[Cycle]:
        """Cycles until at least `length` more tokens are out."""
        until = len(self.context) + length
        while len(self.context) < until:
            yield self.cycle()


def tree_mask(tree: Tree) -> Any:
    """Bool [1 + n, 1 + n]: the context's last token, then the nodes; each sees its ancestors and itself."""
    import torch

    mask = torch.eye(len(tree) + 1, dtype=torch.bool)
    mask[:, 0] = True
    places = {node.slots: place for place, node in enumerate(tree, 1)}
    for place, node in enumerate(tree, 1):
        for depth in range(1, node.depth):
            mask[place, places[node.slots[:depth]]] = True
    return mask


def layers_of(cycle: Cycle) -> Iterator[tuple[TokenPath, list[Node], int]]:
    """Each layer that the walk visited: the path to it, its surviving children, the token that came out."""
    paths = {node.tokens: node.slots for node in cycle.tree}
    for length, token in enumerate(cycle.emitted):
        path = cycle.emitted[:length]
        yield path, children_of(cycle.tree, paths[path] if path else ()), token


def _model(
    vocab: int, *, draft: dict[TokenPath, tuple[SparseRow, SparseRow]] | None = None, target: Cycle | None = None
) -> Model:
    """A model over this cycle's rows: contexts are token paths after the cycle's context."""
    places = {} if target is None else {(): 0} | {path: place + 1 for path, place in target.places.items()}

    def of_target(path: Context) -> Any:
        assert target is not None
        return target.rows[places[path]]

    rows = {} if draft is None else draft
    known: Any = rows.__getitem__
    return Model(vocab, of_target, lambda path: known(path)[0], lambda path: known(path)[1], (), "a real pair")
