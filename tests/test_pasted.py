"""Does each page of the documentation run if somebody pastes what is visible on it, in order and nothing else?

Cells that the site removes prepare a page, draw pictures of it or check what it says; a reader has none of them. Shown
code is plain Python, so that it runs in a script as well as in a notebook. Pages that show sessions (prompts) and
no cells are run by pytest as doctests.
"""

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType

import matplotlib.pyplot as plt
import pytest

pytestmark = [
    pytest.mark.single,  # as a reader's JAX computes
    pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning"),
]

DOCS = Path(__file__).parent.parent / "docs"
NEEDS = {"howto/libraries.md": ("river", "sklearn", "gymnasium")}
_BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REMOVED = re.compile(r"^:?tags: \[.*\bremove-(?:cell|input)\b.*\]$", re.MULTILINE)
_OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def visible(page: str) -> list[str]:
    """The Python that a page shows, block by block; of a session with prompts, the lines after these."""
    found = []
    for kind, content in _BLOCK.findall(page):
        if kind.startswith("{code-cell}"):
            options = _OPTIONS.match(content)
            if options is None or not _REMOVED.search(options[0]):
                found.append(content[options.end() if options else 0 :])
        elif ">>> " in content:
            examples = doctest.DocTestParser().get_examples(content)
            found.append("".join(example.source for example in examples if example.exc_msg is None))
    return found


def shows_cells(page: str) -> bool:
    """Whether any cell of a page can be seen."""
    return any(visible(block[0]) for block in _BLOCK.finditer(page) if block[1].startswith("{code-cell}"))


PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts and path.stem != "gallery" and shows_cells(path.read_text())  # that is tested below
]


def test_what_is_visible_is_found() -> None:
    page = (
        "```{code-cell}\n:tags: [remove-cell]\nx = 1\n```\n\n```{code-cell}\n---\ntags: [hide-input]\n---\ny = 2\n```\n"
        "```{code-cell}\nz = 3\n```\n```python\n>>> z + 1\n4\n```\n```\nastonish --help\n```\n"
    )
    assert visible(page) == ["y = 2\n", "z = 3\n", "z + 1\n"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_a_page_runs_when_it_is_pasted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDS.get(str(page.relative_to(DOCS)), ()):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    session = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", session)  # where pickle looks for classes of the page
    with plt.rc_context():
        for number, code in enumerate(visible(page.read_text()), 1):
            exec(compile(code, f"<{page.name}, block {number}>", "exec"), session.__dict__)
        plt.close("all")


@pytest.mark.parametrize("number", range(len(visible((DOCS / "gallery.md").read_text()))))
def test_a_block_of_the_gallery_runs_by_itself(number: int) -> None:
    code = visible((DOCS / "gallery.md").read_text())[number]
    with plt.rc_context():
        exec(compile(code, f"<gallery.md, block {number + 1}>", "exec"), {"__name__": "gallery"})
        assert plt.get_fignums(), "it draws nothing"
        plt.close("all")
