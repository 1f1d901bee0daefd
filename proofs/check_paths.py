#!/usr/bin/env python3
"""usage: python check_paths.py FILE.json ...   exit 0: every number holds; 1: a file is rejected; 2: unreadable

Rechecks what `check --certificate FILE.json` wrote, with nothing of the package. The paths of the code under test are
taken as given, each with its probability, what it emitted and which contracts it broke. From them and the target's rows
this works out the law of the emitted tokens, its total variation from the target's law, the findings and the verdict.
That the code has these paths is not shown: `given` and `scope` say what it was run on, for whoever runs it again. Nor
is anything of cases that are not in the file: the answer says how many of all cases are.
"""

import pathlib
import runpy
from fractions import Fraction

FILES = runpy.run_path(str(pathlib.Path(__file__).with_name("check_files.py")))
CODES = {"RV405", "RV406", "RV407", "RV408", "RV409", "RV410", "RV413"}


def need(holds, what):
    if not holds:
        raise ValueError(what)


class Case:
    def __init__(self, data, way):
        self.vocab, self.length, self.drafts, self.way = data["vocab"], data["length"], data["drafts"], way
        self.target, self.draft = self.table(data["target"]), self.table(data["draft"])
        need(max(map(len, self.target)) == self.length - 1, "the target's rows are not for this length")
        self.paths, self.law = [self.path(*written) for written in data["paths"]], {}
        for probability, _, emitted, _ in self.paths:
            if emitted is not None:
                self.law[emitted] = self.law.get(emitted, 0) + probability

    def table(self, written):
        rows = {tuple(map(int, at.split())): [Fraction(p) for p in row] for at, row in written.items()}
        for at, row in rows.items():
            need(len(row) == self.vocab and sum(row) == 1, f"no distribution after {at}")
        return rows

    def path(self, probability, drafts, emitted, faults):
        drafts, emitted = tuple(drafts), None if emitted is None else tuple(emitted)
        need(Fraction(probability) > 0 and set(faults) <= CODES, "a path without probability, or an unknown code")
        need(
            emitted is not None or {"RV405", "RV406", "RV413"} & set(faults),
            "nothing was emitted, and no fault says why",
        )
        if emitted is not None:
            need(1 <= len(emitted) <= self.length, "an emission of impossible length")
            need(all(0 <= token < self.vocab for token in emitted), "a token outside the vocabulary")
            wanted = {c: emitted[:c] in self.target and self.target[emitted[:c]][v] for c, v in enumerate(emitted)}
            need("RV407" not in faults or not all(wanted.values()), "RV407, but every token has positive probability")
            if self.way == "verifier":
                strange = emitted[:-1] != drafts[: len(emitted) - 1]
                need(("RV408" in faults) == strange, "RV408 where the drafts are kept, or the other way round")
                unsaid = all(wanted.values()) or {"RV407", "RV408", "RV409"} & set(faults)
                need(unsaid, "a token of probability zero, and no fault says so")
        return Fraction(probability), drafts, emitted, faults

    def drafted(self):  # the law that the drafts should have
        law = {(): Fraction(1)}
        for _ in range(self.drafts):
            law = {(*at, v): have * p for at, have in law.items() for v, p in enumerate(self.draft[at]) if p}
        return law

    def distance(self, tokens=(), wanted=Fraction(1), have=Fraction(0)):  # twice the total variation
        more = {end: p for end, p in self.law.items() if len(end) > len(tokens) and end[: len(tokens)] == tokens}
        if not more:
            return abs(wanted - have)  # no emission goes on: both laws go on with the target's rows
        if tokens not in self.target:
            need(wanted == 0, f"the target's row after {tokens} is missing")
            return have + sum(more.values())
        ends = [((*tokens, token), p) for token, p in enumerate(self.target[tokens])]
        return sum(self.distance(end, wanted * p, have * p + self.law.get(end, 0)) for end, p in ends)


def check_case(data, way):
    case, found = Case(data, way), {}
    for probability, drafts, _, _ in case.paths:
        found[drafts] = found.get(drafts, 0) + probability
    need(found == case.drafted(), "the drafts have another law, or the paths do not sum to one")
    distance, threshold = case.distance() / 2, Fraction(data["threshold"])
    need(distance == Fraction(data["total_variation"]), "the total variation is another")
    need(threshold in (Fraction("1e-9"), Fraction("1e-6")), "the threshold is another")
    masses = {code: sum(p for p, _, _, faults in case.paths if code in faults) for code in CODES} | {"RV401": distance}
    stated = {code: Fraction(p) for code, p in data["findings"].items()}
    need(stated == {code: p for code, p in masses.items() if p > threshold}, "the findings are others")
    return bool(stated)


def check(data):  # raises an error unless every number in the certificate is what its paths and rows give
    FILES["expect"](data, "rheo_verify/paths-certificate")
    need(data["cases"], "nothing is claimed")
    broken = [check_case(case, data["way"]) for case in data["cases"]]
    need(data["verdict"] == ("REFUTED" if any(broken) else "VERIFIED"), "the verdict does not follow")
    stated, every = len(data["cases"]), data["cases_in_all"]
    need(stated <= every, "more cases than there are")
    rest = " (a counterexample)" if any(broken) else "" if stated == every else " (nothing is said of the others)"
    return f", of {stated:,} of {every:,} cases{rest}"


if __name__ == "__main__":
    FILES["main"](check, __doc__)
