"""How is something that people choose (a family, a learner, a response model) made known to JAX?"""

from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

import jax

from astonish.core.numbers import as_float, as_integer

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def pytree_dataclass(cls: type[T]) -> type[T]:
    """A frozen dataclass whose fields are leaves, so that one may `vmap` and `grad` over them.

    A field with metadata `static` is not. Its class's name is a static field too: JAX compares dataclasses by their
    fields alone, and could otherwise mistake two families, or two learners, that have the same fields for each other.

    Whole numbers that people write as parameters become floating-point ones, whose powers do not overflow so soon, and
    `__post_init__` may refuse what does not go together. What JAX puts in place of leaves (axes, truth values) may be
    anything: it is neither changed nor checked.
    """
    for name, value in {"_kind": f"{cls.__module__}.{cls.__qualname__}", "_written": True}.items():
        cls.__annotations__[name] = type(value)
        setattr(cls, name, field(default=value, repr=False, kw_only=True, metadata={"static": True}))
    made: Any = dataclass(frozen=True)(cls)
    made.__init__ = _reading(made)
    given = [f for f in fields(made) if f.name != "_written"]
    static = [f.name for f in given if f.metadata.get("static")]
    leaves = [f.name for f in given if f.name not in static]
    return jax.tree_util.register_dataclass(made, leaves, static, drop_fields=["_written"])


def _reading(made: Any) -> Any:
    """A constructor that makes numbers of what people write, and takes what JAX gives as it is.

    It can tell them apart: JAX gives the field `_kind` but not `_written`, `dataclasses.replace` both, people neither.
    """
    init, known = made.__init__, [f for f in fields(made) if "parameter" in f.metadata]
    sizes = [f.name for f in known if f.metadata["static"]]
    numbers = [f.name for f in known if not f.metadata["static"] and not f.metadata["parameter"].domain.whole]

    @wraps(init)
    def read(self: Any, *args: Any, **kwargs: Any) -> None:
        if "_kind" in kwargs and "_written" not in kwargs:
            self.__dict__.update(kwargs)
            return
        init(self, *args, **kwargs)
        self.__dict__.update({name: as_integer(getattr(self, name)) for name in sizes})
        self.__dict__.update({name: as_float(name, getattr(self, name)) for name in numbers})

    return read
