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
from rheo_verify.words import count

_BELOW_ONE = 1 - 2.0**-52
"""The product of a mass and this rounds to less than the mass; of a mass and 1 - 2^-53 it may not."""


class TorchChance:
    """A `Chance` that draws on the device where the weights lie; one transfer back a choice.

    Rationals, Python floats and NumPy rows are drawn as `SampleChance` draws them, from the same generator.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        self.generator = np.random.default_rng(seed)
        self._elsewhere = SampleChance(self.generator)
        self._ahead: Any = None
        self._device: Any = None
        self._sent = self._used = 0

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
        import torch

        rows, size = cumulative.shape
        points = cumulative.narrow(1, size - 1, 1) * self._uniforms(rows, cumulative.device)
        # Right of the point, which lies below the whole mass: a token of weight zero is never hit.
        return torch.searchsorted(cumulative, points, right=True).view(-1)

    def _uniforms(self, count: int, device: Any) -> Any:
        """Numbers of [0, 1), [count, 1], on a device: drawn and sent ahead, many at a time."""
        first, self._used = self._used, self._used + count
        if self._used > self._sent or device != self._device:
            first, self._used = 0, count
            self._send(max(count, 1024), device)
        return self._ahead.narrow(0, first, count)

    def _send(self, count: int, device: Any) -> None:
        import torch

        drawn = np.minimum(self.generator.random((count, 1)), _BELOW_ONE)
        self._ahead, self._sent, self._device = torch.from_numpy(drawn).to(device), count, device

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
            raise MisuseError("RV301", f"no positive mass among {count(len(weights), 'weight')}, or one is negative")
        if found == len(weights):  # the product rounded up to the whole mass
            return int(weights.nonzero().flatten()[-1])
        return int(found)
