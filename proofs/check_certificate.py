#!/usr/bin/env python3
"""usage: python check_certificate.py FILE.json ...   exit 0: every number holds; 1: a file is rejected; 2: unreadable

Rechecks what `enumerate --certificate FILE.json` wrote, with nothing of the package: every pruned tree, what a cycle
emits, the distance from the target's law. `eager` builds and prunes every tree; `lazy` grows one tree a class: the same
law by `eager_equals_lazy` of proofs/rocq if its conditions hold. Other kinds: check_acceptance.py, check_paths.py.
"""

import math
import pathlib
import runpy
from fractions import Fraction
from itertools import islice, product

KINDS = {"rheo_verify/acceptance-certificate": "check_acceptance.py", "rheo_verify/paths-certificate": "check_paths.py"}
FILES = runpy.run_path(str(pathlib.Path(__file__).with_name("check_files.py")))
ROOT = (), (), Fraction(1), None  # a node: its slots, its tokens, its path score, the law that it is verified with


def need(holds, what):
    if not holds:
        raise ValueError(what)


def normal(weights):
    return [Fraction(weight, sum(weights)) for weight in weights] if any(weights) else list(weights)


class Job:
    def __init__(self, data):
        vars(self).update(data["design"], vocab=data["vocab"], rule=data["rule"], known={}, classes={})
        need(min(self.pool, self.beam, self.depth, self.budget) >= 1, "a size is zero")
        self.rows = {(n, *map(int, at.split())): row for n, rows in data["rows"].items() for at, row in rows.items()}
        for where, row in self.rows.items():
            self.rows[where] = row = [*map(Fraction, row)]
            need(len(row) == self.vocab and sum(row) == 1, f"no distribution at {where}")
        lemma_1 = self.pool <= self.lead or (self.proxy == "rheo" and (self.lead > 0 or Fraction(self.epsilon) == 0))
        need(data["growth"] == "eager" or (lemma_1 and self.ties == "position"), "lazy growth is not valid here")
        for tree, probability in self.eager([ROOT]) if data["growth"] == "eager" else self.lazy():
            self.classes[tree] = self.classes.get(tree, 0) + probability

    def pool_at(self, context):  # the law of Y (or None); for each Y the slots: token, factor, law to verify with
        if context not in self.known:
            q, has_sample = self.rows["draft", *context], self.pool > self.lead
            order = sorted(range(self.vocab), key=lambda v: (-q[v], v))
            lead, rest, slots = order[: min(self.lead, self.pool)], order[self.lead :], {}
            tables = [self.rows["sampling_draft", *context] if has_sample else q, q]
            law, ranked = (normal([row[v] if v in rest else 0 for v in range(self.vocab)]) for row in tables)
            law = law if has_sample and any(law) else None
            believed = ranked if self.verification == "ranking" and any(ranked) else law
            rheo = min(q[lead[-1]], sum(q[v] for v in rest)) if lead else q[order[0]] + Fraction(self.epsilon)
            for y in [v for v in range(self.vocab) if law[v]] if law else [None]:
                factor = rheo if self.proxy == "rheo" else q[y or 0] if self.proxy == "raw" else Fraction(self.proxy)
                slots[y] = [(v, q[v], None) for v in lead] + [(y, factor, believed)] * bool(law)
                slots[y] = (slots[y] + [(v, q[v], None) for v in rest if v != y])[: self.pool]
            self.known[context] = law, slots
        return self.known[context]

    def children(self, parent, y):
        for number, (token, factor, law) in enumerate(self.pool_at(parent[1])[1][y], 1):
            yield (*parent[0], number), (*parent[1], token), parent[2] * factor, law and tuple(law)

    def shown(self, node):
        return [[*node[0]], [*node[1]], "sampled" if node[3] else "lead" if node[0][-1] <= self.lead else "fill"]

    def ranked(self, nodes):
        return sorted(nodes, key=lambda node: (-node[2], len(node[0]), node[1 if self.ties == "token" else 0]))

    def eager(self, layer, tree=(), probability=Fraction(1), depth=0):  # every unpruned tree, pruned
        if depth == self.depth:
            return (yield tuple(self.ranked(tree)[: self.budget]), probability)
        beam = self.ranked(layer)[: self.beam]
        for draws in product(*(self.pool_at(parent[1])[1] for parent in beam)):
            below = [child for parent, y in zip(beam, draws) for child in self.children(parent, y)]
            chances = [self.pool_at(parent[1])[0][y] for parent, y in zip(beam, draws) if y is not None]
            yield from self.eager(below, (*tree, *below), math.prod(chances, start=probability), depth + 1)

    def lazy(self, tree=(), probability=Fraction(1)):  # best first; Y is drawn when its slot comes up
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
        child = self.ranked(hidden)[0]
        for y, chance in enumerate(hidden[child]):
            node = child if child[3] is None else (child[0], (*child[1][:-1], y), *child[2:])
            yield from self.lazy((*tree, node), probability * chance) if chance else ()

    def layer(self, target, children):  # acceptance of each child, and what is left, by the steps of SPEC 1.3
        left, alive, accept = list(target), Fraction(1), {}
        order = sorted(children, key=lambda it: it[3] is None) if self.rule == "rheo" else children
        for slots, tokens, _, law in order:
            token, law = tokens[-1], None if self.rule == "topk" else law
            yes = left[token] if law is None else min(Fraction(1), left[token] / law[token]) if law[token] else 1
            accept[slots], alive = alive * yes, alive * (1 - yes)
            gone = law or [left[token] if v == token else 0 for v in range(self.vocab)]
            left = normal([max(Fraction(0), have - less) for have, less in zip(left, gone)])
        return accept, [alive * weight for weight in left]

    def emitted(self, budget):  # the law of what one cycle emits
        law, stack = {}, [((), (), probability, tree[:budget]) for tree, probability in self.classes.items()]
        while stack:
            slots, tokens, reached, tree = stack.pop()
            below = sorted(node for node in tree if node[0][:-1] == slots)
            accept, left = self.layer(self.rows["target", *tokens], below)
            stack += [(node[0], node[1], reached * accept[node[0]], tree) for node in below if accept[node[0]]]
            for token, weight in enumerate(left):
                law[*tokens, token] = law.get((*tokens, token), 0) + reached * weight
        return {tokens: probability for tokens, probability in law.items() if probability}

    def distance(self, law, tokens=(), wanted=Fraction(1), have=Fraction(0)):  # twice the total variation
        if not any(len(end) > len(tokens) and end[: len(tokens)] == tokens for end in law):
            return abs(wanted - have)  # no emission goes on: both laws go on with the target's rows
        ends = [((*tokens, token), p) for token, p in enumerate(self.rows["target", *tokens])]
        return sum(self.distance(law, end, wanted * p, have * p + law.get(end, 0)) for end, p in ends)


def check(data):  # raises an error unless every number in the certificate is what its rows give
    if type(data) is dict and str(data.get("schema")) in KINDS:
        return runpy.run_path(str(pathlib.Path(__file__).with_name(KINDS[data["schema"]])))["check"](data)
    FILES["expect"](data, "rheo_verify/certificate")
    need(len(data["budgets"]) == data["design"]["budget"], "another number of budgets")
    job = Job(data)
    found = [{"probability": str(p), "nodes": [job.shown(node) for node in tree]} for tree, p in job.classes.items()]
    found, claimed = (sorted(trees, key=lambda tree: tree["nodes"]) for trees in (found, data["classes"]))
    need(sum(job.classes.values()) == 1 and claimed == found, "the classes or their probabilities are others")
    laws = [job.emitted(budget) for budget in range(1, job.budget + 1)]
    budgets = [str(job.distance(law) / 2) for law in laws]
    need([*data["budgets"], data["total_variation"]] == [*budgets, budgets[-1]], "the total variation is another")
    need(data["verdict"] == ("VERIFIED" if budgets[-1] == "0" else "REFUTED"), "the verdict does not follow")
    law = {" ".join(map(str, end)): str(p) for end, p in laws[-1].items()}
    need(sum(laws[-1].values()) == 1 and data["emitted"] == law, "what a cycle emits has another law")
    length = sum(len(end) * p for end, p in laws[-1].items())
    need(data["tokens_per_cycle"] == str(length), "the tokens per cycle are others")
    return ""


if __name__ == "__main__":
    FILES["main"](check, __doc__)
