#!/usr/bin/env python3
"""usage: python check_acceptance.py FILE.json ...   exit 0: every number holds; 1: a file is rejected; 2: unreadable

Rechecks what `acceptance --certificate FILE.json` wrote, with nothing of the package. A layer's rates are worked out by
the rules' steps (SPEC 1.3), for every draw; the optimum by weak duality: a plan and a cut of equal value. Tokens per
cycle: one tree a class (SPEC 1.1, 1.2), the law of the pruned tree by `eager_equals_lazy` of proofs/rocq, whose
conditions (the paper's proxy, ties by position) hold for every design that this file can state.
"""

import pathlib
import runpy
from fractions import Fraction
from itertools import islice

FILES = runpy.run_path(str(pathlib.Path(__file__).with_name("check_files.py")))
ROOT = (), (), Fraction(1), None  # a node: its slots, its tokens, its path score, the law that it is verified with


def need(holds, what):
    if not holds:
        raise ValueError(what)


def normal(weights):
    return [Fraction(weight, sum(weights)) for weight in weights] if any(weights) else list(weights)


class Decoder:  # one rule with one tree design, on the rows of the certificate
    def __init__(self, data, rule, lead, pool, beam=1, depth=1, budget=1):
        self.rule, self.lead, self.pool, self.beam, self.depth, self.budget = rule, lead, pool, beam, depth, budget
        need(min(pool, beam, depth, budget) >= 1, "a size is zero")
        self.vocab, self.rows, self.known = data["vocab"], {}, {}
        for name, table in data["rows"].items():
            for at, row in table.items():
                row = self.rows[name, *map(int, at.split())] = [Fraction(p) for p in row]
                need(len(row) == self.vocab and sum(row) == 1, f"no distribution at {name} {at}")

    def pool_at(self, context):  # the law of Y (or None); for each Y the slots: token, factor, law to verify with
        if context not in self.known:
            q, has_sample = self.rows["draft", *context], self.pool > self.lead
            order = sorted(range(self.vocab), key=lambda v: (-q[v], v))
            lead, rest, slots = order[: min(self.lead, self.pool)], order[self.lead :], {}
            drawn = self.rows["sampling_draft", *context] if has_sample else q
            law = normal([drawn[v] if v in rest else 0 for v in range(self.vocab)])
            law = tuple(law) if has_sample and any(law) else None
            proxy = min(q[lead[-1]], sum(q[v] for v in rest)) if lead else q[order[0]]
            for y in [v for v in range(self.vocab) if law[v]] if law else [None]:
                slots[y] = [(v, q[v], None) for v in lead] + [(y, proxy, law)] * bool(law)
                slots[y] = (slots[y] + [(v, q[v], None) for v in rest if v != y])[: self.pool]
            self.known[context] = law, slots
        return self.known[context]

    def children(self, parent, y):
        for number, (token, factor, law) in enumerate(self.pool_at(parent[1])[1][y], 1):
            yield (*parent[0], number), (*parent[1], token), parent[2] * factor, law

    def trees(self, tree=(), probability=Fraction(1)):  # best first; Y is drawn when its slot comes up
        opened = [
            n
            for d in range(1, min(self.depth, len(tree) + 1))
            for n in [n for n in tree if len(n[0]) == d][: self.beam]
        ]
        shown, hidden = {node[0]: node for node in tree}, {}
        for parent in [ROOT, *opened]:
            law, slots = self.pool_at(parent[1])
            drawn = shown.get((*parent[0], self.lead + 1)) if law else None
            seen = self.pool if drawn or not law else self.lead + 1  # no fill is looked at before Y is known
            for child in islice(self.children(parent, drawn[1][-1] if drawn else next(iter(slots))), seen):
                if child[0] not in shown:
                    hidden[child] = law if child[3] else [1]
        if len(tree) == self.budget or not hidden:
            return (yield tree, probability)
        child = min(hidden, key=lambda node: (-node[2], len(node[0]), node[0]))
        for y, chance in enumerate(hidden[child]):
            node = child if child[3] is None else (child[0], (*child[1][:-1], y), *child[2:])
            yield from self.trees((*tree, node), probability * chance) if chance else ()

    def accepted(self, target, children):  # the probability that each child is accepted, by the steps of SPEC 1.3
        left, alive = list(target), Fraction(1)
        order = sorted(children, key=lambda it: it[3] is None) if self.rule == "rheo" else children
        for child in order:
            token, law = child[1][-1], None if self.rule == "topk" else child[3]
            yes = left[token] if law is None else min(Fraction(1), left[token] / law[token]) if law[token] else 1
            yield child, alive * yes
            alive *= 1 - yes
            gone = law or [left[token] if v == token else 0 for v in range(self.vocab)]
            left = normal([max(Fraction(0), have - less) for have, less in zip(left, gone)])

    def rate(self):  # what the layer accepts, averaged over Y
        law, slots = self.pool_at(())
        pools = [(law[y] if law else 1, list(self.children(ROOT, y))) for y in slots]
        return sum(chance * sum(p for _, p in self.accepted(self.rows["target",], kids)) for chance, kids in pools)

    def tokens_per_cycle(self, trees):  # one, and for every node the probability that verification reaches it
        found, stack = Fraction(1), [((), (), probability, tree) for tree, probability in trees]
        while stack:
            slots, tokens, reached, tree = stack.pop()
            below = sorted(node for node in tree if node[0][:-1] == slots)
            for node, p in self.accepted(self.rows["target", *tokens], below) if below else ():
                found += reached * p
                stack += [(node[0], node[1], reached * p, tree)] if p else []
        return found


def check_layer(data, layer):
    lead, count, rates = layer["lead"], layer["candidates"], dict(layer["rates"])
    m, n = {"lead": lead, "pool": count}, {"lead": count, "pool": count}
    ways = {"rheo": ("rheo", m), "rrsw": ("rrsw", m), "top_k": ("topk", n)}
    ways |= {"single_sampled": ("rheo", {"lead": 0, "pool": 1}), "single_top1": ("topk", {"lead": 1, "pool": 1})}
    for name, (rule, shape) in ways.items():
        need(Decoder(data, rule, **shape).rate() == Fraction(rates.pop(name)), f"{name} accepts something else")
    it, sets, received = Decoder(data, "rheo", lead, count), {}, {}
    p, (law, slots) = it.rows["target",], it.pool_at(())
    best = set(sorted(range(it.vocab), key=lambda v: (-it.rows["draft",][v], v))[:count])
    bound = sum(p[v] if v in best else min(p[v], law[v]) if law else 0 for v in range(it.vocab))
    need(bound == Fraction(rates.pop("upper_bound")), "the bound of Theorem 3 is another")
    for y in slots:
        chosen = frozenset(token for token, _, _ in slots[y])
        sets[chosen] = sets.get(chosen, 0) + (law[y] if law else 1)
    stated = {frozenset(one["set"]): Fraction(one["probability"]) for one in layer["plan"]}
    need(stated == sets and len(layer["plan"]) == len(sets), "the candidate sets have another law")
    for one in layer["plan"]:
        flow = {int(token): Fraction(sent) for token, sent in one["flow"].items()}
        need(flow.keys() <= set(one["set"]) and min(flow.values(), default=0) >= 0, "a plan outside its set")
        need(sum(flow.values()) <= sets[frozenset(one["set"])], "a set sends more than it has")
        received |= {token: received.get(token, 0) + sent for token, sent in flow.items()}
    need(all(sent <= p[token] for token, sent in received.items()), "a token receives more than p")
    cut = set(layer["cut"])
    value = sum(p[v] for v in cut) + sum(chance for chosen, chance in sets.items() if not chosen <= cut)
    need(sum(received.values()) == value == Fraction(rates.pop("optimal")) and not rates, "plan and cut differ")


def check(data):  # raises an error unless every number in the certificate is what its rows give
    FILES["expect"](data, "rheo_verify/acceptance-certificate")
    need(data["layer"] or data["cycles"], "nothing is claimed")
    if data["layer"]:
        check_layer(data, data["layer"])
    for it in data["cycles"]:
        decoder = Decoder(data, it["rule"], **it["design"])
        trees = list(decoder.trees())
        need(sum(chance for _, chance in trees) == 1 and len(trees) == it["trees"], "another number of trees")
        need(decoder.tokens_per_cycle(trees) == Fraction(it["tokens_per_cycle"]), "the tokens per cycle are others")
    return ""


if __name__ == "__main__":
    FILES["main"](check, __doc__)
