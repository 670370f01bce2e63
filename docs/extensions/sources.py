"""From the source of a module back to its entries in the reference, where these stand under two names.

viewcode takes it that all of a module is documented under one name. `astonish.learners.base` is not: some of it is
exported
by `astonish`, and stands there.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_BACK = re.compile(r'(<a class="viewcode-back" href="[^"#]*#)([\w.]+)(")')


def mended(body: str, module: str, known: Any) -> str:
    """Links back that lead to names which are known.

    >>> mended('<a class="viewcode-back" href="x.html#a.B.c">', "a.b", {"a.b.B.c"})
    '<a class="viewcode-back" href="x.html#a.b.B.c">'
    """

    def one(link: re.Match[str]) -> str:
        parts = link[2].split(".")
        names = [link[2], *(f"{module}.{'.'.join(parts[k:])}" for k in range(1, len(parts)))]
        return link[1] + next((name for name in names if name in known), link[2]) + link[3]

    return _BACK.sub(one, body)


def _mend(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    if page.startswith("_modules/") and "body" in context:
        module = page.removeprefix("_modules/").replace("/", ".")
        context["body"] = mended(context["body"], module, app.env.domains.python_domain.objects)


def setup(app: Sphinx) -> dict[str, bool]:
    """Mend the links as pages are written."""
    app.connect("html-page-context", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
