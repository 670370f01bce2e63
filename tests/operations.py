"""Lists operations of JAX with numbers to try them on, for the tests of what else carries them out."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

V, W = np.array([0.3, -1.5, 2.0, 7.0, -0.0, 1e300]), np.array([2.0, 0.5, -3.0, 7.0, 1.0, 1e-300])
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.5])
M, N = np.arange(12.0).reshape(3, 4) / 7 - 0.8, np.arange(8.0).reshape(4, 2) - 3.1
WHOLE, SHIFTS = np.array([3, -7, 0, 5], np.int32), np.array([1, 2, 31, 40], np.int32)
P = np.array([0.2, 0.9, 0.01, 3.0])
KEY = np.array([12345, 678910], np.uint32)


def each(module: Any, names: str) -> Callable[..., Any]:
    """What functions of this module give."""
    return lambda *numbers: [getattr(module, name)(*numbers) for name in names.split()]


OPERATIONS: dict[str, tuple[Any, ...]] = {
    "sums and products": (lambda a, b: (a + b, a - b, a * b, a / b, -a), V, W),
    "with NaN and infinity": (lambda a, b: (jnp.maximum(a, b), jnp.minimum(a, b), a + b, a * b, a < b), ODD, V),
    "comparisons": (each(jnp, "less less_equal greater greater_equal equal not_equal"), ODD, ODD[::-1].copy()),
    "of whole numbers": (
        lambda a, b: (a + b, a * b, a & b, a | b, a ^ b, ~a, abs(a), jnp.sign(a), a < b, -a),
        WHOLE,
        SHIFTS,
    ),
    "shifts": (each(jax.lax, "shift_left shift_right_logical shift_right_arithmetic"), WHOLE, SHIFTS),
    "division of whole numbers": (lambda a: (jax.lax.div(a, np.int32(3)), jax.lax.rem(a, np.int32(3))), WHOLE),
    "functions": (each(jnp, "exp log log1p expm1 tanh sqrt floor ceil round sin cos square"), P),
    "functions of odd numbers": (each(jnp, "exp log abs sign isfinite isnan floor"), ODD),
    "more functions": (each(jnp, "tan sinh cosh arctan arcsin arccos exp2 cbrt"), P / 4),
    "special functions": (each(jax.lax, "logistic rsqrt erf"), P),
    "more special functions": (each(jax.lax, "erfc lgamma"), P / 4),
    "logistic of odd numbers": (jax.nn.sigmoid, ODD),
    "of two numbers": (lambda a, b: (jnp.arctan2(a, b), jax.lax.rem(a, b), jnp.power(jnp.abs(a) + 1, b)), V[:4], W[:4]),
    "largest and smallest so far": (lambda a: (jax.lax.cummax(a, 1), jax.lax.cummin(a, 0), jax.lax.cumprod(a, 1)), M),
    "limits": (
        lambda a: (jnp.maximum(a, 1.0), jnp.minimum(1.0, a), jnp.maximum(a, np.array([1.0, 2, 3, 4, 5, 6]))),
        ODD,
    ),
    "powers": (lambda a: (a**2, a**3, a**-2, a**7, a**0, a**0.5, jnp.power(a, 2.5)), P),
    "conversions": (
        lambda a, i: (
            [a.astype(kind) for kind in (jnp.int32, jnp.int64, bool, jnp.float32)],
            [i.astype(kind) for kind in (float, jnp.uint32, jnp.int8)],
            (i > 0).astype(float),
        ),
        ODD,
        WHOLE,
    ),
    "bits": (lambda a: jax.lax.bitcast_convert_type(a, jnp.int64) >> 52, V),
    "choices": (
        lambda a, b: (
            jnp.where(a > b, a, b),
            jax.lax.select_n(jnp.array([0, 2, 1, 0, 2, 1], jnp.int32), a, b, a + b),
            jnp.clip(a, -1.0, 2.0),
            jax.lax.clamp(-1.0, a, 1.0),
        ),
        V,
        W,
    ),
    "one number for many": (lambda a, b: (a * b, a[:, :1] - a, a[:1] + a, a[0, 0] * a), M, np.float64(2.5)),
    "shapes": (
        lambda a: (
            a.reshape(2, 6),
            a.T,
            a[::2, 1:3],
            a[::-1],
            a[:, None, :],
            jnp.squeeze(a[:1]),
            jnp.broadcast_to(a, (2, 3, 4)),
        ),
        M,
    ),
    "joined": (
        lambda a, b: (
            jnp.concatenate([a, b[:3]], axis=0),
            jnp.stack([a[0], a[1], a[2]], axis=1),
            jnp.pad(a, ((1, 0), (0, 2)), constant_values=9.0),
        ),
        M,
        np.vstack([M, M]),
    ),
    "reduced": (
        lambda a: [each(jnp, "sum max min prod mean argmax argmin cumsum")(a, axis) for axis in (None, 0, 1)],
        M,
    ),
    "truths reduced": (lambda a: [each(jnp, "any all")(a > 0, axis) for axis in (None, 0, 1)], M),
    "argmax of odd numbers": (lambda a: (jnp.argmax(a), jnp.argmin(a), jnp.argmax(a[1:]), jnp.argmin(a[1:])), ODD),
    "products of matrices": (
        lambda a, b: (
            a @ b,
            a @ b[:, 0],
            b[:, 1] @ b[:, 0],
            jnp.einsum("ij,kj->ik", a, a),
            jnp.einsum("bij,bjk->bik", a.reshape(3, 2, 2), a.reshape(3, 2, 2)),
            a.T @ (a[:, 0] > 0),
        ),
        M,
        N,
    ),
    "reading by index": (
        lambda a, i: (a[i], a[i, i], a[1, i], jnp.take(a, i, axis=1, mode="fill"), a.at[i].get(mode="clip")),
        M,
        np.array([2, 0, -1, 7], np.int32),
    ),
    "writing by index": (
        lambda a, i: (
            a.at[i].set(9.0),
            a.at[1, i].add(2.0),
            a.at[i, i].set(a[0]),
            a.at[:, i[0]].set(1.0),
            a.at[i].set(5.0, mode="drop"),
            (a > 0).at[i[0]].set(True),
        ),
        M,
        np.array([2, 0, 2, 7], np.int32),
    ),
    "slices that move": (
        lambda a, i: (
            jax.lax.dynamic_slice(a, (i, i), (2, 2)),
            jax.lax.dynamic_index_in_dim(a, i),
            jax.lax.dynamic_update_slice(a, a[:2, :2], (i, np.int32(0))),
        ),
        M,
        np.int32(2),
    ),
    "many indices at once": (
        lambda a, i: (
            jax.vmap(lambda row, k: row[k])(a, i),
            jax.vmap(lambda row, k: row.at[k].set(0.0))(a, i),
            jax.vmap(lambda row, k: jax.lax.dynamic_slice(row, (k,), (2,)))(a, i),
        ),
        M,
        np.array([3, 0, 2], np.int32),
    ),
    "loops": (
        lambda a: (
            jax.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 1.5 + s[0]), (0, a)),
            jax.lax.fori_loop(0, jnp.sum(a > 0), lambda k, s: s + a[k], 0.0),
        ),
        P,
    ),
    "loops written out": (
        lambda a: (
            jax.lax.scan(lambda s, x: (s * x + 1, s), 0.5, a),
            jax.lax.scan(lambda s, x: (s + x, s * x), 0.5, a, reverse=True),
            jax.lax.fori_loop(0, 3, lambda k, s: s.at[k].add(s[k + 1]), a),
        ),
        P,
    ),
    "loops side by side": (
        lambda a: jax.vmap(lambda x: jax.lax.while_loop(lambda y: y < 100, lambda y: y * 1.7 + 1, x))(a),
        P,
    ),
    "branches": (
        lambda a, i: (
            jax.lax.cond(a[0] > 0, lambda: a * 2, lambda: a - 1),
            jax.lax.switch(i, [lambda: a, lambda: a + 1, lambda: a + 2]),
        ),
        P,
        np.int32(1),
    ),
    "by platform": (lambda a: jax.lax.platform_dependent(a, cpu=lambda x: x + 1, default=lambda x: x - 1), P),
    "random numbers": (
        lambda k: (
            jax.random.uniform(jax.random.wrap_key_data(k, impl="threefry2x32"), (3, 5)),
            jax.random.key_data(jax.random.split(jax.random.wrap_key_data(k, impl="threefry2x32"), 3)),
            jax.random.bits(jax.random.wrap_key_data(k, impl="threefry2x32"), (4,), jnp.uint32),
        ),
        KEY,
    ),
    "nothing known": (lambda a: (jnp.ones(3) * 2, jnp.arange(4), jnp.zeros((2, 2)) + a[0]), P),
}
