"""Numbers: how people write them, which are allowed, in what precision they are computed, and classes made of them.

The maths takes whatever precision it is given. Numbers that people write are kept as NumPy's float64, and whatever runs
a learner (`run`, `Stream`, `Bank`) computes inside `double()`, where settings of JAX that would get in the way are what
they are by default: NaN marks what is missing and infinity what is impossible, arrays of different types and ranks are
added up, and the same seed gives the same random numbers.
"""

import math
from contextlib import AbstractContextManager, ExitStack
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_NESTED = {np.ma.MaskedArray, type(np.ma.masked), list, tuple}  # what may hold, or be, a masked number


def as_numbers(name: str, value: Any, wanted: str = "numbers, with None or NaN where missing") -> FloatArray:
    """`value` as an array of float64, NaN where a number is None, NA or masked; text is refused.

    Args:
        name: What the numbers are, for the sentence that refuses anything else.
        value: A number, or numbers in any nesting.
        wanted: What to give instead, for that sentence.

    >>> as_numbers("x", np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    value = unmasked(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} holds samples of different shapes; give all of them the same") from None
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    array = np.asarray(value, dtype=object)  # as it was written: NumPy turns numbers beside text into text
    numbers = []
    for number in array.ravel().tolist():
        number = number.as_py() if type(number).__module__ == "pyarrow.lib" else number
        if is_missing(number):
            number = math.nan
        elif not isinstance(number, (bool, int, float, np.number, np.bool_)) or isinstance(number, np.complexfloating):
            raise ValueError(f"{name} holds {number!r}, which is not a number; give {wanted}")
        try:
            numbers.append(float(number))
        except OverflowError:
            about = f"{'-' if number < 0 else ''}1e{int(number).bit_length() * math.log10(2):.0f}"
            raise ValueError(f"{name} holds about {about}, which is too large; give numbers below 1e308") from None
    return np.array(numbers, np.float64).reshape(array.shape)


def as_float(name: str, value: Any) -> Any:
    """Whole numbers as floating-point ones, whose powers do not overflow so soon, and lists as arrays of them.

    Anything else stays what it is.
    """
    if isinstance(value, int | list):
        numbers = as_numbers(name, value)
        return numbers if numbers.ndim else numbers.item()
    whole = np.issubdtype(getattr(value, "dtype", object), np.integer)
    return value.astype(float) if whole else value


def unmasked(value: Any) -> Any:
    """The same numbers, NaN where they are masked as `numpy.ma` does."""
    if isinstance(value, np.ma.MaskedArray):
        numbers: Any = value.astype(np.float64 if value.dtype.kind in "biuf" else object)
        filled = numbers.filled(math.nan)
        return filled if value.ndim else filled.item()
    if isinstance(value, list | tuple) and set(map(type, value)) & _NESTED:
        return [unmasked(each) for each in value]
    return value


def is_missing(value: Any) -> bool:
    """Whether this stands for a number, or a sample, that is missing: None, NaN, pandas' NA, Arrow's null, masked."""
    if isinstance(value, float):
        return math.isnan(value)
    named = type(value).__name__ in ("NAType", "NaTType")
    return value is None or value is np.ma.masked or named or getattr(value, "is_valid", True) is False


@dataclass(frozen=True)
class Domain:
    """An interval of numbers, perhaps whole ones, perhaps in an array of some `shape`.

    open: the ends themselves are excluded. inside: the value that stands where a sample is missing; 0, or another
    allowed one, when left out.

    >>> Domain(0, 14, whole=True).check("outcome", 15)
    Traceback (most recent call last):
    ValueError: outcome = 15 is not allowed; give a whole number from 0 to 14
    >>> str(Domain(high=0))
    'a finite number of at most 0'
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    open: bool = False
    shape: tuple[int, ...] = ()
    inside: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"there is no number from low = {self.low:g} to high = {self.high:g}; give low below high")
        if self.inside is not None and not self.allows(self.inside):
            raise ValueError(f"inside = {self.inside:g} is not allowed; give {self._one}")

    def __str__(self) -> str:
        return f"an array of shape {self.shape}, each number {self._one}" if self.shape else self._one

    @property
    def _one(self) -> str:
        kind = "a whole number" if self.whole else "a finite number"
        low, high = f"{self.low:g}", f"{self.high:g}"
        if self.has_low and self.has_high:
            return f"{kind} between {low} and {high}, ends excluded" if self.open else f"{kind} from {low} to {high}"
        if self.has_low:
            return f"{kind} above {low}" if self.open else f"{kind} of at least {low}"
        if self.has_high:
            return f"{kind} below {high}" if self.open else f"{kind} of at most {high}"
        return kind

    @property
    def has_low(self) -> bool:
        """Whether there is a smallest value."""
        return math.isfinite(self.low)

    @property
    def has_high(self) -> bool:
        """Whether there is a largest value."""
        return math.isfinite(self.high)

    @property
    def is_index(self) -> bool:
        """Whether the values fit into the integers by which arrays are indexed."""
        return self.whole and self.high < 2**31

    @property
    def stand_in(self) -> float:
        """An allowed value, which stands where a sample is missing."""
        if self.inside is not None:
            return self.inside
        middle = 0.5 * (self.low + self.high) if self.has_low and self.has_high else 0.0
        near = self.low + 1 if self.has_low else self.high - 1
        allowed = next((value for value in (0.0, self.low, self.high, near, middle) if self.allows(value)), None)
        if allowed is None:
            raise ValueError(f"there is no {self._one.removeprefix('a ')}; give a domain with values in it")
        return allowed

    def any_sample(self) -> Any:
        """An allowed sample, as learners are given it."""
        return np.full(self.shape, self.stand_in, np.int32 if self.is_index else np.float64)

    def allows(self, values: Any) -> Any:
        """Whether a number is allowed; of an array, element by element."""
        above = values > self.low if self.open or not self.has_low else values >= self.low  # NaN is not
        below = values < self.high if self.open or not self.has_high else values <= self.high
        return above & below & (values == np.floor(values)) if self.whole else above & below

    def check(self, name: str, value: Any) -> FloatArray:
        """`value` as numbers, or a ValueError that quotes the first that is not allowed.

        Under `jax.jit` and the like its value is not known yet, and it is left as it is.
        """
        if isinstance(value, jax.core.Tracer):
            return cast(FloatArray, value)
        if isinstance(value, float) and self.allows(value):  # without the cost of arrays
            return np.asarray(value, np.float64)
        numbers = as_numbers(name, value, str(self))
        bad = ~np.asarray(self.allows(numbers))
        if bad.any():
            raise ValueError(f"{name} = {numbers[bad].flat[0]:g} is not allowed; give {self._one}")
        return numbers


FINITE = Domain()
POSITIVE = Domain(0.0, open=True)
NOT_NEGATIVE = Domain(0.0)
PROBABILITY = Domain(0.0, 1.0)
OPEN_PROBABILITY = Domain(0.0, 1.0, open=True)
WHOLE = Domain(0, whole=True)
COUNT = Domain(1, whole=True)

Number = Array | float
_SETTINGS: Any = (
    jax.debug_nans,
    jax.debug_infs,
    jax.numpy_dtype_promotion,
    jax.numpy_rank_promotion,
    jax.threefry_partitionable,
    jax.default_prng_impl,
    jax.default_matmul_precision,
)
RANDOM_BITS = "threefry2x32"  # where random numbers come from
_VALUES = (False, False, "standard", "allow", True, RANDOM_BITS, None)


def double() -> AbstractContextManager[Any]:
    """Inside, JAX computes in float64, with the settings that we need; outside, as before."""
    precision: Any = jax.enable_x64(True)
    a, b, c, d, e, f, g = _SETTINGS
    if (a.value, b.value, c.value, d.value, e.value, f.value, g.value) == _VALUES:  # which is faster than a loop
        return precision
    changes = ExitStack()
    for change in (precision, *(setting(value) for setting, value in zip(_SETTINGS, _VALUES, strict=True))):
        changes.enter_context(change)
    return changes


def number(value: Any, name: str = "", allowed: Domain | None = None) -> Array:
    """Floating-point numbers from what people write, in full precision, and checked where that is asked for.

    A JAX array stays what it is; under `jax.jit` and the like it is not checked, for its value is not known yet.

    >>> number(-1.0, "std", Domain(0, open=True))
    Traceback (most recent call last):
    ValueError: std = -1 is not allowed; give a finite number above 0
    """
    numbers = value if allowed is None else allowed.check(name, value)
    if isinstance(value, jax.Array):
        return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(float)
    return cast(Array, np.asarray(numbers, np.float64))


def vector(value: Any, size: int, name: str, allowed: Domain | None = None) -> Array:
    """So many numbers, from one that stands for all or from one for each."""
    numbers = number(value, name, allowed)
    if np.shape(numbers)[-1:] not in ((), (size,)):
        raise ValueError(f"{name} has shape {np.shape(numbers)}; give one number, or {size} of them")
    return numbers + np.zeros(size)


def namespace(*values: Any) -> Any:
    """NumPy for plain numbers, so that nothing is lost; `jax.numpy` as soon as a JAX array is among them."""
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def as_double(tree: Any) -> Any:
    """The same tree with its floating-point leaves as NumPy's float64."""
    arrays = jax.tree.map(np.asarray, tree)
    return jax.tree.map(lambda leaf: leaf.astype(np.float64) if leaf.dtype.kind == "f" else leaf, arrays)


def floats(*values: Number) -> list[Array]:
    """Arrays of JAX of the floating-point type that computing with all of these numbers gives."""
    kind = jnp.result_type(float, *values)
    return [jnp.asarray(value, kind) for value in values]


def random_key(seed: Number) -> Array:
    """A key of random numbers, the same for the same seed whatever JAX's settings are."""
    return jax.random.key(jnp.asarray(seed).astype(jnp.result_type(int)), impl=RANDOM_BITS)


def limits(value: Any) -> Any:
    """Largest, smallest and spacing of floating-point numbers of the kind that computing with `value` gives."""
    return jnp.finfo(jnp.result_type(float, value))


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def pytree_dataclass(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose fields are leaves of JAX's trees, to `vmap` and `grad` over.

    A field with metadata `static` is no leaf. Learners, families and response models are such classes by themselves,
    since they derive from `PytreeDataclass`. What people write is read and checked: whole numbers as parameters become
    floating-point ones, parameters outside their domains are refused, and `__post_init__` may refuse what does not go
    together. What JAX puts in place of leaves (axes, truth values) may be anything: it is neither changed nor checked.
    """
    if "__dataclass_fields__" in vars(cls):
        return cls
    if "__init__" in vars(cls):
        advice = "declare its parameters as fields, such as rate: float = parameter(0.1, Domain(0.0, 1.0))"
        raise TypeError(f"{cls.__name__} has an __init__ of its own; {advice}")
    made: Any = dataclass(frozen=True)(cls)
    made.__init__ = _reading(made)
    static = tuple(f.name for f in fields(made) if f.metadata.get("static"))
    leaves = tuple(f.name for f in fields(made) if f.name not in static)
    keys = [jax.tree_util.GetAttrKey(name) for name in leaves]
    several = attrgetter(*leaves) if len(leaves) > 1 else lambda thing: tuple(getattr(thing, name) for name in leaves)
    alone = (made,)

    def flatten(thing: Any) -> tuple[Any, Any]:  # at every call of a compiled program, so let it be quick
        return several(thing), (made, *(getattr(thing, name) for name in static)) if static else alone

    def flatten_with_keys(thing: Any) -> tuple[Any, Any]:
        values, others = flatten(thing)
        return list(zip(keys, values, strict=True)), others

    def unflatten(others: Any, values: Any) -> Any:
        thing = object.__new__(made)
        held = thing.__dict__
        held.update(zip(leaves, values, strict=True))
        held.update(zip(static, others[1:], strict=True))
        return thing

    jax.tree_util.register_pytree_with_keys(made, flatten_with_keys, unflatten, flatten)
    return cast(type[T], made)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class PytreeDataclass(Protocol):
    """A class whose subclasses are frozen dataclasses that JAX knows; see `pytree_dataclass`.

    name, aliases: what the commands call a class; without a name they do not offer it. No subclass inherits them.
    """

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if Protocol not in cls.__bases__:
            cls.name, cls.aliases = vars(cls).get("name", ""), vars(cls).get("aliases", ())
            pytree_dataclass(cls)


def _reading(made: Any) -> Any:
    """A constructor that makes numbers of what people write, and refuses what is missing or not allowed."""
    init, who = made.__init__, made.__name__
    required = [f for f in fields(made) if f.init and f.default is MISSING and f.default_factory is MISSING]
    known = {f.name: f.metadata["parameter"].domain for f in fields(made) if "parameter" in f.metadata}
    sizes = {f.name for f in fields(made) if f.metadata.get("static")}
    optional = {f.name for f in fields(made) if f.default is None}

    @wraps(init)
    def read(self: Any, *args: Any, **kwargs: Any) -> None:
        for f in required[len(args) :]:
            if f.name in kwargs:
                continue
            if parameter := f.metadata.get("parameter"):
                raise TypeError(f"{who} needs {f.name}, {parameter.about}; give {parameter.domain}")
            example = getattr(f.type, "example", "")
            needed = f"a {f.name}; give one, such as {who}({example})" if example else f"{f.name}; give it"
            raise TypeError(f"{who} needs {needed}")
        init(self, *args, **kwargs)
        for name, domain in known.items():
            value, where = getattr(self, name), f"{who}'s {name}"
            if value is None:
                if name in optional:
                    continue
                raise ValueError(f"{where} is None; give {domain}")
            domain.check(where, value)
            if name in sizes and isinstance(value, float | np.number):
                vars(self)[name] = int(value)
            elif not domain.whole:
                vars(self)[name] = as_float(where, value)

    return read
