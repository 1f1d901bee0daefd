"""Who accepts more: facts over random instances."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks.cycle_law import CycleLaws
from rheo_verify.checks.optimal import largest_flow, smallest_cut
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.drafting.hub import HUB
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.top_and_sampled import TOP_AND_SAMPLED
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.models.model import Model
from rheo_verify.verification import greedy_multi_draft, recursive_rejection, sampler_match, spechub, spectr
from rheo_verify.verification.average import average_by_enumeration
from rheo_verify.verification.best_plan import best_plan
from rheo_verify.verification.transport_rules import candidate_sets, of_siblings

from .instances import models, rows

FACTS = settings(max_examples=25, deadline=None, derandomize=True)
REJECTION = recursive_rejection.RULE


@FACTS
@given(model=models())
def test_block_accepts_i_tokens_at_least_as_often_for_every_i(model: Model) -> None:
    block = CycleLaws(REGISTRY["block-verification"].make(3), model).at(())
    tokenwise = CycleLaws(REGISTRY["speculative-sampling"].make(3), model).at(())
    wanted = (*tokenwise.accepted_by_depth, 0, 0, 0)[:3]
    found = (*block.accepted_by_depth, 0, 0, 0)[:3]
    assert all(more >= less for more, less in zip(found, wanted, strict=True))


def test_block_is_strictly_better_somewhere() -> None:
    from rheo_verify.models.random_tables import random_model

    model = random_model(4, 0)
    block = CycleLaws(REGISTRY["block-verification"].make(3), model).at(())
    tokenwise = CycleLaws(REGISTRY["speculative-sampling"].make(3), model).at(())
    assert block.tokens_per_cycle > tokenwise.tokens_per_cycle


@FACTS
@given(data=st.data())
def test_no_rule_accepts_more_than_the_optimum_of_its_candidates(data: st.DataObject) -> None:
    vocab = data.draw(st.integers(2, 4))
    target, draft, sampling = (data.draw(rows(vocab)) for _ in range(3))
    for siblings, rules in (
        (IID, (REJECTION, sampler_match.RULE, spectr.RULE, of_siblings(IID))),
        (WITHOUT_REPLACEMENT, (REJECTION, of_siblings(WITHOUT_REPLACEMENT))),
        (HUB, (spechub.RULE,)),
        (TOP_AND_SAMPLED, (greedy_multi_draft.RULE, REJECTION)),
    ):
        best, _ = smallest_cut(target, candidate_sets(siblings, draft, sampling, 2))
        for rule in rules:
            found = average_by_enumeration(rule, siblings, target, draft, sampling, 2)
            accepted = sum(map(sum, found.descend))
            assert accepted <= best * found.scale
            if rule.name in ("optimal-transport", "greedy-multi-draft"):
                assert accepted == best * found.scale


@FACTS
@given(data=st.data())
def test_the_plan_has_the_value_of_the_smallest_cut(data: st.DataObject) -> None:
    vocab = data.draw(st.integers(2, 5))
    target, sampling = data.draw(rows(vocab)), data.draw(rows(vocab))
    sets = candidate_sets(WITHOUT_REPLACEMENT, sampling, sampling, data.draw(st.integers(1, 3)))
    plan = best_plan(target, sets)
    assert plan.accepted == smallest_cut(target, sets)[0] == largest_flow(target, sets).rate
    served = [sum(flows.get(token, 0) for flows in plan.flow.values()) for token in range(vocab)]
    assert all(sent + left == p and left >= 0 for sent, left, p in zip(served, plan.residual, target, strict=True))
    assert all(sum(flows.values()) <= sets[chosen] for chosen, flows in plan.flow.items())
    assert all(flow >= 0 for flows in plan.flow.values() for flow in flows.values())


@FACTS
@given(model=models(), lead=st.sampled_from([0, 1]))
def test_with_p_equal_to_q_rheo_accepts_all_that_pruning_leaves(model: Model, lead: int) -> None:
    """It stops only where the tree does: at a node whose sampled slot did not survive, or that has no child."""
    from dataclasses import replace

    from rheo_verify.checks.layers import LayerLaws, reach
    from rheo_verify.drafting.tree import Tree
    from rheo_verify.probability.enumeration import enumerate_paths
    from rheo_verify.verification.rules import layer_rule

    same = replace(model, target=model.draft, sampling_draft=model.draft)
    decoder = REGISTRY[f"rheosampling-m{lead}-rheo"].make(2)
    laws = LayerLaws(same, (), layer_rule("rheo"))
    for path in enumerate_paths(lambda chance: tuple(decoder.draft(chance, same, ()))):
        tree: Tree = path.result
        for _, _, law, children in reach(laws, tree):
            if any(child.law is not None for child in children) and lead == 0:
                assert sum(law.accept) == 1


@FACTS
@given(model=models())
def test_more_lenience_accepts_more(model: Model) -> None:
    from rheo_verify.verification.lenient import lenient

    target, sampling = model.target(()), model.sampling_draft(())
    rates = []
    for factor in (1, 2, 4):
        found = average_by_enumeration(lenient(factor), IID, target, sampling, sampling, 1)
        rates.append(sum(found.descend[0]) / found.scale)
    assert rates == sorted(rates)
