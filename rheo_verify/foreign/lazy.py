"""A random number that is not drawn: an interval, and a monotone expression of it.

A `Lazy` is ``scale * X + shift`` where X is one of six monotone functions of one uniform U (E = -log U is exponential):
U, 1/U, U^k, E, 1/E, G = -log E (a Gumbel). Comparing it with a number compares U with a threshold, which `Noise`
splits exactly; comparing it with another `Lazy` of the same form is an exponential race. Everything else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rheo_verify.foreign.forms import NEGLIGIBLE, bounded_exp, exact_float, is_negligible, number, uniform_at
from rheo_verify.foreign.noise import Noise
from rheo_verify.probability.rationals import ONE, ZERO, Rational

_INCREASING = {"U": True, "1/U": False, "U^k": True, "E": False, "1/E": True, "G": True}
_COMPARE = "compare it with a number or with other random numbers (<, argmax, searchsorted, …) instead"
_NEEDS_DIGITS = frozenset(
    (
        *("sqrt", "cbrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "rint", "expm1", "log10", "exp2"),
        *("square", "hex", "is_integer", "as_integer_ratio"),
    )
)
_OPERATORS = {name: f"__{name}__" for name in ("lt", "le", "add", "sub", "mul")} | {"div": "__truediv__"}
"""torch's names, and Python's."""


class Lazy:
    """One random number. Arithmetic with numbers, log and exp give another `Lazy` where the form allows."""

    __slots__ = ("kind", "mirrored", "noise", "power", "python", "scale", "shift", "variable")
    __array_priority__ = 1000
    is_random = True

    def __init__(
        self,
        noise: Noise,
        variable: int,
        kind: str = "U",
        scale: Rational = ONE,
        shift: Rational = ZERO,
        power: Rational = ONE,
        mirrored: bool = False,
        python: bool = False,
    ) -> None:
        self.noise, self.variable, self.kind = noise, variable, kind
        self.scale, self.shift, self.power, self.mirrored, self.python = scale, shift, power, mirrored, python

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """`float`, for code that asks with `isinstance`; the type is `Lazy`."""
        return float

    def like(self, kind: str, scale: Rational, shift: Rational = ZERO, power: Rational = ONE) -> Lazy:
        """Another expression of the same variable."""
        return Lazy(self.noise, self.variable, kind, scale, shift, power, self.mirrored, self.python)

    def as_float(self) -> Lazy:
        """The same number as a Python float, which raises on a division by zero; an array's entry does not."""
        return Lazy(self.noise, self.variable, self.kind, self.scale, self.shift, self.power, self.mirrored, True)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """`searchsorted` and `digitize` of one number by their side; NumPy itself compares objects both ways."""
        from rheo_verify.foreign.lazy_arrays import SEARCHES

        return SEARCHES.get(func, func._implementation)(*args, **kwargs)

    # Arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        value = number(other)
        if value is None:
            return self._pair(other, "+")
        if math.isinf(value) or math.isnan(value):
            return value
        return self.like(self.kind, self.scale, self.shift + exact_float(value), self.power)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        value = number(other)
        if value is None:
            return self._pair(other, "*")
        if value == 0:
            return 0.0
        if math.isinf(value) or math.isnan(value):
            return self._refuse("* inf", "keep infinities out of products with random numbers")
        factor = exact_float(value)
        return self.like(self.kind, self.scale * factor, self.shift * factor, self.power)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self.like(self.kind, -self.scale, -self.shift, self.power)

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        value = number(other)
        return self._pair(other, "-") if value is None else self + (-value)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __truediv__(self, other: Any) -> Any:
        value = number(other)
        if value is None:
            return self._pair(other, "/")
        if value == 0:
            if self.python and type(other) in (int, float):
                raise ZeroDivisionError("float division by zero")
            if self._positive() or (-self)._positive():
                return math.inf if self._positive() else -math.inf
            return self._refuse("/ 0", "its sign is not known")
        if math.isinf(value):
            return 0.0
        divisor = exact_float(value)
        return self.like(self.kind, self.scale / divisor, self.shift / divisor, self.power)

    def __rtruediv__(self, other: Any) -> Any:
        value = number(other)
        inverse = {"U": "1/U", "1/U": "U", "E": "1/E", "1/E": "E", "U^k": "U^k"}.get(self.kind)
        me = self._reflected() if self.kind == "U" else self
        if value is None and hasattr(other, "detach"):
            return other * self.__rtruediv__(1.0)
        if value is None or inverse is None or not is_negligible(me.shift):
            return self._refuse("a division by a random number", _COMPARE)
        if value == 0:
            return 0.0
        return me.like(inverse, exact_float(value) / me.scale, ZERO, -me.power if self.kind == "U^k" else ONE)

    def __pow__(self, other: Any) -> Any:
        value, me = number(other), self._reflected()
        if value == 1:
            return self
        if value is None or not value or me.kind not in ("U", "U^k") or me.scale != 1 or not is_negligible(me.shift):
            return self._refuse("**", _COMPARE)
        return me.like("U^k", ONE, ZERO, me.power * exact_float(value))

    def log(self) -> Any:
        """The natural logarithm; NumPy calls this for object arrays."""
        me = self._reflected() if self.kind == "U" else self
        if me.scale > 0 and is_negligible(me.shift):
            shift = exact_float(math.log(me.scale)) if me.scale != 1 else ZERO
            if me.kind == "U":
                return me.like("E", -ONE, shift)
            if me.kind == "1/U":
                return me.like("E", ONE, shift)
            if me.kind == "U^k":
                return me.like("E", -me.power, shift)
            if me.kind == "E":
                return me.like("G", -ONE, shift)
            if me.kind == "1/E":
                return me.like("G", ONE, shift)
        return self._refuse("log", "log is answered for u, 1 - u, products of them, and exponentials")

    def exp(self) -> Any:
        """The exponential function."""
        factor = exact_float(math.exp(self.shift)) if self.shift else ONE
        if self.kind == "E":
            return self.like("U", factor) if self.scale == -1 else self.like("U^k", factor, ZERO, -self.scale)
        if self.kind == "G" and abs(self.scale) == 1:
            return self.like("1/E" if self.scale > 0 else "E", factor)
        return self._refuse("exp", _COMPARE)

    def clamp(self, low: float | None, high: float | None) -> Any:
        """``min(max(self, low), high)`` where it changes nothing but rounding; refused otherwise."""
        if low is not None and not (0 < low <= NEGLIGIBLE) and self < low:
            return low
        if high is not None and not (0 < 1 - high <= NEGLIGIBLE) and self > high:
            return high
        return self

    # Comparison -------------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return self._less(other, strict=True)

    def __le__(self, other: Any) -> Any:
        return self._less(other, strict=False)

    def __gt__(self, other: Any) -> Any:
        return False if _nan(other) else _not(self._less(other, strict=False))

    def __ge__(self, other: Any) -> Any:
        return False if _nan(other) else _not(self._less(other, strict=True))

    def __eq__(self, other: Any) -> Any:
        return self is other or (isinstance(other, Lazy) and self.key() == other.key() and self._same(other))

    def __ne__(self, other: Any) -> Any:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def _less(self, other: Any, strict: bool) -> Any:
        """Whether ``self < other`` (or <=, which differs only in an event of probability zero)."""
        value = other if type(other) is float else number(other)
        if value is None:
            if isinstance(other, Lazy):
                return self._less_lazy(other)
            return self._elementwise(other, "lt" if strict else "le")
        if value - value != 0:
            return value > 0  # infinite, or no number at all
        threshold, below = self._threshold(exact_float(value))
        if not strict and not threshold and below and self.kind == "U" and not self.noise.low[self.variable]:
            self.noise.warn_zero()
        return self.noise.below(self.variable, threshold) is below

    def _less_lazy(self, other: Lazy) -> bool:
        if other.variable == self.variable:
            if (self.kind, self.power, self.mirrored) != (other.kind, other.power, other.mirrored):
                self._refuse("a comparison of two expressions of one random number", "bring both into one form")
            slope, gap = self.scale - other.scale, other.shift - self.shift
            if not slope:
                return gap > 0
            threshold, below = self.like(self.kind, slope, ZERO, self.power)._threshold(gap)
            return self.noise.below(self.variable, threshold) is below
        return (race([self, other], last=False) == 0) is self.rising()

    def _threshold(self, value: Rational) -> tuple[Rational, bool]:
        """``(t, below)``: ``self < value`` holds exactly where ``U < t`` is `below`."""
        if self.scale is ONE and self.shift is ZERO and self.kind == "U":
            return (1 - value, False) if self.mirrored else (value, True)
        x = (value - self.shift) / self.scale
        t = uniform_at(self.kind, x, self.power)
        below = not self.rising()
        return (1 - t, not below) if self.mirrored else (t, below)

    # Races ------------------------------------------------------------------------------------------------------

    def key(self) -> Any:
        """What two random numbers must have in common for their comparison to be a race."""
        if self.kind in ("E", "1/E"):
            return (self.kind, self.shift, self.scale > 0, self.mirrored)
        if self.kind == "G":
            return (self.kind, self.scale, self.mirrored)
        if self.kind in ("U", "1/U"):
            return (self.kind, self.scale, self.shift, self.mirrored)
        return (self.kind, self.scale, self.shift, self.power > 0, self.mirrored)

    def rising(self) -> bool:
        """Whether this number grows as its E = -log U grows."""
        return (_INCREASING[self.kind] is (self.power > 0)) is not (self.scale > 0)

    def _same(self, other: Lazy) -> bool:
        return self.variable == other.variable and (self.scale, self.shift, self.power) == (
            other.scale,
            other.shift,
            other.power,
        )

    def _positive(self) -> bool:
        return self.scale > 0 and self.shift >= 0 and self.kind != "G"

    def _reflected(self) -> Lazy:
        """``a - a U`` written as a multiple of the uniform 1 - U."""
        if self.kind == "U" and self.scale < 0 and is_negligible(self.shift + self.scale):
            return Lazy(self.noise, self.variable, "U", -self.scale, ZERO, ONE, not self.mirrored, self.python)
        return self

    # What needs digits ------------------------------------------------------------------------------------------

    def __floor__(self) -> int:
        if self.kind != "U":
            self._refuse("floor", _COMPARE)
        first, last = sorted((self.shift, self.shift + self.scale))
        top = int(math.ceil(last)) - 1  # noqa: RUF046 - gmpy2 gives an mpz
        for step in range(int(math.floor(first)), top):  # noqa: RUF046
            if self < step + 1:
                return step
        return top

    def __int__(self) -> int:
        if self.kind != "U" or min(self.shift, self.shift + self.scale) < 0:
            self._refuse("int", _COMPARE)
        return self.__floor__()

    __trunc__ = __int__

    def __float__(self) -> float:
        return float(self._refuse("float (or a function that asks for one)", _COMPARE))

    def __bool__(self) -> bool:
        return bool(self._refuse("a truth value", _COMPARE))

    def __str__(self) -> str:
        hint = "a random number has no digits here; print after the choice"
        return str(self._refuse("printing or formatting", hint))

    def __format__(self, form: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        low, high = self.noise.low[self.variable], self.noise.high[self.variable]
        return f"<{self.scale} * {self.kind} + {self.shift}, U in [{low}, {high})>"

    def item(self) -> Lazy:
        """Itself, as NumPy scalars do."""
        return self

    def log1p(self) -> Any:
        """``log(1 + self)``."""
        return (self + 1).log()

    def log2(self) -> Any:
        """The logarithm to base 2."""
        return self.log() / math.log(2)

    def __abs__(self) -> Any:
        return self if self._positive() else self._refuse("abs", _COMPARE)

    def __getattr__(self, name: str) -> Any:
        if name in _NEEDS_DIGITS:
            self._refuse(name, _COMPARE)
        raise AttributeError(name)

    def _digits(self, *_: Any) -> Any:
        return self._refuse("this arithmetic", _COMPARE)

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = __rpow__ = _digits
    __round__ = __complex__ = _digits

    def _elementwise(self, other: Any, name: str) -> Any:
        """An operation with a NumPy array or a torch tensor of several elements: this number as one of them first."""
        if hasattr(other, "detach"):
            from rheo_verify.foreign.torch_moves import from_numbers

            return getattr(from_numbers(self.noise, self, other.dtype), name)(other)
        if hasattr(other, "__array_ufunc__"):
            from rheo_verify.foreign.lazy_arrays import lazies

            return getattr(lazies([self], ()), _OPERATORS[name])(other)
        return NotImplemented

    def _pair(self, other: Any, sign: str) -> Any:
        if not isinstance(other, Lazy):
            return self._elementwise(other, {"+": "add", "-": "sub", "*": "mul", "/": "div"}[sign])
        if sign == "-" and (self.kind, self.variable, self.power, self.mirrored) == (
            other.kind,
            other.variable,
            other.power,
            other.mirrored,
        ):
            slope, shift = self.scale - other.scale, self.shift - other.shift
            return self.like(self.kind, slope, shift, self.power) if slope else float(shift)
        return self._refuse(f"{sign} of two random numbers", "only sums and products with numbers are answered")

    def _refuse(self, call: str, hint: str) -> Any:
        return self.noise.refuse(call, hint)


def race(entries: Sequence[Lazy], last: bool) -> int:
    """The index of the entry with the smallest (or, with `last`, the largest) ``E / rate``. Refuses mixed forms."""
    lead = entries[0]
    if len(entries) == 1:
        return 0
    if any(entry.key() != lead.key() for entry in entries):
        lead.noise.refuse("a comparison of random numbers of different form", "races are answered within one form")
    variables = [entry.variable for entry in entries]
    if len(set(variables)) != len(variables):
        lead.noise.refuse("a race in which one random number runs twice", "give every entry its own noise")
    arrive = lead.noise.arrive_last if last else lead.noise.arrive
    return arrive(variables, _rates(entries), lead.mirrored)


def _rates(entries: Sequence[Lazy]) -> list[Rational]:
    """The r for which each number is one monotone function, common to all, of its ``E / r``."""
    lead = entries[0]
    if lead.kind == "E":
        return [1 / abs(entry.scale) for entry in entries]
    if lead.kind == "1/E":
        return [abs(entry.scale) for entry in entries]
    if lead.kind == "U^k":
        return [1 / abs(entry.power) for entry in entries]
    if lead.kind == "G":
        levels = [entry.shift / entry.scale for entry in entries]
        top = max(levels)
        return [bounded_exp(level - top) for level in levels]
    return [ONE] * len(entries)


def _nan(value: Any) -> bool:
    plain = number(value)
    return plain is not None and plain != plain


def _not(answer: Any) -> Any:
    if answer is NotImplemented or isinstance(answer, bool):
        return answer if answer is NotImplemented else not answer
    return ~answer
