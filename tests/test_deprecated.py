"""Do old public names still work, with a warning that says the new one, and does the changelog list them all?"""

import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame

from astonish import (
    Bank,
    Delta,
    Detector,
    Gaussian,
    MessagePassing,
    OnlineEM,
    PerContext,
    Smile,
    Stream,
    deprecated,
    run,
)
from astonish.assemble import choose
from astonish.cli.app import _OLD_OPTIONS
from astonish.domain import resolve
from astonish.fit import Model, fit
from astonish.fit.likelihood import participant_data
from astonish.interop.sklearn import SurpriseRegressor
from astonish.learners import Nassar2012
from astonish.responses import Estimate
from astonish.study.kinds import read_study
from astonish.trials import Columns, read_trials

CHANGELOG = (Path(__file__).parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("old", deprecated.MODULES)
def test_old_modules(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=re.escape(f"{old} is now {deprecated.MODULES[old]}")):
        module = import_module(old)
    assert module is import_module(deprecated.MODULES[old])


@pytest.mark.parametrize("old", deprecated.NAMES)
def test_old_names(old: str) -> None:
    module, _, name = old.rpartition(".")
    place, new = deprecated.NAMES[old]
    with pytest.warns(DeprecationWarning, match=re.escape(f"{old} is now {place}.{new}")):
        found = getattr(import_module(module), name)
    assert found is getattr(import_module(place), new)


def test_names_that_never_were_are_refused() -> None:
    for module in ("astonish", "astonish.fit", "astonish.study", "astonish.catalogue"):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            _ = import_module(module).nonsense


def test_old_fields() -> None:
    history = run(MessagePassing(Gaussian()), [0.1, 0.2])
    step = Stream(Delta(0.5)).update(1.0)
    for old, new, thing in (
        ("rate", "learning_rate", history),
        ("change", "change_probability", history),
        ("rate", "learning_rate", step),
        ("rate", "learning_rate", Bank(Delta(0.5), 2).update([1], [1.0])),
        ("rate", "learning_rate", Delta(0.5)),
        ("rate", "learning_rate", OnlineEM(3)),
        ("rate_", "learning_rate_", SurpriseRegressor().fit([[0.0], [1.0]], [0.0, 1.0])),
    ):
        with pytest.warns(DeprecationWarning, match=f"{type(thing).__name__}.{old} is now {new}"):
            found = getattr(thing, old)
        np.testing.assert_array_equal(found, getattr(thing, new))


@pytest.mark.parametrize(
    ("call", "old", "new"),
    [
        (lambda: Delta(rate=0.3) == Delta(0.3), "rate", "learning_rate"),
        (lambda: OnlineEM(3, rate=0.3) == OnlineEM(3, learning_rate=0.3), "rate", "learning_rate"),
        (lambda: Nassar2012(uncertainty=0.3).first_uncertainty == 0.3, "uncertainty", "first_uncertainty"),
        (lambda: Bank(Smile(Gaussian()), 3, forgets=True).evict, "forgets", "evict"),
        (
            lambda: Detector.simulated(Smile(Gaussian()), rate=0.1, burn_in=1, cooldown=1),
            "rate",
            "false_alarm_rate",
        ),
    ],
)
def test_old_arguments(call: Any, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"\({old}=\.\.\.\) is now {new}=\.\.\."):
        assert call()


@pytest.mark.parametrize(
    ("thing", "old", "path"),
    [
        (Delta(0.3), "rate", "learning_rate"),
        (OnlineEM(3), "rate", "learning_rate"),
        (Nassar2012(), "uncertainty", "first_uncertainty"),
        (Model(Delta(0.3), Estimate(1.0)), "rate", "learner.learning_rate"),
        (Model(Delta(0.3), Estimate(1.0)), "learner.rate", "learner.learning_rate"),
        (PerContext(Nassar2012(), 2), "uncertainty", "learner.first_uncertainty"),
    ],
)
def test_old_names_of_parameters(thing: Any, old: str, path: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now {path}"):
        assert resolve(thing, old) == resolve(thing, path)


@pytest.mark.parametrize("old", ["noise", "nonsense", "learner.uncertainty"])
def test_only_old_names_of_the_own_class_are_known(old: str) -> None:
    with pytest.raises(ValueError, match="there is no parameter"):
        resolve(Delta(0.3), old)


@pytest.mark.parametrize(("old", "new"), [("rate", "learning_rate"), ("change", "change_probability")])
def test_old_signals(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"signal='{old}' is now '{new}'"):
        assert Detector(MessagePassing(Gaussian()), 0.5, signal=old).signal == new


def test_old_names_in_a_fit() -> None:
    frame = DataFrame({"x": [0.0, 1.0, 1.0, 0.0, 1.0], "answer": [0.1, 0.2, 0.5, 0.4, 0.6], "speed": [0.1] * 5})
    model = Model(Delta(0.3), Estimate(0.1))
    trials = read_trials(frame, Columns("x", response="answer"), responds_before=False)
    with pytest.warns(DeprecationWarning, match=r"learner\.rate is now learner\.learning_rate"):
        assert fit(model, trials, free=["rate"], starts=1).space.names == ("learner.learning_rate",)
    given = read_trials(frame, Columns("x", response="answer", given={"rate": "speed"}), responds_before=False)
    with pytest.warns(DeprecationWarning, match="rate is now learning_rate"):
        assert list(participant_data(model, given).given) == ["learner.learning_rate"]


@pytest.mark.parametrize(
    ("learner", "old", "new"), [("delta", "rate", "learning_rate"), ("nassar2012", "uncertainty", "first_uncertainty")]
)
def test_old_names_in_settings(learner: str, old: str, new: str, tmp_path: Path) -> None:
    trials = read_trials(DataFrame({"x": [0.0, 1.0, 2.5]}), Columns("x"))
    with pytest.warns(DeprecationWarning, match=rf"\({old}=\.\.\.\) is now {new}=\.\.\."):
        chosen = choose(learner, trials, {old: 0.3})
    assert chosen.learner == choose(learner, trials, {new: 0.3}).learner
    file = tmp_path / "study.toml"
    file.write_text(f'[study]\nkind = "gaussian"\n[[learner]]\nname = "{learner}"\n{old} = 0.3\n', encoding="utf-8")
    with pytest.warns(DeprecationWarning, match=rf"\({old}=\.\.\.\) is now {new}=\.\.\."):
        assert len(read_study(file).settings) == 1


def test_old_names_in_the_command(tmp_path: Path) -> None:
    table = DataFrame({"x": [0.0, 1.0, 1.0, 0.0], "answer": [0.1, 0.2, 0.5, 0.4]})
    table.to_csv(tmp_path / "trials.csv", index=False)
    words = ["fit", "trials.csv", "--outcome", "x", "--response", "answer", "--responded", "after", "--out", "found"]
    program = "from astonish.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words, "--learner", "delta:rate", "--set", "rate=0.3", "--starts", "1"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--set(rate=...) is now learning_rate=...; the old name goes with the next release" in done.stderr
    assert "rate is now learning_rate" in done.stderr


def test_old_method() -> None:
    learner = MessagePassing(Gaussian())
    state = run(learner, [0.1, 0.2]).state
    with pytest.warns(
        DeprecationWarning, match=r"run_lengths\(state, longest\) is now last_change\(state\)\.run_lengths"
    ):
        found = learner.run_lengths(state, 3)
    np.testing.assert_array_equal(found, learner.last_change(state).run_lengths(3))


def test_nothing_in_the_library_uses_old_names() -> None:
    """Importing every module warns of nothing (warnings are errors in all other tests)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in sorted((Path(deprecated.__file__).parent).rglob("*.py")):
            parts = path.relative_to(Path(deprecated.__file__).parents[1]).with_suffix("").parts
            if "interop" not in parts and path.name != "__main__.py":
                import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


@pytest.mark.parametrize(("old", "new"), _OLD_OPTIONS.items())
def test_old_options(old: str, new: str) -> None:
    program = "import sys; from astonish.cli.app import _new_option; print(_new_option(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, f"{old}=x"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{new}=x"
    assert done.stderr.startswith(f"astonish: {old} is now {new};")


@pytest.mark.parametrize("old", [*deprecated.MODULES, *deprecated.NAMES, *_OLD_OPTIONS])
def test_the_changelog_lists_every_old_name(old: str) -> None:
    assert f"`{old}`" in CHANGELOG
