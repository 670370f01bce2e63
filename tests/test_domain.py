"""Are domains described, checked and searched rightly, whichever of their ends they have?"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from astonish import Gaussian, MessagePassing, Smile
from astonish.core.numbers import Domain, as_numbers, pytree_dataclass
from astonish.core.parameters import HAZARD, START, STD, Parameter, declared, parameter
from astonish.models.parameters import NamedParameter, find_parameter, parameters, short_names
from astonish.people.fit.space import LIMIT, Space

DOMAINS = {
    "a finite number": Domain(),
    "a finite number of at least 2": Domain(2.0),
    "a finite number above 2": Domain(2.0, open=True),
    "a finite number of at most 0": Domain(high=0),
    "a finite number below -3": Domain(high=-3.0, open=True),
    "a finite number from -1 to 3": Domain(-1.0, 3.0),
    "a finite number between -1 and 3, ends excluded": Domain(-1.0, 3.0, open=True),
    "a whole number": Domain(whole=True),
    "a whole number of at least 1": Domain(1, whole=True),
    "a whole number of at most 4": Domain(high=4, whole=True),
    "a whole number below 0": Domain(high=0, whole=True, open=True),
    "a whole number from 0 to 14": Domain(0, 14, whole=True),
}
SEVERAL = (-1e300, -4.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 15.0, 1e300)
NUMBERS = (-math.inf, *SEVERAL, math.inf, math.nan)
every = pytest.mark.parametrize(("words", "domain"), DOMAINS.items(), ids=list(DOMAINS))


@every
def test_a_domain_says_what_it_allows(words: str, domain: Domain) -> None:
    assert str(domain) == words
    assert str(Domain(domain.low, domain.high, domain.whole, domain.open, (2,))) == (
        f"an array of shape (2,), each number {words}"
    )


def _inside(domain: Domain, x: float) -> bool:
    """By the definition, one end after the other."""
    if not math.isfinite(x) or (domain.whole and not x.is_integer()):
        return False
    above = x > domain.low or (x == domain.low and not domain.open)
    return above and (x < domain.high or (x == domain.high and not domain.open))


@every
def test_numbers_are_allowed_between_the_ends(words: str, domain: Domain) -> None:
    expected = [_inside(domain, x) for x in NUMBERS]
    assert [domain.allows(x) for x in NUMBERS] == expected
    assert domain.allows(np.array(NUMBERS)).tolist() == expected
    for x, good in zip(NUMBERS, expected, strict=True):
        if good:
            assert domain.check("x", x) == x
        else:
            with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are compared below
                domain.check("x", [x, x])
            assert str(caught.value) == f"x = {x:g} is not allowed; give {words}"


@every
def test_the_stand_in_is_allowed(words: str, domain: Domain) -> None:
    assert domain.allows(domain.stand_in)
    assert domain.has_low == math.isfinite(domain.low)
    assert domain.has_high == math.isfinite(domain.high)


def test_a_stand_in_of_its_own_is_heeded_and_a_domain_without_values_refused() -> None:
    assert Domain(0, open=True, inside=7.0).stand_in == 7.0
    with pytest.raises(ValueError, match=r"there is no whole number .*; give a domain with values in it"):
        _ = Domain(0, 1, whole=True, open=True).stand_in
    for low, high in ((3.0, 2.0), (math.nan, 2.0), (0.0, math.nan)):
        with pytest.raises(ValueError, match=f"no number from low = {low:g} to high = {high:g}; give low below high"):
            Domain(low, high)
    with pytest.raises(ValueError, match="inside = 0 is not allowed; give a finite number above 0"):
        Domain(0, open=True, inside=0)


def test_only_whole_numbers_that_an_array_can_count_are_an_index() -> None:
    assert Domain(0, 14, whole=True).is_index
    assert Domain(high=4, whole=True).is_index
    assert not Domain(0, whole=True).is_index
    assert not Domain(0, 14).is_index


@pytest.mark.parametrize("value", [True, 2, 2.0, np.float32(2.0), [1, None, 2.5], np.array([[1], [2]], np.int8), []])
def test_numbers_are_read(value: Any) -> None:
    read = as_numbers("x", value)
    assert read.dtype == np.float64
    assert read.shape == np.shape(value)


@pytest.mark.parametrize(("value", "odd"), [("2", "'2'"), ([1.0, "two"], "'two'"), ([1j], "1j"), ([[1], ["a"]], "'a'")])
def test_what_is_no_number_is_refused(value: Any, odd: str) -> None:
    with pytest.raises(ValueError, match=f"x holds {odd}, which is not a number"):
        as_numbers("x", value)


def _space(*domains: Domain) -> Space:
    names = tuple(f"p{k}" for k in range(len(domains)))
    return Space(names, tuple(map(Parameter, domains)), tuple(1.0 + k for k in range(len(domains))))


CONTINUOUS = [domain for domain in DOMAINS.values() if not domain.whole]
INSIDE = {"low": [2.0001, 2.5, 900.0], "high": [-900.0, -3.5, -3.0001], "both": [-0.9999, 0.3, 2.9999]}


@pytest.mark.parametrize("domain", CONTINUOUS, ids=str)
def test_unconstrained_values_and_back(domain: Domain) -> None:
    inside = [x for values in INSIDE.values() for x in values if domain.allows(x)]
    space = _space(domain)
    free = space.unconstrained(np.array(inside)[:, None])
    assert np.isfinite(free).all()
    np.testing.assert_allclose(space.constrained(free)[:, 0], inside, rtol=1e-10)
    np.testing.assert_allclose(space.constrain(jnp.asarray(free))[:, 0], inside, rtol=1e-10)
    step = 1e-6
    slopes = (space.constrained(free + step) - space.constrained(free - step)) / (2 * step)
    np.testing.assert_allclose(space.derivatives(jnp.asarray(free)), slopes, rtol=1e-5)


@pytest.mark.parametrize("domain", CONTINUOUS, ids=str)
def test_every_unconstrained_value_is_allowed(domain: Domain) -> None:
    space = _space(domain)
    far = np.linspace(-LIMIT, LIMIT, 31)[:, None]
    assert domain.allows(space.constrained(far)).all()
    bounded = domain.has_low or domain.has_high
    assert space.limit.tolist() == [LIMIT if bounded else math.inf]
    assert np.isfinite(space.constrained(np.array([[-1e9], [1e9]]))).all()


@pytest.mark.parametrize("domain", CONTINUOUS, ids=str)
def test_the_ends_themselves_are_at_the_bound_and_no_others(domain: Domain) -> None:
    space = _space(domain)
    middle = next(x for x in (0.5, 2.5, -3.5) if domain.allows(x))
    values = (
        {0.0: middle} | ({-1.0: domain.low} if domain.has_low else {}) | ({1.0: domain.high} if domain.has_high else {})
    )
    for edge, value in values.items():
        assert space.at_bound(space.unconstrained([value])).tolist() == [edge]
    for far in (-1e5, 1e5):
        if domain.allows(far):
            assert space.at_bound(space.unconstrained([far])).tolist() == [0.0]
            infinite = (domain.has_low or domain.has_high) * np.sign(far)
            assert space.at_bound(space.unconstrained([1e3 * far])).tolist() == [infinite]


def test_a_space_of_several_domains() -> None:
    space = _space(*CONTINUOUS)
    free = np.random.default_rng(1).normal(size=(5, len(space)))
    for k, domain in enumerate(CONTINUOUS):
        alone = space.only(k)
        assert alone.domains == [domain]
        np.testing.assert_allclose(alone.constrained(free[:, k : k + 1])[:, 0], space.constrained(free)[:, k])
        np.testing.assert_array_equal(alone.at_bound(free[:, k : k + 1])[:, 0], space.at_bound(free)[:, k])


@pytree_dataclass
class _Thermostat:
    """A class with parameters of its own, and of a part."""

    offset: float = parameter(-1.0, Domain(high=0.0), (-5.0, -0.1), "how far it is below", fact="step")
    start: float = START.field()
    std: float = STD.field(default=2.0, about="spread of temperatures")
    sensor: Any = None


def test_a_shared_parameter_is_a_field_with_its_own_changes() -> None:
    found = declared(_Thermostat)
    assert list(found) == ["offset", "start", "std"]
    assert found["start"] == START
    assert found["std"] == STD._replace(default=2.0, about="spread of temperatures")
    assert (_Thermostat().start, _Thermostat().std) == (0.0, 2.0)


def test_parameters_of_parts_are_found_by_the_end_of_their_path() -> None:
    thing = _Thermostat(sensor=Smile(Gaussian(3.0)))
    every = parameters(thing)
    assert list(every) == ["offset", "start", "std", "sensor.family.noise", "sensor.m"]
    for word in ("noise", "family.noise", "sensor.noise", "sensor.family.noise"):
        assert find_parameter(every, word).value == 3.0
    assert find_parameter(every, "sensor.m") == NamedParameter("sensor.m", 0.1, declared(Smile)["m"])
    assert short_names(every) == ("offset", "start", "std", "noise", "m")
    twice = _Thermostat(sensor=_Thermostat())
    assert find_parameter(parameters(twice), "offset").path == "offset"
    assert find_parameter(parameters(twice), "sensor.offset").path == "sensor.offset"
    with pytest.raises(ValueError, match=r"there is no parameter 'offsat'; did you mean 'offset'\?"):
        find_parameter(parameters(twice), "offsat")
    assert find_parameter(parameters(MessagePassing(Gaussian())), "hazard").known == HAZARD


def test_usual_values_scale_with_the_outcomes() -> None:
    found = declared(_Thermostat)
    assert found["offset"].usual_between(10.0, 20.0) == (-50.0, -1.0)
    assert found["start"].usual_between(10.0, 20.0) == (10.0, 20.0)
    assert found["start"].usual_between(5.0, 5.0) == (5.0, 6.0)
    assert HAZARD.usual_between(10.0, 20.0) == HAZARD.usual
    assert Parameter(Domain()).usual_between(0.0, 1.0) is None
    assert Parameter(Domain(), (-100.0, -2.0), fact="per_unit").usual_between(0.0, 10.0) == (-10.0, -0.2)
