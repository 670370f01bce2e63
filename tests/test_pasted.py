"""Whether each page of the documentation runs if somebody pastes what is visible on it, in order and nothing else.

The build of the site runs every cell. Cells that it removes prepare a page, draw pictures of it or check what it says;
a reader has none of them, so what is visible may use only names that are visible too.
"""

import builtins
import doctest
import re
import symtable
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
_BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REMOVED = re.compile(r"^:?tags: \[.*\bremove-(?:cell|input)\b.*\]$", re.MULTILINE)
_OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def visible(page: str) -> list[str]:
    """Return the Python that a page shows, block by block; of a session with prompts, the lines after these."""
    blocks = []
    for kind, content in _BLOCK.findall(page):
        if kind.startswith("{code-cell}"):
            options = _OPTIONS.match(content)
            if options is None or not _REMOVED.search(options[0]):
                blocks.append(content[options.end() if options else 0 :])
        elif ">>> " in content:
            examples = doctest.DocTestParser().get_examples(content)
            blocks.append("".join(example.source for example in examples if example.exc_msg is None))
    return blocks


def undefined(blocks: Sequence[str]) -> set[str]:
    """Return the names that blocks of Python use, and that neither they nor earlier ones define."""
    defined, missing = {*dir(builtins), "__name__"}, set()
    for code in blocks:
        top = symtable.symtable(code, "block", "exec")
        defined |= {name.get_name() for name in top.get_symbols() if name.is_assigned() or name.is_imported()}
        missing |= {
            name.get_name()
            for scope in _scopes(top)
            for name in scope.get_symbols()
            if name.is_referenced() and (scope is top or name.is_global()) and name.get_name() not in defined
        }
    return missing


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def test_what_is_visible_and_what_it_lacks_is_found() -> None:
    page = (
        "```{code-cell}\n:tags: [remove-cell]\nx = 1\n```\n\n```{code-cell}\n---\ntags: [hide-input]\n---\ny = 2\n```\n"
        "```{code-cell}\nz = 3\n```\n```python\n>>> z + 1\n4\n```\n```\nastonish --help\n```\n"
    )
    assert visible(page) == ["y = 2\n", "z = 3\n", "z + 1\n"]
    assert undefined(visible(page)) == set()
    assert undefined(["def f(a):\n    return a + b + x\n", "b = 1", "print([c for c in d])"]) == {"b", "x", "d"}


@pytest.mark.parametrize(
    "page", sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "_build" not in path.parts)
)
def test_a_page_needs_nothing_that_it_hides(page: str) -> None:
    blocks = visible((DOCS / page).read_text(encoding="utf-8"))
    assert undefined(blocks) == set()


def test_each_block_of_the_gallery_stands_by_itself_and_draws() -> None:
    blocks = visible((DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert len(blocks) > 5
    for block in blocks:
        assert undefined([block]) == set()
        assert re.search(r"plt\.|\.plot\w*\(|draw", block), block
