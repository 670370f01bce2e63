"""Runs every test in double precision, as the doors of the library do, unless it is marked `single`."""

from collections.abc import Iterator

import jax
import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def precision(request: pytest.FixtureRequest) -> Iterator[None]:
    """Double precision around the test, or JAX's default where it is marked so."""
    with jax.enable_x64(request.node.get_closest_marker("single") is None):
        yield
