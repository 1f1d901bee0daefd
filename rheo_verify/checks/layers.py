"""Layer laws in a tree, remembered; and the step condition on them (claim `layer-lossless`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rheo_verify.checks.prefixes import Prefix, walk
from rheo_verify.drafting.tree import Node, TokenPath, Tree
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ZERO, Rational
from rheo_verify.verification.layer import LayerLaw, LayerRule, exact_law


class LayerLaws:
    """The law of a rule at every node of the trees of one context, each computed once."""

    def __init__(self, model: Model, context: Context, rule: LayerRule, limits: Limits | None = None) -> None:
        self.model = model
        self.context = context
        self.rule = rule
        self.limits = limits or Limits()
        self._known: dict[tuple[object, ...], LayerLaw] = {}
        self._laws: dict[int, tuple[Row, int]] = {}
        self._numbers: dict[Row, int] = {}

    def target(self, tokens: TokenPath) -> Row:
        """The target's row after `tokens`."""
        return self.model.target(self.context + tokens)

    def at(self, tokens: TokenPath, children: Sequence[Node]) -> LayerLaw:
        """The law at the node reached by `tokens`, given its surviving children in slot order.

        Raises `LimitReached`.
        """
        key = (tokens, *[(child.tokens[-1], child.law and self._number(child.law)) for child in children])
        law = self._known.get(key)
        if law is None:
            self.limits.work(self.model.vocab)
            candidates = [child.token for child in children]
            law = exact_law(self.rule, self.target(tokens), candidates, [child.law for child in children])
            self._known[key] = law
        return law

    def _number(self, law: Row) -> int:
        """Equal laws have equal numbers. A row is compared once; the reference keeps its `id` from being reused."""
        known = self._laws.get(id(law))
        if known is None:
            known = self._laws[id(law)] = law, self._numbers.setdefault(law, len(self._numbers))
        return known[1]


@dataclass(frozen=True)
class StepViolation:
    """Where revealing one more child breaks the step condition at the node reached by `tokens`.

    what: `emission` if the law of the emitted token changed (`expected` to `found`, over the vocabulary), `descent` if
    the probabilities of descending into the children already there did (over `children`), `siblings` if the sampled
    token could equal a child already there, so that its stated law cannot be its law, `parent` if the node is revealed
    before its parent, so that it is no leaf when the parent comes.
    """

    what: Literal["emission", "descent", "siblings", "parent"]
    tokens: TokenPath
    children: tuple[int, ...]
    slot: int
    expected: tuple[Rational, ...]
    found: tuple[Rational, ...]


def step_violations(laws: LayerLaws, root: Prefix, limits: Limits | None = None) -> Iterator[StepViolation]:
    """Every failure of the step condition along the growth, each kind of step looked at once.

    With no child the layer emits p; one more child leaves the emitted law (claim `layer-lossless`), and the probability
    of descending into each child already there, unchanged: exactly if it is deterministic, on average over the law that
    verification takes it to have if it is sampled. If nothing is yielded, and every sampled token has that law, then
    the design is lossless at every budget (claim `adapted-growth`).
    """
    seen: set[tuple[object, ...]] = set()
    for vertex, tree, layers in (limits or Limits()).watch(walk(root)):
        last: Node | None = None
        for node in vertex.following:
            if last is not None and node.law is last.law is not None and _same_slot(node, last):
                continue  # another token of the same sampled slot
            last, above = node, node.slots[:-1]
            if above and all(earlier.slots != above for earlier in tree):
                yield StepViolation("parent", node.tokens[:-1], (), node.slots[-1], (), ())
            children = layers.get(above, ())
            key = (node.slots[-1], node.tokens[:-1], *[child.tokens[-1] for child in children])
            key += () if node.law is not None else (node.token,)
            if key not in seen:
                seen.add(key)
                yield from _violations_of(laws, list(children), node)


def _same_slot(node: Node, other: Node) -> bool:
    return node.slots == other.slots and node.tokens[:-1] == other.tokens[:-1]


def _violations_of(laws: LayerLaws, children: list[Node], node: Node) -> Iterator[StepViolation]:
    tokens, slot = node.tokens[:-1], node.slots[-1]
    present = tuple(child.token for child in children)
    before = laws.at(tokens, children)
    emitted = before.emitted(present)
    if not children and emitted != laws.target(tokens):
        yield StepViolation("emission", tokens, (), 0, laws.target(tokens), emitted)
    if node.law is None:
        found = _after(laws, tokens, children, node)
    elif any(node.law[token] for token in present):
        yield StepViolation("siblings", tokens, present, slot, (), ())
        return
    else:
        found = (ZERO,) * (len(present) + len(emitted))
        for token, probability in enumerate(node.law):
            if probability:
                drawn = Node(node.slots, (*tokens, token), node.kind, node.score, node.law)
                after = _after(laws, tokens, children, drawn)
                found = tuple(have + probability * add for have, add in zip(found, after, strict=True))
    if found[len(present) :] != emitted:
        yield StepViolation("emission", tokens, present, slot, emitted, found[len(present) :])
    if found[: len(present)] != before.accept:
        yield StepViolation("descent", tokens, present, slot, before.accept, found[: len(present)])


def _after(laws: LayerLaws, tokens: TokenPath, children: list[Node], node: Node) -> tuple[Rational, ...]:
    """Descents into `children`, then the emitted law, once `node` is there too."""
    place = sum(child.slots < node.slots for child in children)
    after = laws.at(tokens, [*children[:place], node, *children[place:]])
    descents = after.accept[:place] + after.accept[place + 1 :]
    return (*descents, *after.emitted([child.token for child in (*children[:place], node, *children[place:])]))


def reach(laws: LayerLaws, tree: Tree) -> Iterator[tuple[TokenPath, Rational, LayerLaw, list[Node]]]:
    """Every node of the tree that verification can reach: its tokens, the probability, its law, its children."""
    below: dict[tuple[int, ...], list[Node]] = {}
    for node in tree:
        below.setdefault(node.slots[:-1], []).append(node)
    for children in below.values():
        if len(children) > 1:
            children.sort(key=_by_slots)
    stack: list[tuple[tuple[int, ...], TokenPath, Rational]] = [((), (), ZERO + 1)]
    while stack:
        slots, tokens, probability = stack.pop()
        children = below.get(slots, [])
        law = laws.at(tokens, children)
        yield tokens, probability, law, children
        for child, accepted in zip(children, law.accept, strict=True):
            if accepted:
                stack.append((child.slots, child.tokens, probability * accepted))


def _by_slots(node: Node) -> tuple[int, ...]:
    return node.slots
