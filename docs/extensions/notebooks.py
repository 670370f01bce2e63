"""How does a reader get a page that was run as a notebook? By a link at its top, to the page as it was run."""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FOLDER = "_notebooks"


def _executed(app: Sphinx) -> Path:
    """Where notebooks lie after they were run."""
    return Path(app.outdir).parent / "jupyter_execute"


def _offer(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    if (_executed(app) / f"{page}.ipynb").exists():
        context["notebook"] = f"{FOLDER}/{page}.ipynb"


def _copy(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        for notebook in _executed(app).rglob("*.ipynb"):
            copy = Path(app.outdir) / FOLDER / notebook.relative_to(_executed(app))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notebook, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the link on each page, and bring the files when all pages are written."""
    app.connect("html-page-context", _offer)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
