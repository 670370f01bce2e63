"""`astonish cite`: what to cite for a learner, a family of beliefs, a measure of surprise or a method."""

from typing import Annotated

from typer import Argument

from astonish.cli.console import guarded
from astonish.report.citations import cited, listing


def cite(
    what: Annotated[
        list[str] | None, Argument(help="A learner, family, measure of surprise, method, or software.")
    ] = None,
) -> None:
    """What to cite, as BibTeX; without a name, a list of all names.

    astonish cite smile software
    """
    with guarded():
        found = {entry.key: entry.bibtex for name in what or [] for entry in cited(name)}
        print("\n\n".join(found.values()) if what else "\n".join(listing()))
