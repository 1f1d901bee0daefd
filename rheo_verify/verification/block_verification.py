"""Block verification: a drafted chain is verified jointly, so that a good end can save a doubtful beginning.

Sun et al. 2024, "Block Verification Accelerates Speculative Decoding" (arXiv 2403.10444), algorithm 2. For the chain
x_1 … x_n drawn from q: a_0 = 1, a_i = min(1, a_(i-1) p(x_i)/q(x_i)); Z_i = sum of (a_i p - q)+ after x_1 … x_i;
h_i = Z_i/(Z_i + 1 - a_i) for i < n (1 if 0/0) and h_n = a_n. Independent coins h_i; the longest prefix whose coin fell
yes is accepted (none if all fell no). Then one token from p if all n are accepted, else from norm((a_i p - q)+).
"""

from __future__ import annotations

from typing import NamedTuple

from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.errors import MisuseError
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import normalise
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total
from rheo_verify.verification.tree_rule import TreeRule


class _Prefix(NamedTuple):
    """The first i tokens: their coin as weights, and the weights of the token that follows if they are accepted."""

    tokens: TokenPath
    yes: Rational
    no: Rational
    following: tuple[Rational, ...]


def _prefixes(model: Model, context: Context, tree: Tree) -> list[_Prefix]:
    """The prefixes from the empty one to the whole chain."""
    if any(node.slots != (1,) * (depth + 1) for depth, node in enumerate(tree)):
        raise MisuseError("RV303", "block verification takes a chain")
    prefixes: list[_Prefix] = []
    tokens: TokenPath = ()
    ahead = ONE
    for node in tree:
        p, q = model.target(context + tokens), node.law
        if q is None:
            q = tuple(ONE if token == node.token else ZERO for token in range(model.vocab))
        excess = tuple(max(ahead * here - there, ZERO) for here, there in zip(p, q, strict=True))
        z = total(excess)
        yes, no = (z, 1 - ahead) if z + 1 - ahead else (ONE, ZERO)
        prefixes.append(_Prefix(tokens, yes, no, excess))
        ahead = min(ONE, ahead * p[node.token] / q[node.token])
        tokens = node.tokens
    prefixes.append(_Prefix(tokens, ahead, 1 - ahead, model.target(context + tokens)))
    return prefixes


def verify(chance: Chance, model: Model, context: Context, tree: Tree) -> TokenPath:
    """The coins from the longest prefix down (they are independent), then one more token.

    The empty prefix has a_0 = 1, so its coin cannot fall no.
    """
    for prefix in reversed(_prefixes(model, context, tree)):
        if chance.flip(prefix.yes, prefix.no):
            return (*prefix.tokens, chance.choose(prefix.following))
    raise AssertionError("the empty prefix is always accepted")


def law(model: Model, context: Context, tree: Tree) -> Law[TokenPath]:
    """The same, as probabilities."""
    emitted: Law[TokenPath] = {}
    alive = ONE
    for prefix in reversed(_prefixes(model, context, tree)):
        accepted = alive * prefix.yes / (prefix.yes + prefix.no)
        if accepted:
            for token, probability in enumerate(normalise(prefix.following)):
                if probability:
                    emitted[(*prefix.tokens, token)] = accepted * probability
        alive = alive - accepted
    return emitted


RULE = TreeRule("block-verification", verify, law)
