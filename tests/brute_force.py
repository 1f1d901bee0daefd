"""The oracle: a plain recursive brute force in `fractions.Fraction`, sharing no code with the package.

It follows SPEC 1.1 to 1.4 word by word: build every unpruned tree, prune it, verify by following every coin, extend
by the target, add up. It is also what the benchmark compares with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

Context = tuple[int, ...]
Row = list[Fraction]
Node = tuple[tuple[int, ...], Context, str, Fraction]  # slots, tokens, kind, score


Trees = Iterator[tuple[Fraction, list[Node]]]
Law = dict[Context, Fraction]


class BruteForce:
    """One model and one design; `proxy` is "rheo", "raw" or a number."""

    def __init__(
        self,
        vocab: int,
        target: Callable[[Context], Row],
        draft: Callable[[Context], Row],
        sampling: Callable[[Context], Row] | None = None,
        *,
        m: int = 1,
        k: int = 3,
        beam: int = 3,
        depth: int = 3,
        budget: int = 6,
        proxy: str | Fraction = "rheo",
        epsilon: Fraction = Fraction(0),
        ties: str = "position",
        rule: str = "rheo",
        verification: str = "sampling",
    ) -> None:
        self.vocab, self.target, self.draft = vocab, target, draft
        self.sampling = sampling or draft
        self.m, self.k, self.beam, self.depth, self.budget = m, k, beam, depth, budget
        self.proxy, self.epsilon, self.ties, self.rule, self.verification = proxy, epsilon, ties, rule, verification
        self.pools: dict[Context, list[tuple[Fraction, list[tuple[int, str, int, Fraction]]]]] = {}

    def tail_law(self, context: Context, row: Row) -> Row | None:
        lead = self.order(context)[: min(self.m, self.k)]
        mass = sum((row[v] for v in range(self.vocab) if v not in lead), Fraction(0))
        if self.k <= self.m or mass == 0:
            return None
        return [Fraction(0) if v in lead else row[v] / mass for v in range(self.vocab)]

    def order(self, context: Context) -> list[int]:
        q = self.draft(context)
        return sorted(range(self.vocab), key=lambda v: (-q[v], v))

    def pool(self, context: Context) -> list[tuple[Fraction, list[tuple[int, str, int, Fraction]]]]:
        """Every way a pool can come out: its probability and its (slot, kind, token, factor)."""
        if context in self.pools:
            return self.pools[context]
        q, order = self.draft(context), self.order(context)
        lead = order[: min(self.m, self.k)]
        law = self.tail_law(context, self.sampling(context))
        found = []
        for sampled in [None] if law is None else [v for v in range(self.vocab) if law[v]]:
            slots = [("lead", v, q[v]) for v in lead]
            if sampled is not None:
                slots.append(("sampled", sampled, self.factor(q, order, sampled)))
            slots += [("fill", v, q[v]) for v in order if v not in lead and v != sampled]
            weight = Fraction(1) if law is None or sampled is None else law[sampled]
            found.append((weight, [(i + 1, *slot) for i, slot in enumerate(slots[: self.k])]))
        self.pools[context] = found
        return found

    def factor(self, q: Row, order: list[int], sampled: int) -> Fraction:
        if self.proxy == "raw":
            return q[sampled]
        if self.proxy != "rheo":
            return Fraction(self.proxy)
        if self.m == 0:
            return q[order[0]] + self.epsilon
        return min(q[order[self.m - 1]], sum((q[v] for v in order[self.m :]), Fraction(0)))

    def key(self, node: Node) -> tuple[object, ...]:
        slots, tokens, _, score = node
        return (-score, len(slots), slots if self.ties == "position" else tokens, slots)

    def unpruned(self) -> Trees:
        """Every unpruned tree with its probability."""

        def grow(depth: int, layer: list[Node], nodes: list[Node], weight: Fraction) -> Trees:
            if depth == self.depth:
                yield weight, nodes
                return
            beam = sorted(layer, key=self.key)[: self.beam]
            for choice in product(*[self.pool(node[1]) for node in beam]):
                new, chance = [], weight
                for (slots, tokens, _, score), (part, candidates) in zip(beam, choice, strict=True):
                    chance *= part
                    for slot, kind, token, factor in candidates:
                        new.append(((*slots, slot), (*tokens, token), kind, score * factor))
                yield from grow(depth + 1, new, nodes + new, chance)

        yield from grow(0, [((), (), "lead", Fraction(1))], [], Fraction(1))

    def classes(self) -> tuple[int, dict[tuple[Node, ...], Fraction]]:
        """How many unpruned trees there are, and the law of the R best nodes."""
        count, law = 0, defaultdict(Fraction)
        for weight, nodes in self.unpruned():
            count += 1
            law[tuple(sorted(nodes, key=self.key)[: self.budget])] += weight
        return count, dict(law)

    def emission(self, tree: tuple[Node, ...], slots: tuple[int, ...] = (), tokens: Context = ()) -> Law:
        """The law of what verification emits from a node of a pruned tree."""
        children = sorted(node for node in tree if node[0][:-1] == slots)
        out: dict[Context, Fraction] = defaultdict(Fraction)
        for accepted, token, chance in self.outcomes(tokens, children):
            if accepted is None:
                out[(token,)] += chance
            else:
                for rest, more in self.emission(tree, children[accepted][0], (*tokens, token)).items():
                    out[(token, *rest)] += chance * more
        return out

    def outcomes(self, context: Context, children: list[Node]) -> Iterator[tuple[int | None, int, Fraction]]:
        """(accepted child or None, token, probability) of one layer, coin by coin."""
        r, left = list(self.target(context)), Fraction(1)
        row = self.sampling(context) if self.verification == "sampling" else self.draft(context)
        q = self.tail_law(context, row) or self.tail_law(context, self.sampling(context))
        queue = list(range(len(children)))
        if self.rule == "rheo":
            queue.sort(key=lambda i: (children[i][2] != "sampled", i))
        for i in queue:
            token = children[i][1][-1]
            mass = sum(r, Fraction(0))
            if left == 0:
                return
            if children[i][2] == "sampled" and self.rule != "topk":
                assert q is not None
                yes = min(Fraction(1), r[token] / mass / q[token]) if q[token] else Fraction(1)
                r = [max(Fraction(0), r[v] / mass - q[v]) for v in range(self.vocab)]
            else:
                yes = r[token] / mass
                r[token] = Fraction(0)
            yield i, token, left * yes
            left *= 1 - yes
        if left:
            mass = sum(r, Fraction(0))
            for token in range(self.vocab):
                yield None, token, left * r[token] / mass

    def total_variation(self) -> Fraction:
        """Between the first D+1 tokens of one cycle, extended by the target, and the target's, sequence by sequence."""
        law: dict[Context, Fraction] = defaultdict(Fraction)
        for tree, weight in self.classes()[1].items():
            for tokens, chance in self.emission(tree).items():
                if chance:
                    for rest in product(range(self.vocab), repeat=self.depth + 1 - len(tokens)):
                        law[(*tokens, *rest)] += weight * chance * self.target_probability(rest, tokens)
        whole = product(range(self.vocab), repeat=self.depth + 1)
        return sum((abs(law[x] - self.target_probability(x)) for x in whole), Fraction(0)) / 2

    def tokens_per_cycle(self) -> Fraction:
        """The expected number of emitted tokens."""
        trees = self.classes()[1].items()
        lengths = (w * chance * len(tokens) for tree, w in trees for tokens, chance in self.emission(tree).items())
        return sum(lengths, Fraction(0))

    def target_probability(self, tokens: Context, after: Context = ()) -> Fraction:
        chance = Fraction(1)
        for index, token in enumerate(tokens):
            if chance == 0:
                return chance
            chance *= self.target(after + tokens[:index])[token]
        return chance
