"""Learners, families and response models in the documentation, computed from what the library exports.

`{catalogue} learners` becomes a table of all parameters, and `.. exports:: astonish.learners` a reference of all
classes (with `:summary:` a list of them).
"""

from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from astonish.models.parameters import in_words, parameters
from astonish.models.registry import FAMILIES, LEARNERS, RESPONSES

CATALOGUES = {"learners": LEARNERS, "families": FAMILIES, "responses": RESPONSES}
COLUMNS = {"name": "name", "parameter": "parameter", "default": "default", "usual": "usual values", "about": "meaning"}


def rows(which: str) -> list[list[str]]:
    """Give the cells of a table, a row for each parameter; the name stands in the first row of each class only.

    >>> rows("learners")[0][:2]
    ['smile', 'm']
    >>> [row for row in rows("learners") if row[0] == "bayes"]
    [['bayes', 'none', '', '', '']]
    """
    cells = []
    for name, kind in CATALOGUES[which].classes().items():
        described = [{"parameter": word, **in_words(each.known)} for word, each in parameters(kind).items()]
        for row in described or [{"parameter": "none"}]:
            cells.append([name, *(row.get(column, "") for column in COLUMNS if column != "name")])
            name = ""
    return cells


class CatalogueTable(Directive):
    """`{catalogue} learners`, `families` or `responses`."""

    required_arguments = 1

    def run(self) -> list[Any]:
        """The table as nodes of the page."""
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for width in (2, 2, 1, 2, 5)]
        head, body = nodes.thead(), nodes.tbody()
        head += _row(list(COLUMNS.values()))
        body += [_row(cells) for cells in rows(self.arguments[0])]
        group += [head, body]
        whole = nodes.table(classes=["catalogue"])
        whole += group
        return [whole]


def _row(cells: list[str]) -> Any:
    row = nodes.row()
    for k, cell in enumerate(cells):
        entry = nodes.entry()
        text = nodes.literal(text=cell) if k < 2 and cell not in ("", *COLUMNS.values()) else nodes.Text(cell)
        entry += nodes.paragraph("", "", text)
        row += entry
    return row


class Exports(Directive):
    """`.. exports:: module`: everything that the module exports, in its order."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"summary": directives.flag, "members": directives.unchanged}

    def run(self) -> list[Any]:
        """As if every class had been written down."""
        module = import_module(self.arguments[0])
        lines = [f".. currentmodule:: {module.__name__}", ""]
        if "summary" in self.options:
            lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in module.__all__)]
        for name in () if "summary" in self.options else module.__all__:
            kind = "class" if isinstance(getattr(module, name), type) else "function"
            members = (
                [f"   :members: {self.options['members']}"] if "members" in self.options and kind == "class" else []
            )
            lines += [f".. auto{kind}:: {name}", *members, ""]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.arguments[0]), self.content_offset, node)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directives known."""
    app.add_directive("catalogue", CatalogueTable)
    app.add_directive("exports", Exports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
