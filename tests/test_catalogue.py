"""Does a name give the class that is meant, and the learner, with what the data suggest where nothing was set?"""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from astonish import Beta, Delta, Dirichlet, Gaussian, Nassar2012, PearceHall, PerContext, Rows, Smile, VarSmile, scan
from astonish.core.samples import read_series
from astonish.models import parameters as assembling
from astonish.models.parameters import described, find_parameter, in_words, parameters
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES, find_any
from astonish.people.fit import Estimate, Model
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import choose
from astonish.responses import Softmax

BELIEVERS = ("smile", "varsmile", "bayes", "leaky", "message-passing", "particle-filter", "delta-mixture")
TABLE = pd.DataFrame({"x": [2.0, 4.0, 1.0, None, 12.0, 6.0, 7.0], "run": [1, 1, 1, 1, 1, 2, 2], "same": 5.0})
TABLE = TABLE.assign(coin=[0, 1, 1, 0, 1, 1, 0], card=list("abcabca"), next=list("bcabcaa"))
TABLE = TABLE.assign(sigma=[1.0, 1, 1, 2, 2, 2, 2])


def _trials(outcome: Any = "x", **columns: Any) -> Trials:
    return read_trials(TABLE, Columns(outcome, **columns))


KINDS = {"continuous": _trials(), "binary": _trials("coin"), "categorical": _trials("card")}
KINDS["transitions"] = _trials(("card", "next"))
KINDS["circular"] = read_trials(TABLE, Columns("x"), kind="circular")


def test_learners_are_listed_by_what_they_take() -> None:
    for name in BELIEVERS:
        assert LEARNERS.find(name).takes == ("continuous", "binary", "categorical", "transitions", "circular")
    assert LEARNERS.names_for("categorical") == LEARNERS.names_for("transitions") == BELIEVERS
    assert LEARNERS.find("delta").takes == LEARNERS.find("pearce-hall").takes == ("continuous", "binary")


@pytest.mark.parametrize(("kind", "family"), [("binary", Beta()), ("categorical", Dirichlet(3))])
def test_beliefs_are_about_the_kind_of_outcome(kind: str, family: Any) -> None:
    for name in BELIEVERS:
        learner: Any = choose(name, KINDS[kind]).learner
        assert type(learner) is LEARNERS.find(name)
        assert learner.family == family


def test_transitions_have_a_belief_for_every_context() -> None:
    learner: Any = choose("varsmile", KINDS["transitions"], {"m": 0.3, "alpha": 2.0}, contexts="apart").learner
    assert isinstance(learner, PerContext)
    assert learner.contexts == 3
    assert (learner.learner.family, learner.learner.m) == (Dirichlet(3), 0.3)
    assert learner.learner.prior.alpha.tolist() == [2.0, 2.0, 2.0]


def test_transitions_are_learned_together_by_learners_that_forget() -> None:
    learner: Any = choose("varsmile", KINDS["transitions"], {"m": 0.3, "alpha": 2.0}).learner
    assert type(learner) is VarSmile
    assert (learner.family, learner.m) == (Rows(Dirichlet(3), 3), 0.3)
    assert learner.prior.rows.alpha.tolist() == [[2.0, 2.0, 2.0]] * 3
    together = {name for name in BELIEVERS if LEARNERS.find(name).usual_contexts == "together"}
    assert together == {"leaky", "message-passing", "varsmile", "particle-filter"}
    for name in BELIEVERS:
        chosen = choose(name, KINDS["transitions"])
        assert isinstance(chosen.learner, PerContext) == (name not in together)
        how = "together" if name in together else "apart"
        assert chosen.assumed[-1].startswith(f"contexts {how}: ")
        same = choose(name, KINDS["transitions"], contexts=how)  # type: ignore[arg-type]
        assert same.code == chosen.code
        assert not any("contexts" in sentence for sentence in same.assumed)


def test_smile_together_refers_to_the_first_belief() -> None:
    chosen = choose("smile", KINDS["transitions"], {"m": 0.2}, contexts="together")
    rows = "Rows(Dirichlet(size=3), 3)"
    assert chosen.code == f"Smile({rows}, m=0.2, prior={rows}.prior(), reference={rows}.prior())"
    assert Rows in chosen.classes


def test_contexts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="outcomes that are binary have no contexts; leave out contexts together"):
        choose("leaky", KINDS["binary"], contexts="together")
    with pytest.raises(ValueError, match=r"no way to learn about contexts 'togther'; did you mean 'together'\?"):
        choose("leaky", KINDS["transitions"], contexts="togther")  # type: ignore[arg-type]


def test_numbers_are_followed_where_they_make_sense() -> None:
    assert choose("delta", KINDS["binary"]).learner == Delta(0.1, 0.5)
    assert choose("pearce-hall", KINDS["binary"]).learner == PearceHall(start=0.5)
    for kind in ("categorical", "transitions", "binary"):
        for name in set(LEARNERS.by_name()) - set(LEARNERS.names_for(kind)):
            with pytest.raises(ValueError, match=f"the learner {name} does not take {kind} data; give one of smile"):
                choose(name, KINDS[kind])


def test_what_is_not_set_is_taken_from_the_data_and_said() -> None:
    choice = choose("varsmile", _trials())
    learner: Any = choice.learner
    assert float(learner.family.noise) == pytest.approx(np.median([2, 3, 6, 1]) / (0.6745 * np.sqrt(2)))  # no gaps
    assert float(learner.prior.mean) == 6.5
    assert float(learner.prior.std) == pytest.approx(11 / np.sqrt(12))
    assert [sentence.split(" = ")[0] for sentence in choice.assumed] == ["noise", "mean", "std"]
    assert choice.assumed[1] == "mean = 6.5, the middle of the range of outcomes"
    blocked: Any = choose("kalman", _trials(block="run")).learner
    assert blocked.noise == pytest.approx(np.median([2, 3, 1]) / (0.6745 * np.sqrt(2)))  # nor between blocks
    assert blocked.drift == pytest.approx(0.1 * blocked.noise)
    smile: Any = choose("smile", _trials(), {"noise": 3.0}).learner
    assert (float(smile.prior.mean), float(smile.prior.std)) == (6.5, pytest.approx(3.0))


def test_what_is_set_is_heeded() -> None:
    settings = {"m": 0.4, "noise": 2.0, "mean": 1.0, "std": 5.0}
    choice = choose("varsmile", _trials(), settings)
    learner: Any = choice.learner
    assert choice.assumed == ()
    assert (learner.m, learner.family) == (0.4, Gaussian(2.0))
    assert learner.prior == Gaussian(2.0).prior(1.0, 5.0)
    assert choose("nassar2012", _trials(), {"noise": 1, "low": 0, "high": 20, "start": 3}).learner == Nassar2012(
        1.0, low=0.0, high=20.0, start=3.0
    )
    assert choose("message-passing", KINDS["binary"], {"hypotheses": 7.0}).learner.hypotheses == 7  # type: ignore[attr-defined]
    assert choose("leaky", KINDS["binary"], {"ones": 3, "keep": 0.5}).learner.prior.ones == 3  # type: ignore[attr-defined]


def test_a_word_means_the_same_before_and_after_the_learner_is_made() -> None:
    settings = {"learner.m": 0.4, "family.noise": 2.0, "learner.mean": 1.0, "std": 5.0, "reference.std": 9.0}
    choice = choose("smile", _trials(), settings)
    learner: Any = choice.learner
    assert (learner.m, learner.family, learner.prior) == (0.4, Gaussian(2.0), Gaussian(2.0).prior(1.0, 5.0))
    assert learner.reference == Gaussian(2.0).prior(1.0, 9.0)
    assert list(choice.settings) == ["m", "noise", "mean", "std", "reference.mean", "reference.std"]
    specification = assembling.Specification.of("smile", assembling.Outcomes("continuous", lambda *_: None))
    model = parameters(Model(learner, Estimate()))
    for word in ("m", "family.noise", "learner.noise", "learner.m"):
        assert find_parameter(specification.parameters, word).path == find_parameter(model, word).path


def test_noise_that_a_column_gives_is_not_estimated() -> None:
    choice = choose("varsmile", _trials(given={"noise": "sigma"}))
    learner: Any = choice.learner
    assert float(learner.family.noise) == 2.0
    assert choice.assumed[0] == "noise = 2, the median of sigma, which gives it trial by trial"


@pytest.mark.parametrize("kind", KINDS)
def test_every_learner_takes_the_outcomes_that_it_is_for_and_its_code_makes_it(kind: str) -> None:
    trials = KINDS[kind]
    outcomes = tuple(part[0] for part in trials.outcomes) if kind == "transitions" else trials.outcomes[0]
    for name in LEARNERS.names_for(kind):
        learner = choose(name, trials).learner
        if kind == LEARNERS.find(name).takes[0]:  # others may stand around it
            assert type(learner) is LEARNERS.find(name)
        read_series(learner.samples, outcomes)
        trace = jax.eval_shape(scan, learner, outcomes)
        assert trace.estimate.shape == ((7,) if kind in ("continuous", "binary", "circular") else (7, 3))
        made = choose(name, trials)
        scope: dict[str, Any] = {}
        exec("\n".join(assembling.imports(made.classes)), scope)
        same = eval(made.code, scope)
        assert jax.tree.structure(same) == jax.tree.structure(made.learner)
        np.testing.assert_array_equal(*(np.array(jax.tree.leaves(each)[:1]) for each in (same, made.learner)))


@pytest.mark.parametrize(
    ("name", "outcome", "settings", "sentence"),
    [
        ("smil", "x", {}, r"there is no learner 'smil'; did you mean 'smile'\? Known are smile, varsmile"),
        ("zebra", "x", {}, r"there is no learner 'zebra'; known are smile, varsmile"),
        ("smile", "x", {"rate": 0.1}, "there is no parameter 'rate' of smile; known are m, noise, mean, std"),
        ("smile", "coin", {"noise": 0.1}, "there is no parameter 'noise' of smile; known are m, ones, zeros"),
        ("nassar2012", "x", {"hasard": 0.1}, r"no parameter 'hasard' of nassar2012; did you mean 'hazard'\? Known are"),
        ("smile", "x", {"m": -1.0}, "Smile's m = -1 is not allowed; give a finite number of at least 0"),
        ("smile", "x", {"noise": 0.0}, "noise = 0 is not allowed; give a finite number above 0"),
        ("message-passing", "x", {"hypotheses": 2.5}, "hypotheses = 2.5 is not allowed; give a whole number"),
        ("smile", "same", {}, "noise cannot be estimated from outcomes that hardly differ from trial to trial; set n"),
        ("varsmile", "same", {"noise": 1.0}, "std cannot be estimated from outcomes that are all 5; set it"),
        ("pearce-hall", "same", {}, "scale cannot be estimated from outcomes that are all 5; set it"),
        ("nassar2010", "same", {"noise": 1.0}, "low = 5 and high = 5 leave no room"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, outcome: str, settings: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        choose(name, _trials(outcome), settings)


@pytest.mark.parametrize("name", FAMILIES.names_for("continuous"))
def test_a_learner_runs_on_the_family_that_is_named(name: str) -> None:
    learner: Any = choose("smile", _trials(), family=name).learner
    assert type(learner.family) is FAMILIES.find(name)
    assert (learner.reference is None) == learner.family.proper_likelihood


def test_a_family_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="the family beta does not take continuous data; give one of gaussian"):
        choose("smile", _trials(), family="beta")
    with pytest.raises(ValueError, match="Delta runs on no family of beliefs; leave out the family gaussian"):
        choose("delta", _trials(), family="gaussian")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:Mine", "there is no file 'nowhere.py'; give file.py:Class, or module:Class"),
        ("no.such.module:Mine", "'no.such.module' could not be imported .*; give file.py:Class, or module:Class"),
        ("astonish.learners:Mine", "astonish.learners has no 'Mine'; give the name of a class in it"),
        ("astonish.beliefs:Beta", "Beta is no learner; give a class derived from astonish.learners.base.Learner"),
        ("math:sqrt", "math:sqrt is no learner; give a class derived from astonish.learners.base.Learner"),
    ],
)
def test_a_place_without_a_learner_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        LEARNERS.find(name)


PLUGIN = """
from typing import ClassVar

from astonish import Delta
from astonish.core.numbers import pytree_dataclass

@pytree_dataclass
class {0}(Delta):
    name: ClassVar[str] = "{1}"
    aliases: ClassVar[tuple[str, ...]] = ({2})
"""


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("Mine = 3", "ValueError: plugin:Mine is no learner; give a class derived from"),
        (PLUGIN.format("Other", "other", ""), "AttributeError: module 'plugin' has no attribute 'Mine'"),
        (PLUGIN.format("Mine", "smile", ""), "ValueError: the name 'smile' is taken by astonish.learners.smile.Smile"),
        (PLUGIN.format("Mine", "reduced-bayes", ""), "ValueError: the name 'reduced-bayes' is taken by"),
        (PLUGIN.format("Mine", "mine", "'delta',"), "ValueError: the name 'delta' is taken by"),
    ],
)
def test_what_another_package_spoils_is_left_out_and_said_once(
    source: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = LEARNERS.by_name()
    _announce(tmp_path, monkeypatch, source, "spoiled = plugin:Mine")
    with pytest.warns(UserWarning, match="the learner 'spoiled' of another package is left out: plugin:Mine") as caught:
        assert LEARNERS.by_name() == before
    (warning,) = caught
    assert wrong in str(warning.message)
    assert str(warning.message).endswith("; mend that package, or remove it")
    assert LEARNERS.find("smile") is Smile  # which would raise, were it said again


def test_what_another_package_announces_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = LEARNERS.by_name()
    _announce(tmp_path, monkeypatch, PLUGIN.format("Mine", "mine", "'ours',"), "a = plugin:Mine\nb = plugin:Mine")
    assert [name for name in LEARNERS.by_name() if name not in before] == ["mine", "ours"]


def _announce(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, lines: str) -> None:
    """A package with this source, installed where Python looks first."""
    (folder / "plugin.py").write_text(source)
    about = folder / "plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[astonish.learners]\n{lines}\n")
    monkeypatch.delitem(sys.modules, "plugin", raising=False)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.parametrize("source", ["1 / 0", "raise KeyError('x')", "def"])
def test_a_module_that_fails_is_refused_in_a_sentence(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    sentence = r"'failing' could not be imported \((ZeroDivision|Key|Syntax)Error: .*\); give file.py:Class"
    with pytest.raises(ValueError, match=sentence):
        LEARNERS.find("failing:Mine")


def test_a_class_is_found_by_its_name_and_by_its_place() -> None:
    assert LEARNERS.find("reduced-bayes") is LEARNERS.find("astonish.learners:Nassar2012") is Nassar2012
    for name, kind in (("smile", Smile), ("beta", Beta), ("softmax", Softmax), ("astonish.beliefs:Beta", Beta)):
        assert find_any(name) is kind
    with pytest.raises(ValueError, match=r"no learner, family or response model 'betta'; did you mean 'beta'\?"):
        find_any("betta")


def test_everything_is_described() -> None:
    headings = [heading for heading, _ in described()]
    every = [each.classes().values() for each in (LEARNERS, FAMILIES, RESPONSES)]
    assert len(headings) == sum(map(len, every))
    assert "nassar2012, reduced-bayes" in headings
    ((_, lines),) = described(["leaky"])
    assert lines[1:] == [
        "takes: continuous, binary, categorical, transitions, circular",
        "keep = 0.9: how much of the past still counts after each sample (a finite number from 0 to 1; usually 0.5 to "
        "0.99)",
    ]
    about = in_words(parameters(Delta)["start"].known)
    assert (about["default"], about["usual"]) == ("from the data", "0 to 1, for outcomes from 0 to 1")
