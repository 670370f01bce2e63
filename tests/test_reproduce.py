"""Does `astonish reproduce` write the same files for the same seed, go on where it stopped, and explain what is wrong?

Run as a program, this file is the command with two small figures of its own in place of the paper's. It notes in a log
which tables it computes, and waits for ever at one of them if it is told to.
"""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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

import astonish_command
from astonish.paper import figures, study
from astonish.paper.claims import FAILS, HOLDS, IN_PART, Claim
from astonish.paper.figure import Figure
from astonish.paper.report import Result, count, html, markdown
from astonish.paper.study import Study

ODD = "a < b & *c* | \"d\" [e](f) <script>alert('g')</script> `h` $i$ j_k_l ~m~ \\n"
Note = Callable[[str], Any]


def _figure(name: str, note: Note, says: str) -> Figure:
    """Two tables of noise, a line, and a claim that the noise decides."""
    stem = f"figure{name}" if name.isdigit() else name
    tables = (f"{stem}_left", f"{stem}_right")

    def compute(study: Study) -> dict[str, DataFrame]:
        def noise(table: str) -> DataFrame:
            note(table)
            key = [study.seed, len(name), tables.index(table)]
            return DataFrame({"y": np.random.default_rng(key).normal(size=5 if study.quick else 50)})

        return {table: study.table(table, lambda table=table: noise(table)) for table in tables}

    def draw(numbers: dict[str, DataFrame]) -> Drawing:
        drawing = Drawing(figsize=(3, 2))
        axes = drawing.subplots()
        for table in tables:
            axes.plot(numbers[table]["y"], label=table)
        axes.set_title("greek $\\gamma$")
        axes.legend()
        return drawing

    def claims(numbers: dict[str, DataFrame]) -> list[Claim]:
        mean = numbers[tables[0]]["y"].mean()
        verdict = HOLDS if mean < 100 else FAILS
        return [
            Claim(f"{stem}, left", f"{says} is small", "0 & little", f"{mean:.6f}", verdict, "because a < b"),
            Claim(f"{stem}, right", f"{says} is [large]", "> 9", f"{mean:.6f}", HOLDS if mean > 9 else FAILS, says),
        ]

    return Figure(name, f"title of {name} & co", f"caption of {name}: {says}", tables, compute, draw, claims)


def _two(note: Note = lambda _: None) -> list[Figure]:
    return [_figure("3", note, "noise"), _figure("ceiling", note, ODD)]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXPECTED = {
    "figure3.png", "figure3.pdf", "ceiling.png", "ceiling.pdf", "report.html", "report.md",
    "numbers/seed-1/settings.json", "numbers/seed-1/figure3_left.csv", "numbers/seed-1/figure3_right.csv",
    "numbers/seed-1/ceiling_left.csv", "numbers/seed-1/ceiling_right.csv",
}  # fmt: skip


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paper's figures replaced; names of tables in the order in which they are computed."""
    names: list[str] = []
    monkeypatch.setattr(figures, "FIGURES", _two(names.append))
    monkeypatch.setattr(study, "_code", lambda: "as it is")  # whoever edits the library meanwhile
    return names


def _run(*words: str | Path) -> Any:
    return CliRunner().invoke(astonish_command.app, ["reproduce", *map(str, words)])


def _refused(result: Any, code: int) -> str:
    """The one line that was said, where nothing else was."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line, nothing = result.stderr.split("\n")
    assert line.startswith("astonish: ")
    assert nothing == ""
    return str(line)


# What is written


def test_everything_is_written(computed: list[str], tmp_path: Path) -> None:
    result = _run("--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert set(_contents(tmp_path)) == EXPECTED
    assert computed == ["figure3_left", "figure3_right", "ceiling_left", "ceiling_right"]
    assert result.stderr.splitlines() == ["Figure 3: title of 3 & co", "Ceiling: title of ceiling & co"]


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
    assert computed == ["figure3_left", "figure3_right"]
    assert "ceiling" not in (tmp_path / "report.md").read_text()


def test_the_order_in_which_figures_are_named_does_not_matter(computed: list[str], tmp_path: Path) -> None:
    _run("ceiling", "3", "--out", tmp_path / "a")
    _run("--out", tmp_path / "b")
    assert _contents(tmp_path / "a") == _contents(tmp_path / "b")


def test_finished_tables_are_not_computed_again(computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    before = _contents(tmp_path)
    computed.clear()
    (tmp_path / "numbers" / "seed-1" / "ceiling_left.csv").unlink()
    assert _run("--out", tmp_path).exit_code == 0
    assert computed == ["ceiling_left"]
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("words", [("--seed", "2"), ("--quick",)])
def test_numbers_of_other_settings_are_kept_apart(words: tuple[str, ...], computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    before = _contents(tmp_path)
    assert _run("--out", tmp_path, *words).exit_code == 0
    computed.clear()
    assert _run("--out", tmp_path).exit_code == 0
    assert computed == []
    assert {name: content for name, content in _contents(tmp_path).items() if name in before} == before


def test_numbers_of_another_version_are_replaced(computed: list[str], tmp_path: Path) -> None:
    _run("--out", tmp_path)
    before = _contents(tmp_path)
    about = tmp_path / "numbers" / "seed-1" / "settings.json"
    about.write_text(about.read_text().replace('"astonish": "', '"astonish": "other'))
    (tmp_path / "numbers" / "seed-1" / "figure3_left.csv").write_text("y\n0.0\n")
    result = _run("--out", tmp_path)
    assert result.stderr.splitlines()[0].endswith("numbers of another version; they are computed anew")
    assert _contents(tmp_path) == before


def test_the_summary_names_what_does_not_hold(computed: list[str], tmp_path: Path) -> None:
    lines = _run("--out", tmp_path).stdout.splitlines()
    assert lines[0] == "Of 4 claims, 2 hold, 2 do not hold as stated."
    assert lines[1] == "- does not hold as stated: noise is [large] (figure3, right)"
    assert lines[2] == f"- does not hold as stated: {ODD} is [large] (ceiling, right)"
    assert lines[3:] == [f"Report: {tmp_path / 'report.html'}"]


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


def _results(tmp_path: Path) -> tuple[list[Result], Study]:
    study = Study(seed=5, quick=True, folder=tmp_path)
    made = []
    for figure in _two():
        numbers = figure.compute(study)
        made.append(Result(figure, figure.claims(numbers), b"\x89PNG of " + figure.name.encode()))
    return made, study


def test_the_page_shows_every_claim_as_it_was_written(tmp_path: Path) -> None:
    results, study = _results(tmp_path)
    page = _Page(html(results, study))
    assert page.open == []
    for claim in (claim for result in results for claim in result.claims):
        for part in claim._replace(verdict={HOLDS: "✓ holds", FAILS: "✗ does not hold as stated"}[claim.verdict]):
            assert part in page.texts
    assert "Of 4 claims, 2 hold, 2 do not hold as stated." in page.texts
    assert "script" not in {tag for tag, _ in page.tags}


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    results, study = _results(tmp_path)
    text = html(results, study)
    page = _Page(text)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [image["alt"] for image in images] == [result.figure.caption for result in results]
    assert all((image["src"] or "").startswith("data:image/png;base64,") for image in images)
    assert not re.search(r"https?:|url\(|@import|href=|<link|<script", text)
    assert not [tag for tag, attributes in page.tags if tag != "img" and "src" in attributes]


def test_the_markdown_shows_every_claim_as_it_was_written(tmp_path: Path) -> None:
    results, study = _results(tmp_path)
    page = _Page(MarkdownIt("commonmark").enable("table").render(markdown(results, study)))
    for claim in (claim for result in results for claim in result.claims):
        for part in (f"{claim.says} ({claim.where})", claim.paper, claim.measured, claim.why):
            assert _joined(part) in _joined("".join(page.texts))
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [image["src"] for image in images] == ["figure3.png", "ceiling.png"]
    assert [image["alt"] for image in images] == [result.figure.caption for result in results]
    assert len([tag for tag, _ in page.tags if tag == "td"]) == 5 * 4


def _joined(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("kind", [html, markdown])
def test_the_report_says_what_was_run(kind: Callable[..., str], tmp_path: Path) -> None:
    results, quick = _results(tmp_path)
    assert "astonish reproduce 3 ceiling --seed 5 --quick" in kind(results, quick)
    assert "verdicts are not to be trusted" in kind(results, quick)
    full = Study(seed=6)
    assert "astonish reproduce 3 ceiling --seed 6" in kind(results, full)
    assert "quick" not in kind(results, full).replace(".quick {", "")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "There are no claims to check."),
        ([HOLDS], "Of 1 claim, 1 holds."),
        ([IN_PART, HOLDS, IN_PART], "Of 3 claims, 1 holds, 2 hold in part."),
        ([FAILS, FAILS, HOLDS, HOLDS, IN_PART], "Of 5 claims, 2 hold, 1 holds in part, 2 do not hold as stated."),
    ],
)
def test_verdicts_are_counted(verdicts: list[str], sentence: str) -> None:
    assert count(Claim("", "", "", "", verdict, "") for verdict in verdicts) == sentence


# What is wrong, in one sentence


@pytest.mark.parametrize(
    ("name", "guess"),
    [("ceilng", "did you mean ceiling? Known are"), ("33", "did you mean 3? Known are"), ("x", "known are")],
)
def test_a_misspelt_name(name: str, guess: str, computed: list[str], tmp_path: Path) -> None:
    line = _refused(_run("3", name, "--out", tmp_path / "out"), 2)
    assert line == f"astonish: there is no figure '{name}'; {guess} 3, ceiling and liakoni2021"
    assert computed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_a_seed_that_is_not_allowed(seed: str, computed: list[str], tmp_path: Path) -> None:
    line = _refused(_run("--seed", seed, "--out", tmp_path / "out"), 2)
    assert line == f"astonish: seed = {seed} is not allowed; give a whole number from 0 to 4294967295"
    assert computed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "one", "one/two"])
def test_a_file_where_a_folder_is_needed(below: str, computed: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    line = _refused(_run("--out", tmp_path / "file" / below), 1)
    assert line == f"astonish: {tmp_path / 'file'} is a file where a folder is needed; give another folder with --out"
    assert _contents(tmp_path) == {"file": b"mine"}
    assert computed == []


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing may be written."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    yield folder
    folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(computed: list[str], locked: Path) -> None:
    line = _refused(_run("--out", locked), 1)
    assert line == f"astonish: {locked} may not be written; give a folder of your own with --out"
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


def test_tables_of_somebody_else(computed: list[str], tmp_path: Path) -> None:
    (tmp_path / "numbers" / "seed-1").mkdir(parents=True)
    (tmp_path / "numbers" / "seed-1" / "thesis.csv").write_text("years\n5\n")
    line = _refused(_run("--out", tmp_path), 1)
    assert line.endswith("seed-1 holds tables of others, such as thesis.csv; give a new folder")
    assert _contents(tmp_path) == {"numbers/seed-1/thesis.csv": b"years\n5\n"}


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
    ("name", "finished"),
    [
        ("settings.json", "0 finished tables"),
        ("figure3_right.csv", "1 finished table"),
        ("figure3.png", "2 finished tables"),
        ("ceiling.pdf", "4 finished tables"),
        ("report.html", "4 finished tables"),
    ],
)
def test_a_full_disk(
    name: str, finished: str, computed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        f"astonish: no space is left for {tmp_path / 'cut'}; free some and run the same command again, which goes on "
        f"from {finished}, or give a folder on another disk with --out"
    )
    wanted, found = _contents(tmp_path / "whole"), _contents(tmp_path / "cut")
    assert found.items() < wanted.items()
    assert not [path for path in found if path.endswith(name)]
    assert _run("--out", tmp_path / "cut").exit_code == 0
    assert _contents(tmp_path / "cut") == wanted


# As a program of its own


def _command(log: Path, wait_at: str, *words: str | Path) -> list[str]:
    return [sys.executable, __file__, str(log), wait_at, "reproduce", *map(str, words)]


def _interrupted(log: Path, wait_at: str, out: Path, how: signal.Signals) -> tuple[int, str]:
    """Start the command, and stop it in the midst of a table."""
    process = subprocess.Popen(_command(log, wait_at, "--out", out), stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (log.exists() and log.read_text().endswith(f"{wait_at}\n")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, said


@pytest.mark.parametrize(
    ("how", "code", "last"),
    [
        (signal.SIGKILL, -signal.SIGKILL, "Ceiling: title of ceiling & co"),
        (signal.SIGINT, 130, "astonish: stopped; run the same command again to go on from 3 finished tables"),
    ],
)
def test_a_run_that_was_stopped_goes_on_where_it_was(how: signal.Signals, code: int, last: str, tmp_path: Path) -> None:
    log, stopped, whole = tmp_path / "log", tmp_path / "stopped", tmp_path / "whole"
    returned, said = _interrupted(log, "ceiling_right", stopped, how)
    assert returned == code
    assert said.splitlines()[-1] == last
    assert "Traceback" not in said
    half = _contents(stopped)
    assert set(half) == {name for name in EXPECTED if "figure3" in name or "settings" in name or "_left" in name}

    subprocess.run(_command(tmp_path / "whole.log", "", "--out", whole), check=True, capture_output=True)
    log.unlink()
    subprocess.run(_command(log, "", "--out", stopped), check=True, capture_output=True)
    assert log.read_text() == "ceiling_right\n"  # and nothing that was finished before
    assert _contents(stopped) == _contents(whole)
    assert half.items() <= _contents(whole).items()


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    settings = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    command = _command(tmp_path / "log", "", "--out", tmp_path / "out")
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, text=True, env=settings) as process:
        os.close(theirs)
        shown = _until_closed(ours).decode()
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Ceiling" in shown
    assert "4 of 4 tables" in shown
    assert "tables" not in printed


def _until_closed(terminal: int) -> bytes:
    read = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other side has gone
            part = b""
        if not part:
            os.close(terminal)
            return read
        read += part


def test_help_comes_without_the_library() -> None:
    program = """
import sys, astonish_command
for words in (["--help"], ["reproduce", "--help"]):
    try:
        astonish_command.app(words)
    except SystemExit as end:
        assert end.code == 0
print(sorted({"astonish", "jax", "numpy", "matplotlib", "pandas", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "reproduce" in done.stdout
    assert "--seed" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("typer", "astonish: the command needs typer, which is not installed; pip install 'astonish[cli]'\n"),
        ("rich", "astonish: the command needs rich, which is not installed; pip install 'astonish[cli]'\n"),
        ("pandas", "astonish: figures need pandas, which is not installed; pip install 'astonish[all]'\n"),
        ("matplotlib", "astonish: figures need matplotlib, which is not installed; pip install 'astonish[all]'\n"),
    ],
)
def test_a_package_that_is_missing(package: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('No module named {package}', name='{package}')")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import astonish_command; astonish_command.main()"
    command = [sys.executable, "-c", program, "reproduce", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
    assert not (tmp_path / "out").exists()


# The paper's own figures


def test_every_figure_has_a_name_of_its_own() -> None:
    assert [figure.name for figure in figures.FIGURES] == [*"12345678", "ceiling", "sweeps"]


def _main(log: str, wait_at: str) -> None:
    """The command, with figures of our own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job would not have

    def note(table: str) -> None:
        with Path(log).open("a") as file:
            file.write(f"{table}\n")
        if table == wait_at:
            time.sleep(600)

    figures.FIGURES = _two(note)
    astonish_command.main()


if __name__ == "__main__":
    _main(sys.argv.pop(1), sys.argv.pop(1))
