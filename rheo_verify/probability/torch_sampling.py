"""Sample with weights that are torch tensors, on any device: the third way of `Chance`, beside enumerate and replay.

The uniform numbers come from NumPy's generator whatever the device, so one seed gives one run everywhere; they have 53
bits (`torch.rand` in fp32 has 24 and in fp16 eleven, and can be exactly zero). The cumulative sum is in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheo_verify.errors import MisuseError
from rheo_verify.probability.arrays import is_torch
from rheo_verify.probability.sampling import SampleChance

_BELOW_ONE = 1 - 2.0**-52
"""The product of a mass and this rounds to less than the mass; of a mass and 1 - 2^-53 it may not."""


class TorchChance:
    """A `Chance` that draws on the device where the weights lie; one transfer back a choice.

    Rationals, Python floats and NumPy rows are drawn as `SampleChance` draws them, from the same generator.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        self.generator = np.random.default_rng(seed)
        self._elsewhere = SampleChance(self.generator)
        self._drawn: Any = np.empty((0, 1))
        self._ahead: Any = None
        self._used = 0

    def choose(self, weights: Sequence[Any]) -> int:
        """See `Chance`."""
        if is_torch(weights):
            return self._choose_tensor(weights)
        if isinstance(weights, np.ndarray):
            return self._elsewhere.choose(weights)
        return self._elsewhere.choose([float(it) if is_torch(it) else it for it in weights])

    def flip(self, yes: Any, no: Any) -> bool:
        """See `Chance`."""
        return self.choose((yes, no)) == 0

    def choose_rows(self, cumulative: Any) -> Any:
        """See `RowChance`. Nothing is brought back from the device."""
        if isinstance(cumulative, np.ndarray):
            return (cumulative <= cumulative[:, -1:] * self._uniforms(len(cumulative))).sum(1)
        import torch

        points = cumulative[:, -1:] * self._sent(cumulative)
        # Right of the point, which lies below the whole mass: a token of weight zero is never hit.
        return torch.searchsorted(cumulative, points, right=True).view(-1)

    def _uniforms(self, count: int) -> Any:
        """Numbers of [0, 1), [count, 1]: many are drawn ahead."""
        if len(self._drawn) < self._used + count:
            self._drawn, self._used = np.minimum(self.generator.random((max(count, 1024), 1)), _BELOW_ONE), 0
        self._used += count
        return self._drawn[self._used - count : self._used]

    def _sent(self, like: Any) -> Any:
        """One number of [0, 1) for each row of `like`, [n, 1], on its device: all that were drawn are sent at once."""
        import torch

        count = like.shape[0]
        self._uniforms(count)
        if self._ahead is None or self._ahead[0] is not self._drawn or self._ahead[1].device != like.device:
            self._ahead = self._drawn, torch.from_numpy(self._drawn).to(like.device)
        return self._ahead[1].narrow(0, self._used - count, count)

    def _choose_tensor(self, weights: Any) -> int:
        import torch

        cumulative = weights.to(torch.float64).cumsum(-1)
        point = cumulative[-1] * self.generator.random()
        # Right of the point: a token of weight zero is never hit, not even by a point of exactly zero.
        index = torch.searchsorted(cumulative, point, right=True)
        found, mass, least = torch.stack(
            (index.to(torch.float64), cumulative[-1], weights.min().to(torch.float64))
        ).tolist()
        if not 0 < mass < float("inf") or not least >= 0:
            raise MisuseError("RV301", f"no positive mass among {len(weights)} weights, or one is negative")
        if found == len(weights):  # the product rounded up to the whole mass
            return int(weights.nonzero().flatten()[-1])
        return int(found)
