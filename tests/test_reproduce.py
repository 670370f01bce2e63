"""Does `astonish reproduce` write the same files for the same seed, go on where it stopped, and explain what is wrong?

Run as a program, this file is the command with two small figures of its own in place of the paper's. It notes in a log
which tables it computes, and waits at one of them, if asked to, until there is a file "LOG.go".
"""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from html.parser import HTMLParser
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame
from PIL import Image
from typer.testing import CliRunner

from astonish import __version__
from astonish.cli.app import app, main
from astonish.io.files import locked
from astonish.paper import figure as paper
from astonish.paper.figure import FAILS, HOLDS, IN_PART, Claim, Figure, FigureResult, RunSettings, Tables, html
from astonish.sweep import study

ODD = "a < b & *c* | \"d\" [e](f) <script>alert('g')</script> `h` $i$ j_k_l ~m~ \\n"
Note = Callable[[str], Any]


def _figure(name: str, note: Note, says: str) -> Figure:
    """Two tables of noise, a line, and a claim that the noise decides."""
    stem = f"figure{name}" if name.isdigit() else name
    sides = ("left", "right")

    def noise(side: str, run: RunSettings) -> DataFrame:
        note(f"{stem}_{side}")
        key = [run.seed, len(name), sides.index(side)]
        return DataFrame({"y": np.random.default_rng(key).normal(size=5 if run.quick else 50)})

    def draw(tables: Tables) -> Drawing:
        drawing = Drawing(figsize=(3, 2))
        axes = drawing.subplots()
        for side in sides:
            axes.plot(tables[side]["y"], label=side)
        axes.set_title("greek $\\gamma$")
        axes.legend()
        return drawing

    def claims(tables: Tables) -> list[Claim]:
        mean = tables["left"]["y"].mean()
        small, large = (HOLDS if holds else FAILS for holds in (mean < 100, mean > 9))
        return [
            Claim("a.left", f"{stem}, left", f"{says} is small", "0 & little", f"{mean:.6f}", small, "because a < b"),
            Claim("a.right", f"{stem}, right", f"{says} is [large]", "> 9", f"{mean:.6f}", large, says),
        ]

    simulations = {side: partial(noise, side) for side in sides}
    return Figure(name, f"title of {name} & co", f"caption of {name}: {says}", simulations, draw, claims)


def _two(note: Note = lambda _: None) -> list[Figure]:
    return [_figure("3", note, "noise"), _figure("ceiling", note, ODD)]


def _contents(folder: Path) -> dict[str, bytes]:
    """All files but those that only lock a folder."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


ALL = ["figure3_left", "figure3_right", "ceiling_left", "ceiling_right"]
EXPECTED = {
    "figure3.png", "figure3.pdf", "ceiling.png", "ceiling.pdf", "report.html", "report.md", "claims.json",
    "request.toml", *(f"numbers/seed-1/{table}.csv" for table in ALL),
    *(f"numbers/seed-1/{stem}/results/{side}.npz" for stem in ("figure3", "ceiling") for side in ("left", "right")),
    *(f"numbers/seed-1/{stem}/manifest.json" for stem in ("figure3", "ceiling")),
}  # fmt: skip


def _replace_figures(replace: Callable[..., Any], note: Note) -> None:
    figures = {figure.name: figure for figure in _two(note)}
    replace(paper, "MODULES", dict.fromkeys(figures, ""))
    replace(paper, "paper_figure", figures.get)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paper's figures replaced; names of tables that are computed (those of a figure in any order)."""
    names: list[str] = []
    _replace_figures(monkeypatch.setattr, names.append)
    monkeypatch.setattr(study, "code", lambda: "as it is")  # whoever edits the library meanwhile
    return names


def _run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def _refused(result: Any, code: int) -> str:
    """The one line that was said, where nothing else was."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line, nothing = result.stderr.split("\n")
    assert line.startswith("astonish: ")
    assert nothing == ""
    return str(line)


# What is written


def test_a_thorough_run_takes_five_seeds_and_says_where_they_agree(computed: list[str], tmp_path: Path) -> None:
    result = _run("--out", tmp_path, "--seed", 3, "--thorough")
    assert result.exit_code == 0, result.output
    assert sorted(computed) == sorted(ALL * 5)
    folders = sorted(path.name for path in (tmp_path / "numbers").iterdir())
    assert folders == [f"thorough-seed-{seed}" for seed in range(3, 8)]
    assert "All verdicts are the same for each of 5 seeds." in result.stdout
    assert "✓ holds (5 of 5 seeds)" in (tmp_path / "report.md").read_text()
    assert "--seed 3 --thorough" in (tmp_path / "report.md").read_text()


def test_seeds_that_disagree_are_counted() -> None:
    claims = [[Claim(n, "", n, "", "", v, "") for n, v in (("a", HOLDS), ("b", verdict))] for verdict in (HOLDS, FAILS)]
    found = paper.over_seeds(claims)
    assert [claim.seeds for claim in found] == [(2, 2), (1, 2)]
    assert paper.count(found).endswith("1 verdicts are the same for each of 2 seeds.")


def test_findings_of_our_own_stand_apart() -> None:
    [result, *_] = _results()
    ours = result._replace(claims=[claim._replace(ours=True) for claim in result.claims])
    text = paper.markdown([ours, _results()[1]], QUICK)
    claims, findings = text.index("## Claims of the paper"), text.index("## Findings of our own")
    assert claims < text.index("ceiling, left") < findings < text.index("figure3, left")
    assert "Of 2 claims of the paper" in text


def test_a_run_is_quick_or_thorough(computed: list[str], tmp_path: Path) -> None:
    assert "either quick or thorough" in _refused(_run("--out", tmp_path, "--quick", "--thorough"), 2)


def test_everything_is_written_and_the_summary_names_what_does_not_hold(computed: list[str], tmp_path: Path) -> None:
    result = _run("--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert set(_contents(tmp_path)) == EXPECTED
    assert sorted(computed) == sorted(ALL)
    assert result.stderr.splitlines() == ["Figure 3: title of 3 & co", "Ceiling: title of ceiling & co"]
    assert result.stdout.splitlines() == [
        "Of 4 claims of the paper, 2 hold, 0 hold in part, 2 do not hold as stated.",
        "- does not hold as stated: noise is [large] (figure3, right)",
        f"- does not hold as stated: {ODD} is [large] (ceiling, right)",
        f"Report: {tmp_path / 'report.html'}",
    ]


def test_pictures_are_what_their_names_say(computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    with Image.open(tmp_path / "figure3.png") as picture:
        assert picture.size == (600, 400)  # 3 by 2 inches
        assert picture.info["dpi"] == pytest.approx((200, 200), abs=0.1)
    pdf = (tmp_path / "figure3.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf.replace(b" ", b"")  # fonts that print shops take
    assert b"FontFile2" in pdf


def test_the_same_seed_gives_the_same_files_and_another_seed_does_not(computed: list[str], tmp_path: Path) -> None:
    for folder, seed in [("a", "7"), ("b", "7"), ("c", "8")]:
        assert _run("--out", tmp_path / folder, "--seed", seed).exit_code == 0
    a, b, c = (_contents(tmp_path / folder) for folder in "abc")
    assert a == b
    c = {name.replace("seed-8", "seed-7"): content for name, content in c.items()}
    assert {name for name in a if a[name] == c[name]} == set()


def test_without_a_folder_it_is_figures(computed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _run("3").exit_code == 0
    assert (tmp_path / "figures" / "figure3.png").exists()


@pytest.mark.parametrize("name", ["3", "figure3", "fig3", "Figure 3", "FIG. 3"])
def test_one_figure_by_any_of_its_names(name: str, computed: list[str], tmp_path: Path) -> None:
    assert _run(name, name, "--out", tmp_path).exit_code == 0
    assert {path for path in EXPECTED if "ceiling" not in path} == set(_contents(tmp_path))
    assert sorted(computed) == ["figure3_left", "figure3_right"]
    assert "ceiling" not in (tmp_path / "report.md").read_text()


def test_finished_results_are_not_computed_again(computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    before = _contents(tmp_path)
    computed.clear()
    (tmp_path / "numbers" / "seed-1" / "ceiling_left.csv").unlink()
    assert _run("--out", tmp_path).exit_code == 0
    assert computed == []
    assert _contents(tmp_path) == before
    (tmp_path / "numbers" / "seed-1" / "ceiling" / "results" / "left.npz").unlink()
    result = _run("--out", tmp_path)
    assert result.stderr.splitlines()[2:] == ["1 of 2 settings are finished already"]
    assert computed == ["ceiling_left"]
    assert _contents(tmp_path) == before
    assert _run("3", "--out", tmp_path).stderr.splitlines() == ["Figure 3: title of 3 & co"]
    assert computed == ["ceiling_left"]


def test_two_reproductions_in_one_folder_are_one_too_many(computed: list[str], tmp_path: Path) -> None:
    with locked(tmp_path):
        line = _refused(_run("--out", tmp_path), 2)
    assert line == f"astonish: {tmp_path} is in use by another program; wait for its end, or give another folder"
    assert computed == []
    assert _contents(tmp_path) == {}
    assert _run("--out", tmp_path).exit_code == 0


@pytest.mark.parametrize("words", [("--seed", "2"), ("--quick",)])
def test_numbers_of_other_settings_are_kept_apart(words: tuple[str, ...], computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    before = _contents(tmp_path)
    assert _run("--out", tmp_path, *words).exit_code == 0
    computed.clear()
    assert _run("--out", tmp_path).exit_code == 0
    assert computed == []
    assert {name: content for name, content in _contents(tmp_path).items() if name in before} == before


def test_results_of_another_version_are_replaced_and_that_is_said_once(
    computed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(study, "code", lambda: "as it was")
        _run("--out", tmp_path)
    (tmp_path / "numbers" / "seed-1" / "figure3_left.csv").write_text("y\n0.0\n")
    computed.clear()
    result = _run("--out", tmp_path)
    again = "results of another study or of other code are computed again"
    assert result.stderr.splitlines() == ["Figure 3: title of 3 & co", again, "Ceiling: title of ceiling & co"]
    assert sorted(computed) == sorted(ALL)
    _run("--out", tmp_path / "new")
    new = _contents(tmp_path / "new")
    assert {name: content for name, content in _contents(tmp_path).items() if not name.startswith("new/")} == new


# The report


class _Page(HTMLParser):
    """What a browser would find: tags with their attributes, texts, and which tags are still open at the end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in ("meta", "img") or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


QUICK = RunSettings(seed=5, quick=True)


@cache
def _results() -> list[FigureResult]:
    return [FigureResult(f, f.claims(f.compute(QUICK)), b"\x89PNG of " + f.name.encode()) for f in _two()]


def test_the_page_shows_every_claim_as_it_was_written() -> None:
    page = _Page(html(_results(), QUICK))
    assert page.open == []
    for claim in (claim for result in _results() for claim in result.claims):
        verdict = {HOLDS: "✓ holds", FAILS: "✗ does not hold as stated"}[claim.verdict]
        for part in (f"{claim.says} ({claim.where})", claim.paper, claim.measured, verdict, claim.why):
            assert part in page.texts
    looks = [attributes["class"] for tag, attributes in page.tags if tag == "tr" and attributes]
    assert looks == ["holds", "fails"] * 2
    assert "Of 4 claims of the paper, 2 hold, 0 hold in part, 2 do not hold as stated." in page.texts
    assert "script" not in {tag for tag, _ in page.tags}


def test_the_page_needs_nothing_but_itself() -> None:
    text = html(_results(), QUICK)
    page = _Page(text)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [image["alt"] for image in images] == [result.figure.caption for result in _results()]
    assert all((image["src"] or "").startswith("data:image/png;base64,") for image in images)
    assert not re.search(r"https?:|url\(|@import|href=|<link|<script", text)
    assert not [tag for tag, attributes in page.tags if tag != "img" and "src" in attributes]


def test_the_markdown_shows_every_claim_as_it_was_written() -> None:
    page = _Page(MarkdownIt("commonmark").enable("table").render(paper.markdown(_results(), QUICK)))
    for claim in (claim for result in _results() for claim in result.claims):
        for part in (f"{claim.says} ({claim.where})", claim.paper, claim.measured, claim.why):
            assert _joined(part) in _joined("".join(page.texts))
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [image["src"] for image in images] == ["figure3.png", "ceiling.png"]
    assert [image["alt"] for image in images] == [result.figure.caption for result in _results()]
    notes = sum(len(notes) for notes in paper.NOTES.values())
    assert len([tag for tag, _ in page.tags if tag == "td"]) == 6 * 4 + 3 * notes


def _joined(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("kind", [html, paper.markdown])
def test_the_report_says_what_was_run(kind: Callable[..., str]) -> None:
    assert "astonish reproduce 3 ceiling --seed 5 --quick" in kind(_results(), QUICK)
    assert "verdicts are not to be trusted" in kind(_results(), QUICK)
    full = RunSettings(seed=6)
    assert "astonish reproduce 3 ceiling --seed 6" in kind(_results(), full)
    assert "quick" not in kind(_results(), full).replace(".quick {", "")
    assert "other --data here --seed 6" in kind(_results(), full, "other --data here")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "There are no claims to check."),
        ([HOLDS], "Of 1 claim of the paper, 1 holds, 0 hold in part, 0 do not hold as stated."),
        ([IN_PART, HOLDS, IN_PART], "Of 3 claims of the paper, 1 holds, 2 hold in part, 0 do not hold as stated."),
        (
            [FAILS, FAILS, HOLDS, HOLDS, IN_PART],
            "Of 5 claims of the paper, 2 hold, 1 holds in part, 2 do not hold as stated.",
        ),
    ],
)
def test_verdicts_are_counted(verdicts: list[str], sentence: str) -> None:
    assert paper.count(Claim("", "", "", "", "", verdict, "") for verdict in verdicts) == sentence


# What is wrong, in one sentence


@pytest.mark.parametrize(
    ("name", "guess"),
    [("ceilng", "did you mean 'ceiling'? Known are"), ("33", "did you mean '3'? Known are"), ("x", "known are")],
)
def test_a_misspelt_name(name: str, guess: str, computed: list[str], tmp_path: Path) -> None:
    line = _refused(_run("3", name, "--out", tmp_path / "out"), 2)
    assert line == f"astonish: there is no figure '{name}'; {guess} 3, ceiling"
    assert computed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("seed", "limit"), [("-1", "0"), (str(2**32), "4294967295")])
def test_a_seed_that_is_not_allowed(seed: str, limit: str, computed: list[str], tmp_path: Path) -> None:
    result = _run("--seed", seed, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--seed" in result.stderr
    assert f" {limit} " in result.stderr.replace(".", " ")
    assert computed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "one", "one/two"])
def test_a_file_where_a_folder_is_needed(below: str, computed: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    line = _refused(_run("--out", tmp_path / "file" / below), 1)
    assert line == f"astonish: {tmp_path / 'file'} is a file where a folder is needed; give another folder with --out"
    assert _contents(tmp_path) == {"file": b"mine"}
    assert computed == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_system_that_does_not_let_us_write(
    number: int, computed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    line = _refused(_run("--out", tmp_path / "out"), 1)
    assert line == f"astonish: {tmp_path / 'out'} may not be written; give a folder of your own with --out"
    assert computed == list(tmp_path.iterdir()) == []


def test_a_folder_where_a_file_should_be(computed: list[str], tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    result = _run("--out", tmp_path)
    assert result.exit_code == 1
    line = result.stderr.splitlines()[-1]
    assert line.startswith(f"astonish: {tmp_path / 'report.md'} could not be written (Is a directory); give another")


class _Full(FileIO):
    """A file on a disk that is full after the first few bytes."""

    def write(self, content: Any) -> int:
        super().write(content[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "name", ["manifest.json", "right.npz", "figure3_right.csv", "figure3.png", "ceiling.pdf", "report.html"]
)
def test_a_full_disk(name: str, computed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run("--out", tmp_path / "whole")
    real, full = Path.open, True

    def opened(path: Path, *words: Any, **named: Any) -> Any:
        return _Full(path, "w") if full and path.name.startswith(f".{name}.") else real(path, *words, **named)

    monkeypatch.setattr(Path, "open", opened)
    result = _run("--out", tmp_path / "cut")
    full = False
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        f"astonish: no space is left for {tmp_path / 'cut'}; free some and run the same command again, or give a "
        "folder on another disk with --out"
    )
    wanted, found = _contents(tmp_path / "whole"), _contents(tmp_path / "cut")
    assert {path: found[path] for path in found if "manifest" not in path}.items() < wanted.items()
    assert not [path for path in found if path.endswith(name)]
    assert _run("--out", tmp_path / "cut").exit_code == 0
    assert _contents(tmp_path / "cut") == wanted


# As a program of its own


def _command(log: Path, wait_at: str, *words: str | Path) -> list[str]:
    return [sys.executable, __file__, str(log), wait_at, "reproduce", *map(str, words)]


def _interrupted(log: Path, wait_at: str, out: Path, how: signal.Signals) -> tuple[int, list[str]]:
    """Start the command, and stop it in the midst of a simulation, once the other of that figure is stored."""
    other = out / "numbers" / "seed-1" / "ceiling" / "results" / "left.npz"
    said: list[str] = []
    deadline = time.monotonic() + 60
    with subprocess.Popen(_command(log, wait_at, "--out", out), stderr=subprocess.PIPE, text=True) as process:
        while not (log.exists() and f"{wait_at}\n" in log.read_text() and other.exists()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(how)
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line.rstrip())
            if line.startswith("stopping"):
                Path(f"{log}.go").touch()
    return process.returncode, said


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run writes that nobody stops."""
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run(_command(folder / "log", "", "--out", folder / "out"), check=True, capture_output=True)
    return _contents(folder / "out")


@pytest.mark.parametrize("how", [pytest.param(signal.SIGKILL, marks=pytest.mark.hostile), signal.SIGINT])
def test_a_run_that_was_stopped_goes_on_where_it_was(
    how: signal.Signals, whole: dict[str, bytes], tmp_path: Path
) -> None:
    """What was begun is finished after Ctrl-C, but lost when the command is killed."""
    log, stopped = tmp_path / "log", tmp_path / "stopped"
    returned, said = _interrupted(log, "ceiling_right", stopped, how)
    assert said[:2] == ["Figure 3: title of 3 & co", "Ceiling: title of ceiling & co"]
    if how == signal.SIGKILL:
        assert returned == -signal.SIGKILL
        assert said[2:] == []
    else:
        assert returned == 130
        assert said[2:] == [
            "stopping as soon as what was begun is finished",
            "astonish: stopped; the same command continues from what is finished",
        ]
    half = {name: content for name, content in _contents(stopped).items() if "manifest" not in name}
    of_ceiling = {"numbers/seed-1/ceiling/results/left.npz"}
    if how == signal.SIGINT:
        of_ceiling.add("numbers/seed-1/ceiling/results/right.npz")
    assert set(half) == {name for name in EXPECTED if "figure3" in name and "manifest" not in name} | of_ceiling

    log.unlink()
    subprocess.run(_command(log, "", "--out", stopped), check=True, capture_output=True)
    if how == signal.SIGKILL:
        assert log.read_text() == "ceiling_right\n"  # and nothing that was finished before
    else:
        assert not log.exists()
    assert _contents(stopped) == whole
    assert half.items() <= whole.items()


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    settings = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    command = _command(tmp_path / "log", "", "--out", tmp_path / "out")
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, text=True, env=settings) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                shown += part
        printed, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    assert "Ceiling: title of ceiling & co" in shown.decode()
    assert "100%" in shown.decode()
    assert "%" not in printed


def test_help_comes_without_the_library() -> None:
    program = """
import sys, astonish.cli.app
for words in (["--help"], ["reproduce", "--help"], ["--version"]):
    try:
        astonish.cli.app.app(words)
    except SystemExit as end:
        assert end.code == 0
print(sorted({"jax", "numpy", "matplotlib", "pandas", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "reproduce" in done.stdout
    assert "--seed" in done.stdout
    assert done.stdout.splitlines()[-2:] == [f"astonish {__version__}", "[]"]


@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("typer", "astonish: the command needs typer, which is not installed; pip install 'astonish[cli]'\n"),
        ("rich", "astonish: the command needs rich, which is not installed; pip install 'astonish[cli]'\n"),
        ("pandas", "astonish: figures need pandas, which is not installed; pip install 'astonish[frames]'\n"),
        ("matplotlib", "astonish: figures need matplotlib, which is not installed; pip install 'astonish[plots]'\n"),
    ],
)
def test_a_package_that_is_missing(package: str, sentence: str, tmp_path: Path) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import astonish.cli.app; astonish.cli.app.main()"
    command = [sys.executable, "-c", program, "reproduce", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
    assert not (tmp_path / "out").exists()


def _main(log: str, wait_at: str) -> None:
    """The command, with figures of our own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job would not have

    def note(table: str) -> None:
        with Path(log).open("a") as file:
            file.write(f"{table}\n")
        while table == wait_at and not Path(f"{log}.go").exists():
            time.sleep(0.02)

    _replace_figures(setattr, note)
    main()


if __name__ == "__main__":
    _main(sys.argv.pop(1), sys.argv.pop(1))
