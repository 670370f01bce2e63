"""Is a learner, a family of beliefs or a response model really one file?

Each is written to a file of its own, and announced as an installed package would. Nothing else is touched; then it is
looked for wherever such things are listed, chosen, fitted and shown.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.usefixtures("compiled_alike")

LEARNER = '''
"""Follow the running mean of the last few samples."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from astonish.core.numbers import Domain
from astonish.core.parameters import parameter
from astonish.core.names import NUMBERS
from astonish.learners.base import StepInfo, Learner


class Smoothed(NamedTuple):
    fast: jnp.ndarray
    slow: jnp.ndarray


class TwoSpeeds(Learner):
    """Average a fast and a slow delta rule."""

    speed: float = parameter(0.6, Domain(0.0, 1.0), (0.1, 0.9), "how fast the faster half follows")
    start: float = parameter(0.0, Domain(), (0.0, 1.0), "estimate before the first sample", fact="middle")
    name: ClassVar[str] = "two-speeds"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("speed",)
    samples: ClassVar[Domain] = Domain()

    def init(self):
        start = jnp.asarray(self.start, jnp.result_type(float, self.start))
        return Smoothed(start, start)

    def step(self, state, x):
        speed = jnp.asarray(self.speed, state.fast.dtype)
        error = jnp.abs(x - self.estimate(state))
        fast, slow = (1 - speed) * state.fast + speed * x, (1 - 0.1 * speed) * state.slow + 0.1 * speed * x
        return Smoothed(fast, slow), StepInfo(error, 0.55 * speed)

    def estimate(self, state):
        return 0.5 * (state.fast + state.slow)

    def with_estimate(self, state, value):
        return Smoothed(value, value)

    def simulate(self, rng, steps):
        return rng.normal(self.start, 1.0, steps)
'''

FAMILY = '''
"""Beliefs about the probability of success, judged by the number of failures before it."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax.scipy.special import xlog1py, xlogy

from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter, parameter
from astonish.theory.expfam import Family
from astonish.core.names import OutcomeKind
from astonish.core.numbers import number
from astonish.core.special import log_gamma

COUNT = Domain(-1.0, open=True)


class SuccessBelief(NamedTuple):
    successes: jnp.ndarray
    failures: jnp.ndarray

    @property
    def mean(self):
        return self.successes / (self.successes + self.failures)

    @property
    def mode(self):
        return self.mean

    @property
    def std(self):
        return jnp.sqrt(self.mean * (1 - self.mean) / (1 + self.successes + self.failures))


class Geometric(Family):
    """How likely is success, judged by how often one failed before it?"""

    name: ClassVar[str] = "geometric"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    samples: ClassVar[Domain] = Domain(0, whole=True)
    support: ClassVar[Domain] = Domain(0, 1, open=True)
    usual_samples: ClassVar[tuple[float, float]] = (0.0, 10.0)
    prior_parameters: ClassVar[dict] = {
        "successes": Parameter(COUNT, (0.0, 10.0), "successes that come first", 0.0),
        "failures": Parameter(COUNT, (0.0, 10.0), "failures that come first", 0.0),
    }

    def prior(self, successes=0.0, failures=0.0):
        return SuccessBelief(1 + number(successes, "successes", COUNT), 1 + number(failures, "failures", COUNT))

    def flat(self):
        return self.prior()

    def likelihood(self, x):
        return SuccessBelief(jnp.full((), 2.0), 1 + number(x))

    def log_partition(self, belief):
        both = belief.successes + belief.failures
        return log_gamma(belief.successes) + log_gamma(belief.failures) - log_gamma(both)

    def density(self, belief, grid):
        kernel = xlogy(belief.successes - 1, grid) + xlog1py(belief.failures - 1, -grid)
        return jnp.exp(kernel - self.log_partition(belief))

    def expected(self, theta):
        return (1 - theta) / theta

    def with_mean(self, belief, mean):
        mean, both = jnp.clip(mean, 0.001, 0.999), belief.successes + belief.failures
        return SuccessBelief(mean * both, (1 - mean) * both)

    def sample(self, belief, rng):
        return rng.beta(belief.successes, belief.failures)

    def sample_outcome(self, theta, rng, steps):
        return rng.geometric(theta, steps) - 1
'''

RESPONSE = '''
"""Responses that exaggerate the estimate."""

from typing import ClassVar

import jax.numpy as jnp

from astonish.core.numbers import POSITIVE, Domain
from astonish.core.parameters import parameter
from astonish.core.names import ResponseKind
from astonish.responses.base import Normal, Response


class Exaggerated(Response):
    """Reports a multiple of the estimate, with noise."""

    factor: float = parameter(1.0, POSITIVE, (0.5, 2.0), "by how much the estimate is exaggerated")
    spread: float = parameter(1.0, POSITIVE, (0.01, 0.3), "standard deviation of responses", fact="response_noise")
    name: ClassVar[str] = "exaggerated"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("factor", "spread")
    kind: ClassVar[str] = "estimate"

    def distribution(self, given):
        mean = self.factor * given.estimate
        return Normal(mean, jnp.broadcast_to(jnp.asarray(self.spread, mean.dtype), mean.shape))
'''

PROGRAM = r"""
import json, runpy, sys
from pathlib import Path
import numpy as np
from pandas import DataFrame, read_csv
from typer.testing import CliRunner
from astonish.cli.app import app
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES

where, root = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(root / "docs" / "extensions"))
sys.argv = ["astonish"]
rng = np.random.default_rng(1)
people = []
for who, speed in (("a", 0.3), ("b", 0.7), ("c", 0.5)):
    xs = rng.poisson(4.0, 60).astype(float)
    fast = slow = 5.0
    for x in xs:
        fast, slow = (1 - speed) * fast + speed * x, (1 - 0.1 * speed) * slow + 0.1 * speed * x
        people.append({"who": who, "x": x, "y": 0.5 * (fast + slow) + rng.normal(0, 0.2)})
DataFrame(people).to_csv(where / "trials.csv", index=False)
COLUMNS = [str(where / "trials.csv"), "--outcome", "x", "--subject", "who"]
ANSWERS = ["--response", "y", "--responded", "after"]


def astonish(*words):
    done = CliRunner().invoke(app, list(map(str, words)), terminal_width=300)
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output


found = {}
"""

LEARNER_PROGRAM = (
    PROGRAM
    + r'''
found["listed"] = astonish("learners", "two-speeds")
for name in ("two-speeds", f"{where / 'mine.py'}:TwoSpeeds", "mine:TwoSpeeds"):
    astonish("surprise", *COLUMNS, "--learner", name, "--out", where / "out.csv")
    assert "learning_rate" in read_csv(where / "out.csv")
    astonish("fit", *COLUMNS, *ANSWERS, "--learner", name, "--starts", 2, "--free-running", "--out", where / "fit")
    table = read_csv(where / "fit" / "parameters.csv")
found["speeds"] = table[table.parameter == "speed"].value.round(1).tolist()
astonish("compare", *COLUMNS, *ANSWERS, "--learner", "delta", "--learner", "mine:TwoSpeeds:speed", "--starts", 2,
         "--out", where / "compared")
astonish("recover", *COLUMNS, *ANSWERS, "--learner", "two-speeds", "--participants", 4, "--out", where / "recovered")
found["recovered"] = sorted(set(read_csv(next((where / "recovered").glob("recovery-*.csv"))).parameter))
(where / "study.toml").write_text(f"""
[study]
kind = "gaussian"
episodes = 2
steps = 50
[[learner]]
name = "two-speeds"
speed = [0.2, 0.8]
[[learner]]
name = "{where / 'mine.py'}:TwoSpeeds"
""")
astonish("sweep", where / "study.toml", "--out", where / "swept")
found["swept"] = read_csv(where / "swept" / "summary.csv").setting.tolist()

from astonish import Detector, run
from astonish.page.data import DataTab
from astonish.page.worlds import GaussianTab
from astonish.testing import check_learner

learner = LEARNERS.find("two-speeds")()
check_learner(learner, [0.1, 0.4, -0.2, 3.0, 0.2])
found["alarm"] = bool(Detector.simulated(learner, false_alarm_rate=0.01, burn_in=5).alarms([0.0] * 20 + [50.0])[-1])
tab = GaussianTab()
found["slider"] = tab.controls()["more"]["speed"]
found["answered"] = sorted(tab.answer({"learners": ["two-speeds"], "speed": 0.5})["learners"])
found["set"] = DataTab().controls()["parameters"]["continuous"]["two-speeds"]

from catalogue import rows

found["documented"] = [row for row in rows("learners") if "how fast the faster half follows" in row]
print(json.dumps(found))
'''
)

FAMILY_PROGRAM = (
    PROGRAM
    + r"""
found["listed"] = astonish("learners", "geometric")
assert {FAMILIES.find(name).name for name in ("geometric", "mine:Geometric")} == {"geometric"}
astonish("surprise", *COLUMNS, "--learner", "leaky", "--family", f"{where / 'mine.py'}:Geometric", "--measure",
         "confidence_corrected", "--out", where / "out.csv")
found["surprise"] = float(read_csv(where / "out.csv").confidence_corrected.min())
LEAKY = ["--learner", "leaky", "--family", "geometric", "--response-model", "readout"]
astonish("fit", *COLUMNS, *ANSWERS, *LEAKY, "--starts", 2, "--out", where / "fit")
found["fitted"] = sorted(set(read_csv(where / "fit" / "parameters.csv").parameter))
astonish("recover", *COLUMNS, *ANSWERS, *LEAKY, "--participants", 4, "--out", where / "recovered")

from astonish import Detector, MessagePassing
from astonish.page.lab import LabTab
from astonish.testing import check_family

family = FAMILIES.find("geometric")()
check_family(family, [0, 1, 7])
learner = MessagePassing(family, hazard=0.02)
found["alarm"] = bool(Detector.simulated(learner, 0.01, burn_in=5).alarms([0] * 40 + [60])[-1])
tab = LabTab()
found["slider"] = tab.controls()["families"]["geometric"]["sliders"]["failures"]

from catalogue import rows

found["documented"] = [row for row in rows("families") if "failures that come first" in row]
print(json.dumps(found))
"""
)

RESPONSE_PROGRAM = (
    PROGRAM
    + r"""
found["listed"] = astonish("learners", "exaggerated")
for name in ("exaggerated", f"{where / 'mine.py'}:Exaggerated", "mine:Exaggerated"):
    astonish("fit", *COLUMNS, *ANSWERS, "--learner", "delta", "--response-model", name, "--starts", 2, "--out",
             where / "fit")
found["fitted"] = sorted(set(read_csv(where / "fit" / "parameters.csv").parameter))
astonish("recover", *COLUMNS, *ANSWERS, "--learner", "delta", "--response-model", "exaggerated", "--participants", 4,
         "--out", where / "recovered")

from catalogue import rows

found["documented"] = [row for row in rows("responses") if "by how much the estimate is exaggerated" in row]
print(json.dumps(found))
"""
)


SUBCLASS = """
from astonish import Delta


class Mine(Delta):
    pass
"""

FOUR_METHODS = """
from typing import ClassVar

from astonish.core.names import NUMBERS
from astonish.core.numbers import Domain
from astonish.core.parameters import parameter
from astonish.learners.base import Learner, StepInfo


class Mine(Learner):
    learning_rate: float = parameter(0.1, Domain(0.0, 1.0), (0.05, 0.95), "share of the error")
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    samples: ClassVar[Domain] = Domain()

    def init(self):
        return 0.0

    def step(self, state, x):
        return state + self.learning_rate * (x - state), StepInfo(abs(x - state), self.learning_rate)

    def estimate(self, state):
        return state
"""

OWN_PROGRAM = (
    PROGRAM
    + r'''
from mine import Mine
from astonish import Bank, Stream, run
from astonish.page.data import DataTab
from astonish.page.worlds import GaussianTab

xs, learner = [1.0, None, -2.0, 3.0], Mine()
found["run"] = run(learner, xs).estimate.tolist()
for engine in ("xla", "native"):
    stream, bank = Stream(learner, engine=engine), Bank(learner, capacity=2, engine=engine)
    found[f"stream, {engine}"] = [stream.update(x).estimate for x in xs]
    found[f"bank, {engine}"] = [float(bank.update(["a"], [x]).estimate[0]) for x in xs]
astonish("fit", *COLUMNS, *ANSWERS, "--learner", f"{where / 'mine.py'}:Mine:learning_rate", "--starts", 2,
         "--free-running", "--out", where / "fit")
found["fitted"] = sorted(set(read_csv(where / "fit" / "parameters.csv").parameter))
(where / "study.toml").write_text(
    f"""
[study]
kind = "gaussian"
episodes = 2
steps = 9
[[learner]]
name = "{where / 'mine.py'}:Mine"
learning_rate = [0.2, 0.8]
"""
)
astonish("sweep", where / "study.toml", "--out", where / "swept")
found["swept"] = len(read_csv(where / "swept" / "summary.csv"))
found["page"] = sorted(GaussianTab().answer({"learners": ["mine"]})["learners"])
found["set"] = DataTab().controls()["parameters"]["continuous"]["mine"]["learning_rate"]
print(json.dumps(found))
'''
)


def found_by(tmp_path: Path, source: str, group: str, value: str, program: str) -> dict[str, object]:
    """What a program finds of a class in a file, which a package announces."""
    (tmp_path / "mine.py").write_text(source)
    about = tmp_path / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[astonish.{group}]\n{value} = mine:{_class(source)}\n")
    environment = _with_path(tmp_path)
    command = [sys.executable, "-c", program, str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    helped = [sys.executable, "-m", "astonish", "fit", "--help"]
    listing = subprocess.run(helped, capture_output=True, text=True, env=environment, check=True).stdout
    return {"help": listing, **json.loads(done.stdout.splitlines()[-1])}


def _with_path(folder: Path) -> dict[str, str]:
    """An environment in which Python looks into this folder first."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def _class(source: str) -> str:
    return source.rpartition("\nclass ")[2].split("(")[0]


def test_a_learner_is_one_file(tmp_path: Path) -> None:
    found = found_by(tmp_path, LEARNER, "learners", "two-speeds", LEARNER_PROGRAM)
    assert "two-speeds" in str(found["help"])
    assert "speed = 0.6: how fast the faster half follows" in str(found["listed"])
    assert found["speeds"] == pytest.approx([0.3, 0.7, 0.5], abs=0.15)
    assert found["recovered"] == ["noise", "speed"]
    assert [name.split("/")[1:3] for name in found["swept"]] == [  # type: ignore[attr-defined]
        ["two-speeds", "speed=0.2"],
        ["two-speeds", "speed=0.8"],
        ["TwoSpeeds", "hazard=0.066"],
    ]
    assert found["alarm"]
    slider = found["slider"]
    assert isinstance(slider, dict)
    assert (slider["low"], slider["high"], slider["default"]) == (0.1, 0.9, 0.6)
    assert "how fast the faster half follows" in slider["label"]
    assert found["answered"] == ["two-speeds"]
    assert found["set"] == {"speed": 0.6, "start": None}
    assert found["documented"] == [["two-speeds", "speed", "0.6", "0.1 to 0.9", "how fast the faster half follows"]]


@pytest.mark.parametrize("source", [SUBCLASS, FOUR_METHODS], ids=["subclass", "four methods"])
def test_a_class_of_ones_own_works_wherever_learners_do(source: str, tmp_path: Path) -> None:
    found = found_by(tmp_path, source, "learners", "mine", OWN_PROGRAM)
    for way in ("run", "stream, xla", "stream, native", "bank, xla", "bank, native"):
        assert found[way] == pytest.approx([0.1, 0.1, -0.11, 0.201], rel=1e-12)
    assert "learning_rate" in found["fitted"]  # type: ignore[operator]
    assert (found["swept"], found["page"], found["set"]) == (2, ["mine"], 0.1)


def test_a_family_of_beliefs_is_one_file(tmp_path: Path) -> None:
    found = found_by(tmp_path, FAMILY, "families", "geometric", FAMILY_PROGRAM)
    assert "geometric" in str(found["help"])
    assert "failures = 0: failures that come first" in str(found["listed"])
    assert float(str(found["surprise"])) >= 0
    assert found["fitted"] == ["keep", "noise", "offset", "slope"]
    assert found["alarm"]
    slider = found["slider"]
    assert isinstance(slider, dict)
    assert (slider["low"], slider["high"]) == (0.0, 10.0)
    assert len(found["documented"]) == 1  # type: ignore[arg-type]


def test_a_response_model_is_one_file(tmp_path: Path) -> None:
    found = found_by(tmp_path, RESPONSE, "responses", "exaggerated", RESPONSE_PROGRAM)
    assert "exaggerated" in str(found["help"])
    assert "factor = 1: by how much the estimate is exaggerated" in str(found["listed"])
    assert found["fitted"] == ["factor", "learning_rate", "spread"]
    assert len(found["documented"]) == 1  # type: ignore[arg-type]


IN_THE_TREE = """
import sys
from astonish.models.registry import CATALOGUES
from astonish.people.analysis.requests import FITTED_HELP

catalogue = next(each for each in CATALOGUES if each.room == f"astonish.{sys.argv[1]}")
assert catalogue.names[0] == "new-name" and "jax" not in sys.modules
assert (catalogue.what == "learner") == ("new-name" in FITTED_HELP)
kind = catalogue.find("new-name")
assert kind is getattr(__import__(catalogue.room, fromlist=[sys.argv[2]]), sys.argv[2]), kind
assert list(catalogue.classes())[0] == "new-name" in catalogue.names_for(kind.takes[0])
"""


@pytest.mark.parametrize(("room", "source"), [("learners", LEARNER), ("beliefs", FAMILY), ("responses", RESPONSE)])
def test_in_the_library_it_is_one_file_and_one_line(room: str, source: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "astonish", tmp_path / "astonish", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "astonish" / room / "mine.py").write_text(source)
    table, name = tmp_path / "astonish" / room / "__init__.py", _class(source)
    line = f"    from .mine import {name} as {name}  # new-name"
    table.write_text(table.read_text().replace("\n    from .", f"\n{line}\n    from .", 1))
    command = [sys.executable, "-c", IN_THE_TREE, room, name]
    done = subprocess.run(command, capture_output=True, text=True, env=_with_path(tmp_path), check=False)
    assert done.returncode == 0, done.stderr[-3000:]
