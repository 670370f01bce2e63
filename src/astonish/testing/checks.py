"""What every learner and every family of beliefs promises, each promise a check."""

import pickle
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce, wraps
from inspect import signature
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import Domain, as_double, double
from astonish.core.parameters import Parameter, check_parameters
from astonish.core.programs import interpreted
from astonish.core.samples import read_series
from astonish.learners.base import Learner, check, scan
from astonish.models.parameters import parameters, with_parameters
from astonish.online.series import Stream, run, run_many
from astonish.people.fit.space import Space
from astonish.theory import expfam, surprise
from astonish.theory.expfam import Belief, Family

Check = Callable[..., None]
_FAMILY_CHECKS: list[Check] = []
_LEARNER_CHECKS: list[Check] = []
_NODES, _FURTHEST = 6001, 36.0  # of quadrature, on the scale on which a fit searches
_DRAWS = 1000
bayes_of, raw_of = interpreted(expfam.bayes), interpreted(surprise.raw)
divergence_of, evidence_of = interpreted(expfam.divergence), interpreted(expfam.log_evidence)
target_of = interpreted(expfam.scaled_likelihood)
blend_of = interpreted(lambda family, *powers: family.blend(*powers))
predictive_divergence_of = interpreted(lambda family, *at: family.predictive_divergence(*at))
predicted_of = interpreted(jax.vmap(expfam.log_evidence, (None, None, 0)))


class CheckedFamily:
    """A family with samples, a belief and a reference to check it with."""

    def __init__(self, family: Family, samples: Sequence[Any], belief: Belief = None, reference: Belief = None) -> None:
        self.family = self.subject = family
        self.samples, self.name = list(samples), type(family).__name__
        self.belief = reduce(partial(bayes_of, family), samples, family.prior()) if belief is None else belief
        self.reference = family.prior() if reference is None and not family.proper_likelihood else reference

    @property
    def beliefs(self) -> list[Belief]:
        """Three beliefs: the one given, that of someone who saw one sample only, and a posterior."""
        naive = target_of(self.family, self.samples[0], self.reference)
        return [self.belief, naive, self.answers(self.family)]

    def answers(self, family: Family) -> Belief:
        """The posterior that a family gives."""
        return bayes_of(family, self.belief, self.samples[-1])

    def check_names(self) -> None:
        """The family accepts its parameters, and its prior those that it lists."""
        check_parameters(self.family)
        for name in self.family.prior_parameters:
            taken = name in signature(self.family.prior).parameters
            holds(taken, f"{self.name}.prior takes no {name!r}, which is among its prior_parameters")

    def quadrature(self) -> tuple[Any, Any, Any] | None:
        """Values of the parameter, their weights and the density there; None if the family gives no density."""
        if self.family.support is None:
            return None
        places, weights = _nodes(self.family.support, self.belief.mean, self.belief.std)
        density = self.family.density(self.belief, places)
        return None if density is None else (places, weights, density)


class CheckedLearner:
    """A learner and samples to check it with."""

    def __init__(self, learner: Learner, samples: Sequence[Any]) -> None:
        self.learner = self.subject = learner
        self.samples, self.half, self.name = list(samples), len(samples) // 2, type(learner).__name__

    @property
    def history(self) -> Any:
        """What the learner does with the samples."""
        return run(self.learner, self.samples)

    def answers(self, learner: Learner) -> tuple[Any, ...]:
        """All that a learner answers."""
        return _answers(run(learner, self.samples))

    def check_names(self) -> None:
        """The learner accepts its parameters, and has those that it lists."""
        check(self.learner)
        for name in self.learner.free:
            listed = name in parameters(type(self.learner))
            holds(listed, f"{self.name} has no parameter {name!r}, which it lists as free")


def _answers(history: Any) -> tuple[Any, ...]:
    return history.estimate, history.surprise, history.learning_rate, history.state, history.change_probability


def _added_to(checks: list[Check], case: Callable[..., Any]) -> Callable[[Check], Check]:
    """Add a check to the list; it is made in double precision, of what `case` makes of its arguments."""

    def decorate(promise: Check) -> Check:
        @wraps(promise)
        def check_promise(*args: Any, **kwargs: Any) -> None:
            with double():
                promise(case(*args, **kwargs))

        checks.append(check_promise)
        return promise

    return decorate


_family_check = _added_to(_FAMILY_CHECKS, CheckedFamily)
_learner_check = _added_to(_LEARNER_CHECKS, CheckedLearner)


def check_family(family: Family, samples: Sequence[Any], belief: Belief = None, reference: Belief = None) -> None:
    """Check a family of beliefs, with a few samples that it takes.

    belief: one that is neither extreme nor the prior; that after these samples when left out. reference: for families
    in which the likelihood of one sample is improper; the prior when left out.

    >>> from astonish import Beta
    >>> check_family(Beta(), [0, 1, 1])
    """
    for promise in family_checks():
        promise(family, samples, belief, reference)


def family_checks() -> list[Check]:
    """All checks of families: functions of what `check_family` takes, each of one promise.

    >>> [check.__name__ for check in family_checks()][:2]
    ['parameters_are_described', 'pickling_and_printing']
    """
    return list(_FAMILY_CHECKS)


def check_learner(learner: Learner, samples: Sequence[Any]) -> None:
    """Check a learner, with a series of samples that it takes; about a dozen, some of them surprising.

    >>> from astonish import Delta
    >>> check_learner(Delta(0.3), [0.1, -0.4, 0.2, 0.3, 6.1, 5.8])
    """
    for promise in learner_checks():
        promise(learner, samples)


def learner_checks() -> list[Check]:
    """All checks of learners: functions of a learner and a series of samples, each of one promise.

    >>> [check.__name__ for check in learner_checks()][:2]
    ['parameters_are_described', 'a_step_keeps_the_form_of_the_state']
    """
    return list(_LEARNER_CHECKS)


def holds(condition: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the condition is true (everywhere)."""
    if not np.all(condition):
        raise AssertionError(sentence)


def agree(actual: Any, expected: Any, sentence: str, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Raise an AssertionError with this sentence unless two trees of numbers are equal up to rounding."""
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        close = np.allclose(one, other, rtol, atol, equal_nan=True)
        holds(close, f"{sentence}: {np.asarray(one).tolist()} is not {np.asarray(other).tolist()}")


def takes_any_leaves(thing: Any) -> None:
    """JAX may put anything in place of the numbers: truth values, axes, None, placeholders."""
    for value in (True, 0, None, object()):
        try:
            again = jax.tree.leaves(jax.tree.map(lambda _, value=value: value, thing))
        except Exception as problem:
            wrong = f"JAX cannot put {value!r} in place of the numbers of {type(thing).__name__} ({problem})"
            raise AssertionError(f"{wrong}; derive the class from Learner, Family or Response") from None
        changed = f"{type(thing).__name__} makes {again} of {value!r}, which JAX puts in place of its numbers"
        holds(all(leaf is value for leaf in again), changed)


def answer(question: Callable[[], Any], who: str) -> Any:
    """The answer to a question that may be refused with a ValueError, in a sentence; None where it is refused."""
    try:
        return question()
    except ValueError as refusal:
        holds(len(str(refusal).split()) > 3, f"{who} refuses with {str(refusal)!r}; say in a sentence why")
        return None


def allowed(samples: Any, xs: Any, who: str) -> None:
    """What was drawn has to be a series of samples."""
    try:
        read_series(samples, xs)
    except ValueError as problem:
        raise AssertionError(f"{who} draws samples that it does not take: {problem}") from None


@_family_check
@_learner_check
def parameters_are_described(case: CheckedFamily | CheckedLearner) -> None:
    """Every parameter has a domain with its value in it, a usual range inside the domain, and a sentence."""
    case.check_names()
    for name, (_, _, parameter) in parameters(type(case.subject)).items():
        holds(parameter.about, f"{case.name}'s {name} does not say what it means; give it a sentence (about=)")
        usual = f"{case.name}'s {name} does not say where its values usually lie; give usual="
        holds(parameter.usual is not None, usual)
        low, high = parameter.usual or (0.0, 0.0)
        ordered = f"{case.name}'s {name} has the usual range {low:g} to {high:g}; give the smaller number first"
        holds(low < high, ordered)
        inside = parameter.domain.low <= low and high <= parameter.domain.high
        holds(inside, f"{case.name}'s {name} is usually from {low:g} to {high:g}, but has to be {parameter.domain}")


@_learner_check
def a_step_keeps_the_form_of_the_state(case: CheckedLearner) -> None:
    """A state after a step has the arrays of the state before; surprise and learning rate are single numbers."""
    x = jax.tree.map(lambda part: part[0], read_series(case.learner.samples, case.samples)[0])
    before = as_double(case.learner.init())
    after, info = jax.eval_shape(as_double(case.learner).step, before, x)
    old, new = (  # the arrays by their paths: type and shape of each
        {jax.tree_util.keystr(at): f"{leaf.dtype}{list(leaf.shape)}" for at, leaf in jax.tree.leaves_with_path(state)}
        for state in (before, after)
    )
    holds(old == new, f"a step of {case.name} makes {new} of a state {old}; keep its form")
    for name, number in info._asdict().items():
        holds(number is None or number.shape == (), f"{case.name} gives a {name} of several numbers; give one")


@_learner_check
def learning_rates_are_shares(case: CheckedLearner) -> None:
    """The learning rate, and the probability of a change where there is one, are numbers from 0 to 1."""
    history = case.history
    for name in ("learning_rate", "change_probability"):
        shares = getattr(history, name)
        inside = shares is None or ((shares >= 0) & (shares <= 1)).all()
        holds(inside, f"{case.name} gives a {name} of {shares}, which is not from 0 to 1")


@_learner_check
def surprise_and_estimate_are_finite(case: CheckedLearner) -> None:
    """Surprise and estimate are numbers, after every sample."""
    history = case.history
    for name in ("surprise", "estimate"):
        holds(np.isfinite(getattr(history, name)), f"{case.name} gives a {name} of {getattr(history, name)}")


@_learner_check
def a_stream_equals_a_series(case: CheckedLearner) -> None:
    """One sample at a time gives the same answers as all at once."""
    history, stream = case.history, Stream(case.learner)
    steps = [stream.update(x) for x in case.samples]
    sentence = f"{case.name} gives another {{}} in a Stream than in run"
    for name in ("estimate", "surprise", "learning_rate"):
        agree(np.array([getattr(step, name) for step in steps]), getattr(history, name), sentence.format(name))
    agree(stream.state, history.state, sentence.format("state"))
    agree(stream.estimate, history.estimate[-1], sentence.format("last estimate"))


@_learner_check
def many_series_equal_one_by_one(case: CheckedLearner) -> None:
    """Under `jax.vmap`, every series gives the answers that it gives by itself."""
    many = [case.samples, case.samples[::-1]]
    for together, xs in zip(run_many(case.learner, many), many, strict=True):
        sentence = f"{case.name} gives other answers for many series at once (jax.vmap) than for one"
        agree(_answers(together), _answers(run(case.learner, xs)), sentence)


@_learner_check
def a_saved_state_continues_exactly(case: CheckedLearner) -> None:
    """A state that was saved to a file and loaded goes on as if nothing had happened."""
    stream = Stream(case.learner)
    for x in case.samples[: case.half]:
        stream.update(x)
    with TemporaryDirectory() as folder:
        stream.save(Path(folder) / "state")
        again = Stream.load(Path(folder) / "state", case.learner)
    sentence = f"{case.name} goes on differently from a state that was saved and loaded"
    agree(again.state, stream.state, sentence, rtol=0, atol=0)
    for x in case.samples[case.half :]:
        agree(again.update(x), stream.update(x), sentence, rtol=0, atol=0)


@_learner_check
def missing_samples_change_nothing(case: CheckedLearner) -> None:
    """Where a sample is missing, the state stays, surprise is NaN and the learning rate 0, in a stream, too."""
    half, name, whole = case.half, case.name, case.history
    gapped = run(case.learner, [x for sample in case.samples[:half] for x in (None, sample)])
    agree(gapped.estimate[1::2], whole.estimate[:half], f"{name} learns from samples that are missing")
    agree(gapped.learning_rate[1::2], whole.learning_rate[:half], f"{name} learns from samples that are missing")
    agree(gapped.estimate[2::2], gapped.estimate[1:-1:2], f"{name} changes its estimate at a gap", rtol=0, atol=0)
    holds(np.isnan(gapped.surprise[::2]), f"{name} is surprised at missing samples")
    holds(gapped.learning_rate[::2] == 0, f"{name} has a learning rate above 0 at missing samples")
    stream = Stream(case.learner)
    before, estimate = stream.state, stream.estimate
    step = stream.update(None)
    agree(stream.state, before, f"the state of {name} changes at a missing sample", rtol=0, atol=0)
    agree(step.estimate, estimate, f"the estimate of {name} changes at a missing sample", rtol=0, atol=0)
    holds(np.isnan(step.surprise) and step.learning_rate == 0, f"{name} gives {step} at a missing sample")


def total(learner: Learner, xs: Any, observed: Any) -> Array:
    """A number that depends on all that a learner answers."""
    trace = scan(learner, xs, None, observed)
    weights = jnp.cos(jnp.arange(trace.estimate.size)).reshape(trace.estimate.shape)
    return (weights * trace.estimate).sum() + trace.learning_rate.sum()


def differentiable(learner: Learner) -> tuple[str, ...]:
    """Name the parameters by which a learner's answers can be differentiated."""
    return tuple(path for path, each in parameters(learner).items() if not each.known.domain.whole)


@cache
def derivative(names: tuple[str, ...]) -> Callable[..., Array]:
    """Make the derivative of the `total` as these parameters change in a direction."""

    def in_direction(learner: Learner, xs: Any, observed: Any, direction: Any) -> Array:
        def moved(values: Any) -> Array:
            return total(with_parameters(learner, dict(zip(names, values, strict=True))), xs, observed)

        known = parameters(learner)
        return jax.jvp(moved, (jnp.stack([known[name].value for name in names]),), (direction,))[1]

    return interpreted(in_direction)


@_learner_check
def gradients_are_finite(case: CheckedLearner) -> None:
    """Derivatives by every parameter that is not whole are numbers, whatever stands where a sample is missing."""
    xs, observed = read_series(case.learner.samples, case.samples)
    observed[len(observed) // 3] = False

    def with_nan(part: Any) -> Any:
        missing = ~observed.reshape(-1, *[1] * (part.ndim - 1))
        return part if part.dtype.kind == "i" else np.where(missing, np.nan, part)

    learner, gapped = as_double(case.learner), jax.tree.map(with_nan, xs)
    names = differentiable(learner)
    for name, direction in zip(names, np.eye(len(names)), strict=True):
        clean, other = (float(derivative(names)(learner, part, observed, direction)) for part in (xs, gapped))
        holds(np.isfinite(clean), f"the derivative of {case.name} by {name} is {clean}")
        agree(other, clean, f"a NaN where a sample is missing changes the derivative of {case.name} by {name}")


@_learner_check
def uncertainty_is_not_negative(case: CheckedLearner) -> None:
    """The uncertainty of the estimate is 0 or more, or None."""
    spread = case.learner.uncertainty(case.history.state)
    holds(spread is None or (np.asarray(spread) >= 0).all(), f"{case.name} gives an uncertainty of {spread}")


@_learner_check
def last_change_is_a_distribution(case: CheckedLearner) -> None:
    """The hypotheses about the last change, where there are any, have probabilities that sum to 1."""
    last = case.learner.last_change(case.history.state)
    whole = last is None or np.isclose(np.sum(last.weights), 1.0)
    holds(whole, f"the hypotheses of {case.name} about the last change have probabilities that do not sum to 1")


@_learner_check
def with_estimate_gives_the_estimate(case: CheckedLearner) -> None:
    """A state can be given another estimate, or that is refused in a sentence."""
    history = case.history
    wanted = jnp.asarray(history.estimate[0])
    state = answer(lambda: case.learner.with_estimate(history.state, wanted), f"{case.name}.with_estimate")
    if state is not None:
        agree(case.learner.estimate(state), wanted, f"{case.name}.with_estimate gives a state with another estimate")


@_learner_check
def simulated_samples_are_allowed(case: CheckedLearner) -> None:
    """Samples from the learner's own model are samples that it takes, or drawing them is refused in a sentence."""
    xs = answer(lambda: case.learner.simulate(np.random.default_rng(0), 20), f"{case.name}.simulate")
    if xs is not None:
        allowed(case.learner.samples, xs, f"{case.name}.simulate")
        lengths = {len(part) for part in (xs if isinstance(xs, tuple) else (xs,))}
        holds(lengths == {20}, f"{case.name}.simulate draws {lengths} samples where 20 were asked for")


@_family_check
@_learner_check
def pickling_and_printing(case: CheckedFamily | CheckedLearner) -> None:
    """It prints itself with the name of its class, also after pickling, and gives the same answers then."""
    thing: Any = case.subject
    name, answers = case.name, case.answers
    try:
        again = pickle.loads(pickle.dumps(thing))
    except (AttributeError, TypeError, pickle.PicklingError) as problem:
        raise AssertionError(f"{name} cannot be pickled ({problem}); define all parts at the top of a module") from None
    holds(repr(again) == repr(thing), f"{name} prints itself as {thing!r}, and after pickling as {again!r}")
    holds(repr(thing).startswith(f"{name}("), f"{name} prints itself as {thing!r}, without the name of its class")
    agree(answers(again), answers(thing), f"{name} gives other answers after pickling", rtol=0, atol=0)


@_family_check
@_learner_check
def leaves_may_be_anything(case: CheckedFamily | CheckedLearner) -> None:
    """JAX's functions of trees work, whatever they put in place of the numbers."""
    takes_any_leaves(case.subject)


@_family_check
def beliefs_have_a_mean_and_a_spread(case: CheckedFamily) -> None:
    """A belief has a `mean`, a `mode` of the same form, and a `std` that is not negative."""
    for belief in case.beliefs:
        holds(np.isfinite(belief.mean), f"{belief} of {case.name} has the mean {belief.mean}")
        holds(np.shape(belief.mode) == np.shape(belief.mean), f"mode and mean of {belief} are not of the same form")
        holds(np.asarray(belief.std) >= 0, f"{belief} of {case.name} has the std {belief.std}")


@_family_check
def divergence_is_a_distance(case: CheckedFamily) -> None:
    """The divergence of a belief from itself is 0, and from others at least 0."""
    for a, b in product(case.beliefs, repeat=2):
        far = float(divergence_of(case.family, a, b))
        holds(far == 0 if a is b else far >= 0, f"the divergence of {case.name} from {a} to {b} is {far}")


@_family_check
def flatness_changes_nothing(case: CheckedFamily) -> None:
    """Blended with flatness, a belief stays what it is; its two halves make it whole."""
    family, belief, flat = case.family, case.belief, case.family.flat()
    blended = f"blend of {case.name} with flatness, or of two halves,"
    for powers in ((belief, 1.0, flat, 1.0), (flat, 1.0, belief, 1.0), (belief, 0.5, belief, 0.5)):
        kernel, misfit = blend_of(family, *powers)
        far = float(divergence_of(family, kernel, belief))
        holds(abs(far) < 1e-12, f"{blended} changes a belief by {far}")
        agree(family.log_partition(kernel) - misfit, family.log_partition(belief), f"{blended} has a misfit")


@_family_check
def the_order_of_samples_does_not_matter(case: CheckedFamily) -> None:
    """Bayes' rule comes to the same belief whatever the order of samples."""
    forth = back = case.belief
    for x, y in zip(case.samples, reversed(case.samples), strict=True):
        forth, back = bayes_of(case.family, forth, x), bayes_of(case.family, back, y)
    agree(forth, back, f"the order of samples matters to {case.name}", rtol=1e-10)


@_family_check
def raw_surprise_is_bayesian_plus_shannon(case: CheckedFamily) -> None:
    """Equation 15 of the paper: an identity of `blend`, `log_partition` and `log_base`."""
    for x in case.samples:
        at = case.family, case.belief, x
        parts = divergence_of(case.family, case.belief, bayes_of(*at)) - evidence_of(*at)
        agree(raw_of(*at), parts, f"raw surprise of {case.name} at {x} is not Bayesian plus Shannon's surprise")


@_family_check
def the_target_is_the_likelihood_or_needs_a_reference(case: CheckedFamily) -> None:
    """The target is the likelihood if that is proper, else the posterior of a reference, which must be given."""
    family, x = case.family, case.samples[0]
    proper = family.likelihood(x) if case.reference is None else expfam.bayes(family, case.reference, x)
    target = expfam.scaled_likelihood(family, x, case.reference)
    agree(target, proper, f"the target of {case.name} is another", rtol=0, atol=0)
    if not family.proper_likelihood:
        refused = answer(lambda: surprise.confidence_corrected(family, case.belief, x), case.name) is None
        holds(refused, f"{case.name} computes confidence-corrected surprise without the reference that it needs")


def _nodes(domain: Domain, middle: Any, spread: Any) -> tuple[Any, Any]:
    """Places and weights of quadrature over a domain, densest about the middle.

    The trapezoidal rule on the scale on which a fit searches, stretched so that far tails are reached.
    """
    space = Space(("theta",), (Parameter(domain),), (1.0,))

    def place(free: Any) -> Any:
        return space.constrain(free[..., None])[..., 0]

    centre = jnp.asarray(space.unconstrained([middle])[0])
    scale = spread / jax.grad(place)(centre)
    bounded = domain.has_low or domain.has_high
    scale = jnp.minimum(scale, 1.0) if bounded else scale
    end = jnp.arcsinh(_FURTHEST / scale) if bounded else 12.0
    steps = jnp.linspace(-end, end, _NODES)
    places, slopes = jax.jvp(lambda step: place(centre + scale * jnp.sinh(step)), (steps,), (jnp.ones_like(steps),))
    return places, jnp.abs(slopes) * (steps[1] - steps[0])


@_family_check
def density_is_that_of_the_belief(case: CheckedFamily) -> None:
    """The density, where there is one, integrates to 1 over the support, with the belief's mean and spread."""
    if (quadrature := case.quadrature()) is None:
        return
    places, weights, density = quadrature
    mass, atol = density * weights, 1e-5 * float(case.belief.std)
    mean = mass @ places
    spread = jnp.sqrt(mass @ (places - mean) ** 2)
    agree(mass.sum(), 1.0, f"the density of {case.name} integrates to another number than 1", rtol=1e-5)
    agree(mean, case.belief.mean, f"the density of {case.name} has another mean than the belief", 1e-5, atol)
    agree(spread, case.belief.std, f"the density of {case.name} has another spread than the belief", 1e-5, atol)


@_family_check
def bayes_rule_is_its_definition(case: CheckedFamily) -> None:
    """The posterior is the belief times the likelihood, divided by the evidence, by quadrature."""
    family, belief = case.family, case.belief
    if not family.proper_likelihood or (quadrature := case.quadrature()) is None:
        return
    places, weights, density = quadrature
    for x in case.samples:
        naive = jax.tree.map(jnp.asarray, family.likelihood(x))
        kernel: Any = family.density(naive, places)
        probability = jnp.exp(family.log_partition(naive) + family.log_base(x)) * kernel
        evidence = (density * probability) @ weights
        agree(
            evidence_of(family, belief, x), jnp.log(evidence), f"{case.name} gives {x} another probability", 1e-5, 1e-6
        )
        posterior = density * probability / evidence
        theirs, atol = family.density(bayes_of(family, belief, x), places), 1e-6 * float(posterior.max())
        agree(theirs, posterior, f"the posterior of {case.name} at {x} is not Bayes' rule", 1e-5, atol)


@_family_check
def predictions_sum_to_one(case: CheckedFamily) -> None:
    """The probabilities of all samples sum to 1, where these are numbers, angles, or whole numbers between two ends."""
    domain = case.family.samples
    if not isinstance(domain, Domain) or domain.shape or (domain.whole and not (domain.has_low and domain.has_high)):
        return
    if domain.whole:
        xs: Any = jnp.arange(int(domain.low), int(domain.high) + 1)
        weights: Any = jnp.ones(len(xs))
    elif case.family.period is not None:
        whole = case.family.period
        xs, weights = jnp.linspace(0.0, whole, _NODES)[1:], jnp.full(_NODES - 1, whole / (_NODES - 1))
    else:
        xs, weights = _nodes(domain, np.median(case.samples), np.std(case.samples) + 1e-3)
    mass = jnp.exp(predicted_of(case.family, case.belief, xs)) @ weights
    agree(mass, 1.0, f"the probabilities that {case.name} predicts do not sum to 1", rtol=1e-4)


@_family_check
def predictive_divergence_is_a_distance(case: CheckedFamily) -> None:
    """How far apart predictions are, where that is known: 0 for the same belief, else at least 0."""
    for a, b in product(case.beliefs[::2], repeat=2):
        far = predictive_divergence_of(case.family, a, b, case.samples[0])
        right = far is None or (abs(float(far)) < 1e-9 if a is b else float(far) >= 0)
        holds(right, f"predictions of {case.name} from {a} and {b} are {far} apart")


@_family_check
def draws_are_allowed(case: CheckedFamily) -> None:
    """What is drawn from a belief is in its support, and samples drawn from that can be learned from; or refused."""
    family, belief, rng = case.family, jax.tree.map(np.asarray, case.belief), np.random.default_rng(0)
    theta = answer(lambda: family.sample(belief, rng), f"{case.name}.sample")
    if theta is None:
        return
    xs = answer(lambda: family.sample_outcome(theta, rng, _DRAWS), f"{case.name}.sample_outcome")
    if xs is None:
        return
    allowed(family.samples, xs, f"{case.name}.sample_outcome")
    means = []
    if family.support is not None:
        thetas = np.array([family.sample(belief, rng) for _ in range(_DRAWS)])
        holds(family.support.allows(thetas), f"{case.name}.sample draws {thetas}, which are not {family.support}")
        means.append((thetas, belief.mean, belief.std, "sample"))
    if (expected := family.expected(theta)) is not None:
        means.append((xs, expected, np.std(xs), "sample_outcome"))
    for drawn, mean, std, method in means:
        near = abs(np.mean(drawn) - mean) <= 6 * std / len(drawn) ** 0.5  # standard errors
        holds(near, f"{case.name}.{method} draws {np.mean(drawn)} on average, where {mean} is to be expected")


@_family_check
def with_mean_gives_the_mean(case: CheckedFamily) -> None:
    """A belief can be given another mean, or that is refused in a sentence."""
    wanted = bayes_of(case.family, case.belief, case.samples[-1]).mean
    moved = answer(lambda: case.family.with_mean(case.belief, wanted), f"{case.name}.with_mean")
    if moved is not None:
        agree(moved.mean, wanted, f"{case.name}.with_mean gives another mean")
