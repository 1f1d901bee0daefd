"""The general check of claim `adapted-growth`, for any drafting: it knows none of them, it only watches them reveal.

The drafting is enumerated as a sequence of revealed nodes. After every past T_k, and for the slot that comes next, the
law that its token really has is computed. Two questions. Is it the law that verification uses? (`unfaithful`: where it
is not.) And does the rule stand it: averaged over that real law, does one more child leave unchanged the law of what is
emitted, and the probability of descending into each child already there? If it always does, the decoder is lossless
at this context, by induction over the revealed nodes, however the slot was chosen. Sampler match stands any law;
rejection stands only the stated one. For a rule that looks at the whole tree the second question is asked of what the
whole tree emits.

Some rules weigh all siblings at once and do not stand half a family (a transport plan, k-sequential selection). For
them a step is a family: the siblings revealed in one go, averaged together; the same induction holds. Their number may
depend on the past, but not on the family's own tokens, and that shows in the average.

As in the theorem, a node must come after its parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.prefixes import prefixes_of, vertices
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.decoder import Decoder
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath, Tree, children_of
from rheo_verify.errors import LimitReached, MisuseError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law, collect, law_total_variation
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total
from rheo_verify.verification.layer import LayerRule

MOST_NODES = 120_000
Broken = Literal["emission", "descent", "orphan", "undefined"]


@dataclass(frozen=True)
class Step:
    """A slot that comes next after the past `tree`, with probability `given` in all.

    `stated` is the law that verification takes its token to have (None: a point mass), `found` the one it has. Of a
    family, `slot` is its parent's, and there is no one law: `stated` is None and `found` empty.
    `broken` says how the rule fails to stand it: `emission`, what comes out changes; `descent`, the probability of
    reaching a sibling does; `orphan`, the node's parent is not there yet; `undefined`, the rule means nothing for such
    a tree. None if it stands it.
    """

    tree: Tree
    slot: SlotPath
    tokens: TokenPath
    given: Rational
    stated: Row | None
    found: Law[int]
    broken: Broken | None

    @property
    def distance(self) -> Rational:
        """Total variation between the stated law and the one found; zero for a token that is not sampled."""
        if self.stated is None:
            return ZERO
        return law_total_variation({token: p for token, p in enumerate(self.stated) if p}, self.found)

    @property
    def faithful(self) -> bool:
        """Whether a sampled token has the law that verification uses."""
        return self.distance == 0


@dataclass(frozen=True)
class AdaptedGrowth:
    """The answer. `pasts` is the number of T_k, `steps` that of next slots looked at, both exhaustive.

    `broken` are the steps that the rule does not stand: token by token, or, if `by` is `family`, family by family.
    """

    by: Literal["token", "family"]
    pasts: int
    steps: int
    unfaithful: tuple[Step, ...]
    broken: tuple[Step, ...]

    @property
    def verdict(self) -> Verdict:
        """VERIFIED: every step is one that the rule stands, so the decoder is lossless here. REFUTED proves no loss."""
        return Verdict.of(not self.broken)

    @property
    def culprit(self) -> Literal["slot", "rule"] | None:
        """Whom to blame for broken steps: the slot of unfaithful tokens; the rule if all tokens there are faithful."""
        if not self.broken:
            return None
        return "rule" if all(step.faithful for step in self.broken) else "slot"

    @property
    def blamed(self) -> Step | None:
        """The broken step that matters most: unfaithful before faithful, by probability times distance."""
        return max(self.broken, key=lambda step: (step.given * step.distance, step.given), default=None)


def adapted_growth(
    model: Model, context: Context, decoder: Decoder, limits: Limits | None = None, most: int = MOST_NODES
) -> AdaptedGrowth:
    """Watch every way in which the decoder's drafting can reveal its tree at `context`.

    Raises `LimitReached`, RV202 when all outcomes of the drafting together have more than `most` nodes.
    """
    outcomes: list[tuple[Tree, Rational]] = []
    nodes = 0
    paths = enumerate_paths(lambda chance: tuple(decoder.draft(chance, model, context)))
    limits = limits or Limits()
    for path in limits.watch(paths, every=16):
        nodes += len(path.result)
        if nodes > most:
            raise LimitReached("RV202", f"the outcomes of the drafting have more than {most:,} nodes")
        outcomes.append((path.result, path.probability))
    trees = collect(outcomes)
    judge = _Judge(model, context, decoder, limits)
    pasts, steps = _token_steps(judge, trees)
    unfaithful = tuple(step for step in steps if not step.faithful)
    broken = tuple(step for step in steps if step.broken)
    if broken:
        broken_families = [step for step in _family_steps(judge, trees) if step.broken]
        if not broken_families or not unfaithful:
            return AdaptedGrowth("family", pasts, len(steps), unfaithful, tuple(broken_families))
    return AdaptedGrowth("token", pasts, len(steps), unfaithful, broken)


def _token_steps(judge: _Judge, trees: Law[Tree]) -> tuple[int, list[Step]]:
    """Every past, and every slot that comes next after it.

    A slot whose tokens state different laws is one step for each law: they cannot vouch for each other.
    """
    steps: list[Step] = []
    pasts = 0
    for tree, vertex in vertices(prefixes_of(trees)):
        pasts += 1
        by_slot: dict[SlotPath, list[tuple[Node, Rational]]] = {}
        for node, there in vertex.following.items():
            by_slot.setdefault(node.slots, []).append((node, there.probability))
        for slot, nodes in sorted(by_slot.items()):
            everything = total(probability for _, probability in nodes)
            shares = [(node, probability / everything) for node, probability in nodes]
            found = collect((node.token, share) for node, share in shares)
            broken = judge.broken(tree, [((node,), share) for node, share in shares])
            for law in dict.fromkeys(node.law for node, _ in nodes):
                given = total(probability for node, probability in nodes if node.law == law)
                steps.append(Step(tree, slot, nodes[0][0].tokens[:-1], given, law, found, broken))
    return pasts, steps


def _family_steps(judge: _Judge, trees: Law[Tree]) -> Iterator[Step]:
    """Every past that ends with a family, and every parent whose family comes next after it."""
    pasts: dict[tuple[Tree, SlotPath], dict[Tree, Rational]] = {}
    for tree, probability in trees.items():
        begin = 0
        while begin < len(tree):
            parent, end = tree[begin].slots[:-1], begin
            while end < len(tree) and tree[end].slots[:-1] == parent:
                end += 1
            families = pasts.setdefault((tree[:begin], parent), {})
            family = tree[begin:end]
            families[family] = families.get(family, ZERO) + probability
            begin = end
    for (tree, parent), families in pasts.items():
        everything = total(families.values())
        broken = judge.broken(tree, [(family, probability / everything) for family, probability in families.items()])
        tokens = next(iter(families))[0].tokens[:-1]
        yield Step(tree, parent, tokens, everything, None, {}, broken)


class _Judge:
    """Whether a rule stands one more node, on average over the law its token has."""

    def __init__(self, model: Model, context: Context, decoder: Decoder, limits: Limits | None = None) -> None:
        self.model = model
        self.context = context
        self.rule = decoder.rule
        self.limits = limits or Limits()
        self.laws = LayerLaws(model, context, self.rule, self.limits) if isinstance(self.rule, LayerRule) else None
        self.emitted: dict[Tree, Law[TokenPath]] = {}

    def broken(self, tree: Tree, additions: Sequence[tuple[Tree, Rational]]) -> Broken | None:
        """The additions are siblings of one parent; the probabilities sum to one. Raises `LimitReached` RV201."""
        self.limits.check_time()
        parent = additions[0][0][0].slots[:-1]
        if parent and all(other.slots != parent for other in tree):
            return "orphan"
        try:
            return self._broken_tree(tree, additions) if self.laws is None else self._broken_layer(tree, additions)
        except MisuseError:
            return "undefined"

    def _broken_layer(self, tree: Tree, additions: Sequence[tuple[Tree, Rational]]) -> Broken | None:
        assert self.laws is not None
        parent = additions[0][0][0].slots[:-1]
        tokens, children = additions[0][0][0].tokens[:-1], children_of(tree, parent)
        before = self.laws.at(tokens, children)
        emitted = before.emitted([child.token for child in children])
        if not children and emitted != self.laws.target(tokens):
            return "emission"
        comes_out = [ZERO] * len(emitted)
        descends = dict.fromkeys((child.slots for child in children), ZERO)
        for more, probability in additions:
            longer = children_of([*children, *more], parent)
            after = self.laws.at(tokens, longer)
            for token, p in enumerate(after.emitted([sibling.token for sibling in longer])):
                comes_out[token] += probability * p
            for sibling, p in zip(longer, after.accept, strict=True):
                if sibling.slots in descends:
                    descends[sibling.slots] += probability * p
        if tuple(comes_out) != emitted:
            return "emission"
        return None if tuple(descends.values()) == before.accept else "descent"

    def _broken_tree(self, tree: Tree, additions: Sequence[tuple[Tree, Rational]]) -> Broken | None:
        depth = 1 + max((node.depth for node in (*tree, *additions[0][0])), default=0)
        before = self._continued(self._emitted(tree), depth)
        if not tree and before != self._continued({(): ONE}, depth):
            return "emission"
        after = collect(
            (tokens, probability * p)
            for more, probability in additions
            for tokens, p in self._continued(self._emitted((*tree, *more)), depth).items()
        )
        return None if after == before else "emission"

    def _emitted(self, tree: Tree) -> Law[TokenPath]:
        assert not isinstance(self.rule, LayerRule)
        if tree not in self.emitted:
            self.emitted[tree] = self.rule.law(self.model, self.context, tree)
        return self.emitted[tree]

    def _continued(self, law: Law[TokenPath], length: int) -> Law[TokenPath]:
        """The law, each outcome continued by draws from the target to `length` tokens."""
        finished: list[tuple[TokenPath, Rational]] = []
        stack = list(law.items())
        while stack:
            tokens, probability = stack.pop()
            if len(tokens) >= length:
                finished.append((tokens, probability))
                continue
            row = self.model.target(self.context + tokens)
            stack += [((*tokens, token), probability * p) for token, p in enumerate(row) if p]
        return collect(finished)
