"""Tensors of random numbers, and the memory that they share: a view of one is a view here, too.

A `LazyTensor` is a torch tensor whose real data is NaN wherever its meaning is a `Lazy`. Alone it holds its cells; as
soon as another tensor may see the same memory, the cells lie in a `Memory` that all of them read and write.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import torch

from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import LazyArray, lazies
from rheo_verify.foreign.noise import Noise


class Memory:
    """What lies in one storage, element by element: `Lazy` and floats. It keeps the storage, so that it stays one."""

    __slots__ = ("flat", "storage")

    def __init__(self, plain: torch.Tensor) -> None:
        self.storage = plain.untyped_storage()
        numbers = torch.empty(0, dtype=plain.dtype, device=plain.device).set_(self.storage).tolist()
        self.flat = np.empty(len(numbers), dtype=object)
        self.flat[:] = numbers

    def at(self, plain: torch.Tensor) -> LazyArray:
        """The elements of a tensor in this memory; writing to them writes here."""
        offset, shape = plain.storage_offset(), tuple(plain.shape)
        if plain.is_contiguous():
            part = self.flat[offset : offset + plain.numel()].reshape(shape)
        else:
            steps = [step * self.flat.itemsize for step in plain.stride()]
            part = np.lib.stride_tricks.as_strided(self.flat[offset:], shape, steps)
        return part.view(LazyArray)


class LazyTensor(torch.Tensor):
    """See the module. `cells` are the `Lazy` and floats in row-major order, in the shape `form`; `noise` answers.

    `memory`: where the elements lie instead, once it is shared.
    """

    cells: Any
    form: tuple[int, ...]
    noise: Noise
    memory: Memory | None = None
    reply: ClassVar[Callable[[Any, Any, Any], Any]]
    """Gives the result of a torch function that meets a random tensor."""

    @property
    def elements(self) -> LazyArray:
        """The cells as an array."""
        if self.memory is not None:
            return self.memory.at(as_plain(self))
        if isinstance(self.cells, list):
            self.cells = lazies(self.cells, self.form)
        array: LazyArray = self.cells
        return array

    def single(self) -> Any:
        """The one cell."""
        if self.memory is not None:
            return self.elements.item()
        return self.cells[0] if isinstance(self.cells, list) else self.cells.item()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Every torch function that meets a random tensor ends here."""
        return LazyTensor.reply(func, args, kwargs or {})


def become_lazy(noise: Noise, tensor: torch.Tensor, elements: Any, blank: bool = False) -> torch.Tensor:
    """Turn a real tensor, in place, into one of random numbers; its data becomes NaN (`blank`: is), to show a leak."""
    plain = tensor if type(tensor) is torch.Tensor else as_plain(tensor)
    if not blank:
        (plain.detach() if plain.requires_grad else plain).fill_(math.nan)
    form = plain.shape
    tensor.__class__ = LazyTensor
    lazy: Any = tensor
    lazy.form = form
    lazy.cells = elements.view(LazyArray) if isinstance(elements, np.ndarray) else elements
    lazy.noise = noise
    return tensor


def as_plain(tensor: Any) -> Any:
    """The NaN data of a random tensor, as an ordinary tensor that shares its memory; anything else as it is."""
    if isinstance(tensor, LazyTensor):
        with torch._C.DisableTorchFunctionSubclass():
            return tensor.as_subclass(torch.Tensor)
    return tensor


def is_random(elements: LazyArray) -> bool:
    """Whether any of the elements is a `Lazy`."""
    return any(type(entry) is Lazy for entry in np.asarray(elements).flat)


def write(noise: Noise, tensor: torch.Tensor, result: Any) -> torch.Tensor:
    """Write `Lazy` and numbers into a tensor in place, and so into every tensor that shares its memory."""
    plain = as_plain(tensor)
    memory = tensor.memory if isinstance(tensor, LazyTensor) else shared_memory(noise, plain)
    if memory is None:
        whole = np.empty(tuple(plain.shape), dtype=object)
        whole[...] = result
        return become_lazy(noise, tensor, whole)
    memory.at(plain)[...] = result
    _to_data(plain, memory.at(plain))
    with torch._C.DisableTorchFunctionSubclass():
        base = tensor._base
    for each in (tensor, base):
        if each is not None and is_random(memory.at(as_plain(each))):
            _adopt(noise, each, memory)
    return tensor


def shared_memory(noise: Noise, plain: torch.Tensor) -> Memory | None:
    """The memory of an ordinary tensor that is about to hold random numbers; None where it is no other tensor's."""
    storage = plain.untyped_storage()
    known: Memory | None = noise.shared.get(storage.data_ptr())
    if known is not None or not plain.numel():
        return known
    if not storage.resizable():
        noise.refuse_call("random numbers in memory that NumPy shares", "fill a tensor of its own and copy it")
    if torch._C._storage_Use_Count(storage._cdata) == 2:  # this tensor, and `storage` itself
        return None
    memory = noise.shared[storage.data_ptr()] = Memory(plain)
    return memory


def memory_of(tensor: LazyTensor) -> Memory:
    """The memory of a random tensor, which another tensor is about to share."""
    if tensor.memory is None:
        plain, elements = as_plain(tensor), tensor.elements
        memory = Memory(plain)
        memory.at(plain)[...] = elements
        _to_data(plain, elements)
        tensor.memory, tensor.cells = memory, None
    assert tensor.memory is not None
    return tensor.memory


def lend(noise: Noise, real: torch.Tensor, memory: Memory) -> torch.Tensor:
    """A real view into a memory, as a random tensor if any of its numbers is random."""
    if is_random(memory.at(real)):
        return _adopt(noise, real, memory)
    noise.shared[memory.storage.data_ptr()] = memory
    return real


def _adopt(noise: Noise, tensor: torch.Tensor, memory: Memory) -> torch.Tensor:
    form = as_plain(tensor).shape
    tensor.__class__ = LazyTensor
    lazy: Any = tensor
    lazy.form, lazy.cells, lazy.noise, lazy.memory = form, None, noise, memory
    return tensor


def _to_data(plain: torch.Tensor, elements: LazyArray) -> None:
    """The numbers among the elements as the tensor's real data, and NaN for what is random."""
    flat = [math.nan if type(entry) is Lazy else float(entry) for entry in np.asarray(elements).flat]
    data = torch.tensor(flat, dtype=torch.float64).reshape(plain.shape)
    (plain.detach() if plain.requires_grad else plain).copy_(data)


def adopt_shared(noise: Noise, values: Iterable[Any]) -> bool:
    """Make random tensors of the ordinary ones, among arguments, that look into shared memory at random numbers.

    Returns whether any of the arguments is a random tensor.
    """
    found = False
    for value in values:
        if isinstance(value, LazyTensor):
            found = True
        elif isinstance(value, torch.Tensor):
            memory = noise.shared.get(value.untyped_storage().data_ptr())
            if memory is not None and is_random(memory.at(value)):
                _adopt(noise, value, memory)
                found = True
        elif isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
            found = adopt_shared(noise, value) or found
    return found


def take_up(noise: Noise, value: Any) -> None:
    """Numbers that an ordinary function wrote into shared memory are its elements from now on."""
    plain = as_plain(value)
    memory = value.memory if isinstance(value, LazyTensor) else noise.shared.get(plain.untyped_storage().data_ptr())
    if memory is not None:
        memory.at(plain)[...] = np.asarray(plain.detach().tolist(), dtype=object)
