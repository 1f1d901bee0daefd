"""Every decoder by name. A new one is an `Entry` in the file of its kind."""

from __future__ import annotations

import difflib
import re

from rheo_verify.decoders import broken, chains, dynamic_trees, static_trees
from rheo_verify.decoders.entry import Entry
from rheo_verify.errors import InputError

REGISTRY: dict[str, Entry] = {
    entry.name: entry for module in (chains, static_trees, dynamic_trees, broken) for entry in module.ENTRIES
}


def entry(name: str, vocab: int | None = None) -> Entry:
    """The entry called `name`, `rheosampling-m7-rheo` included, for a vocabulary of that size.

    Raises `InputError` RV106, with the nearest names, or where there are fewer tokens than m.
    """
    any_lead = re.fullmatch(r"rheosampling-m(\d{1,3})-(rheo|rrsw)", name)
    if any_lead:
        if vocab is not None:
            dynamic_trees.design(int(any_lead[1]), 1).check_vocab(vocab)
        return dynamic_trees.rheosampling_entry(int(any_lead[1]), any_lead[2])
    if name not in REGISTRY:
        close = difflib.get_close_matches(name, REGISTRY, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(REGISTRY)}"
        raise InputError("RV106", f"there is no decoder {name!r}; {hint}")
    return REGISTRY[name]
