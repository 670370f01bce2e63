"""What does a step of each learner cost, counted in operations?

The paper says that the load of a hierarchical model grows with the number of environments, and that of SMiLe does not.
Operations are counted, not timed, so that the same command gives the same numbers on every machine: a step is carried
out operation by operation, loops as often as they really run, and every number that an operation gives counts one,
be it a sum, a logarithm or a gamma function (every product in a sum of products two).
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxprs_in_params
from pandas import DataFrame

from astonish.beliefs import Gaussian
from astonish.core import special
from astonish.learners import MessagePassing, Nassar2010, OnlineEM
from astonish.learners.base import Learner
from astonish.paper import figure3
from astonish.paper.agents import ROOMS, naive, smile, walks_of
from astonish.paper.claims import Claim, listed, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.paper.figure3 import HAZARD, HIGH, LOW, NOISE, SPREAD, START, episodes
from astonish.report.style import BLUE, GREEN, ORANGE, VERMILLION

ENVIRONMENTS = (2, 4, 8)
HYPOTHESES = (10, 100, 1000)
STEPS = 10  # over which the operations of a step are averaged
CAPTION = (
    "Operations per step, counted. A: the maze. Online EM against the number of environments that it knows of, SMiLe "
    "and naive Bayes, which know of none. B: the Gaussian task. Exact inference (message passing) against the number "
    "of hypotheses about the last jump that it keeps, Nassar 2010 and SMiLe: by its general search for gamma, which "
    "works for any belief, and by the closed form of the paper's eq. 10."
)
_MOVES = {  # they compute nothing
    "bitcast_convert_type", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "copy_p", "device_put",
    "dynamic_slice", "dynamic_update_slice", "gather", "iota", "pad", "reshape", "rev", "scatter", "slice", "split",
    "squeeze", "stop_gradient", "transpose",
}  # fmt: skip
_SPECIAL = {name for name in vars(special) if callable(getattr(special, name))}  # of which each counts one, too


def operations(function: Any, *inputs: Any, elementary: bool = False) -> int:
    """How many operations a function of arrays takes for these inputs.

    elementary: count the sums and products that logarithms and gamma functions are made of.
    """
    closed = jax.make_jaxpr(function)(*inputs)
    counted = jax.jit(lambda *leaves: _Counter(elementary).program(closed, leaves)[1])
    return int(counted(*jax.tree.leaves(inputs)))


class _Counter:
    """Carries out a program while it counts: what is known of its loops is how often they run for these inputs.

    elementary: see `operations`. Each function gives results, and the number of operations that they took.
    """

    def __init__(self, elementary: bool) -> None:
        self.elementary = elementary

    def program(self, program: ClosedJaxpr | Jaxpr, inputs: Any) -> tuple[list[Any], Any]:
        jaxpr, consts = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
        known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))
        total: Any = 0

        def value(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for line in jaxpr.eqns:
            found, count = self.line(line, [value(atom) for atom in line.invars])
            known |= zip(line.outvars, found, strict=True)
            total = total + count
        return [value(atom) for atom in jaxpr.outvars], total

    def line(self, line: Any, inputs: list[Any]) -> tuple[list[Any], Any]:
        """One operation, which may be a program of its own."""
        name, params = line.primitive.name, line.params
        if name == "while":
            return self.loop(params, inputs)
        if name == "cond":
            branches = [partial(self.branch, branch) for branch in params["branches"]]
            return jax.lax.switch(inputs[0], branches, *inputs[1:])
        inner = next((params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in params), None)
        if inner is None and not name.startswith(("scatter", "reduce")) and list(jaxprs_in_params(params)):
            raise NotImplementedError(f"what is within {name} is not counted")
        if inner is not None and (self.elementary or params.get("name") not in _SPECIAL):
            if name == "scan":
                raise NotImplementedError("loops over rows are not counted")
            return self.program(inner, inputs)
        found = line.primitive.bind(*inputs, **params)
        return list(found) if line.primitive.multiple_results else [found], 0 if name in _MOVES else _weight(line)

    def branch(self, program: ClosedJaxpr, *inputs: Any) -> tuple[list[Any], Any]:
        found, count = self.program(program, inputs)
        return found, jnp.asarray(count, jnp.int32)

    def loop(self, params: dict[str, Any], inputs: list[Any]) -> tuple[list[Any], Any]:
        """A loop, as often as its condition says."""
        conditions, body = params["cond_nconsts"], params["body_nconsts"]
        fixed, kept = inputs[:conditions], inputs[conditions : conditions + body]

        def goes_on(carried: Any) -> Any:
            return self.program(params["cond_jaxpr"], [*fixed, *carried[0]])[0][0]

        def once(carried: Any) -> Any:
            _, test = self.program(params["cond_jaxpr"], [*fixed, *carried[0]])
            found, count = self.program(params["body_jaxpr"], [*kept, *carried[0]])
            return found, jnp.asarray(carried[1] + test + count, jnp.int32)

        return jax.lax.while_loop(goes_on, once, (inputs[conditions + body :], jnp.zeros((), jnp.int32)))


def _weight(line: Any) -> int:
    """The numbers that come out, or go in where they are added up; two for each product in a sum of products."""
    out = sum(int(np.prod(var.aval.shape)) for var in line.outvars)
    if line.primitive.name == "dot_general":
        (summed, _), _ = line.params["dimension_numbers"]
        return 2 * out * int(np.prod([line.invars[0].aval.shape[axis] for axis in summed]))
    if line.primitive.name.startswith(("reduce", "cum", "arg", "sort", "scatter")):
        return int(np.prod(line.invars[-1 if "scatter" in line.primitive.name else 0].aval.shape))
    return out


def per_step(learner: Learner, samples: Any, elementary: bool = False) -> float:
    """The operations per step of a learner on its way through these samples."""
    closed = jax.make_jaxpr(learner.step)(learner.init(), jax.tree.map(lambda part: part[0], samples))
    form: Any = jax.tree.structure(jax.eval_shape(learner.init))

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        found, count = _Counter(elementary).program(closed, jax.tree.leaves((state, x)))
        return jax.tree.unflatten(form, found[: form.num_leaves]), count

    counts = jax.jit(lambda: jax.lax.scan(step, learner.init(), samples)[1])()
    return float(np.mean(counts))


def numbers_kept(learner: Learner) -> int:
    """How many numbers the learner keeps from step to step."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(learner.init()))


def _count(run: RunSettings) -> DataFrame:
    """One row per task, learner and size."""
    walk = walks_of(run, 1, 1).walk
    steps = 2 if run.quick else STEPS
    moves, choices = (tuple(part[0, :steps] for part in each) for each in (walk.transitions, walk.choices))
    numbers = np.asarray(episodes(run, HAZARD).samples[0, :steps])
    rows: list[tuple[str, str, int, Learner, Any]] = [
        ("maze", "online EM", n, OnlineEM(ROOMS, environments=n, frozen=0), moves) for n in ENVIRONMENTS
    ]
    rows += [("maze", "SMiLe", 1, smile(), choices)]
    rows += [("maze", "naive Bayes", 1, naive(), choices)]
    family = Gaussian(NOISE)
    wide = family.prior(START, SPREAD)
    exact = {n: MessagePassing(family, HAZARD, wide, n, merge=False) for n in HYPOTHESES}
    rows += [("Gaussian", "exact", n, learner, numbers) for n, learner in exact.items()]
    rows += [("Gaussian", "Nassar 2010", 1, Nassar2010(NOISE, HAZARD, LOW, HIGH), numbers)]
    rows += [("Gaussian", "SMiLe", 1, figure3.smile(), numbers)]
    found = [(task, name, size, per_step(each, xs), numbers_kept(each)) for task, name, size, each, xs in rows]
    found.append(("Gaussian", "SMiLe, closed form", 1, operations(figure3.closed_form, 0.0, 1.0), 1))
    table = DataFrame(found, columns=["task", "learner", "size", "operations", "numbers_kept"])
    once = tuple(part[:1] for part in choices)
    return table.assign(
        elementary=np.where(
            (table.task == "maze") & (table.learner == "SMiLe"), per_step(smile(), once, True), table.operations
        )
    )


def claims(tables: Tables) -> list[Claim]:
    """What grows with the world, and what is cheap."""
    table = tables["operations"].set_index(["task", "learner", "size"])
    maze, gaussian = (table.loc[task] for task in ("maze", "Gaussian"))
    em, exact = maze.operations["online EM"], gaussian.operations["exact"]
    ours, plain = (float(maze.operations[name].iloc[0]) for name in ("SMiLe", "naive Bayes"))
    general, closed, nassar = (
        float(gaussian.operations[name].iloc[0]) for name in ("SMiLe", "SMiLe, closed form", "Nassar 2010")
    )
    growth = em[ENVIRONMENTS[-1]] / em[ENVIRONMENTS[0]]
    kept, elementary = maze.numbers_kept, float(maze.elementary["SMiLe"].iloc[0])
    return [
        Claim(
            "cost.environments",
            "section 2.4, last paragraph",
            "The load of a hierarchical model increases with the number of environments; that of SMiLe does not.",
            "increases; independent, by construction",
            f"operations per step of online EM with {listed(ENVIRONMENTS, 'd')} environments: {listed(em, '.0f')}; "
            f"SMiLe, whatever the number: {ours:.0f}",
            verdict([(np.diff(em) > 0).all() and growth > 2]),
            f"From {ENVIRONMENTS[0]} to {ENVIRONMENTS[-1]} environments it grows {growth:.1f} times. SMiLe is never "
            "told how many there are.",
        ),
        Claim(
            "cost.online-em",
            "section 2.4, maze",
            "SMiLe has a lower computational complexity than online EM.",
            "reduced computational complexity",
            f"two environments: {ours:.0f} operations per step against {em[2]:.0f}, {kept['SMiLe'].iloc[0]} numbers "
            f"kept against {kept['online EM'][2]}; naive Bayes: {plain:.0f} operations",
            verdict([kept["SMiLe"].iloc[0] < kept["online EM"][2], ours < em[2] and elementary < em[2]]),
            f"A logarithm or gamma function counts as one operation; counted in the {elementary:.0f} sums and products "
            "that they are made of here, SMiLe costs more than online EM with two environments. It spends nearly all "
            "of it on the search for gamma; a function from surprise to gamma (Note 2 of Algorithm 1) would do "
            "without.",
        ),
        Claim(
            "cost.exact",
            "section 2.4, Gaussian task",
            "SMiLe nearly reaches the optimal Bayesian solution with significantly reduced computational complexity.",
            "significantly reduced",
            f"operations per step: {closed:.0f} by eqs. 9 and 10 ({general:.0f} by the general search for gamma), "
            f"exact inference {listed(exact, '.0f')} with {listed(HYPOTHESES, 'd')} hypotheses, Nassar 2010 "
            f"{nassar:.0f}",
            verdict([closed < 0.5 * exact.min()]),
            "It is the exact solution that is costly, whose hypotheses are as many as there were samples; the "
            f"approximation of Nassar 2010, which is told the hazard, takes {nassar / closed:.1f} times as many "
            "operations as the closed form. How near SMiLe comes is another claim (figure 3).",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """The maze on the left, the Gaussian task on the right."""
    table = tables["operations"]
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.9), layout="constrained")
    labels = (("maze", "number of environments"), ("Gaussian", "number of hypotheses"))
    colours = {"online EM": BLUE, "exact": BLUE, "SMiLe": VERMILLION, "SMiLe, closed form": ORANGE}
    for axis, letter, (task, label) in zip(axes, "AB", labels, strict=True):
        for name, part in table[table.task == task].groupby("learner", sort=False):
            colour = colours.get(str(name), GREEN)
            if len(part) > 1:
                axis.plot(part["size"], part.operations, "o-", ms=4, color=colour, label=name)
            else:
                line = "-" if name != "SMiLe, closed form" else "--"
                axis.axhline(part.operations.iloc[0], ls=line, color=colour, label=name)
        axis.set(xscale="log", yscale="log", xlabel=label, ylabel="operations per step")
        axis.set_title(letter, loc="left", fontweight="bold")
        axis.legend(fontsize=7)
    axes[0].set_xticks(ENVIRONMENTS, [str(n) for n in ENVIRONMENTS])
    axes[0].minorticks_off()
    return figure


COST = Figure("cost", "Operations per step", CAPTION, simulated({"operations": _count}), draw, claims)
