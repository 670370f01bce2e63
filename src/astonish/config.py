"""How is something that people choose (a family, a learner, a response model) made known to JAX?"""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

import jax

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def config(cls: type[T]) -> type[T]:
    """A frozen dataclass whose fields are leaves, so that one may `vmap` and `grad` over them.

    A field with metadata `static` is not. Its class's name is a static field too: JAX compares dataclasses by their
    fields alone, and could otherwise mistake two families, or two learners, that have the same fields for each other.
    """
    cls.__annotations__["_kind"] = str
    kind = f"{cls.__module__}.{cls.__qualname__}"
    setattr(cls, "_kind", field(default=kind, repr=False, kw_only=True, metadata={"static": True}))  # noqa: B010
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))
