"""How do formulas get onto a page without a script from elsewhere? As MathML, which browsers show by themselves."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    """A formula within a sentence."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own, with its number if something refers to it."""
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    name = f' id="{node["ids"][0]}"' if node["ids"] else ""
    writer.body.append(f'<div class="math"{name}>{number}{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx that formulas can be written so."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
