"""`astonish learners` and `astonish cite`: what there is, with which parameters, and what to cite for it."""

from typing import Annotated

from typer import Argument

from astonish.cli.app import guarded
from astonish.report.citations import cited, listing


def learners(
    name: Annotated[
        list[str] | None, Argument(help="Some of them; file.py:Class and module:Class too. All, if left out.")
    ] = None,
) -> None:
    """List learners, families of beliefs and response models, with their parameters.

    astonish learners smile my_models.py:Mine
    """
    with guarded(needs="learners need", stopped="nothing was written"):
        from astonish.models.parameters import described

        for heading, lines in described(name or ()):
            print("\n".join([heading, *(f"  {line}" for line in lines), ""]))


def cite(
    what: Annotated[
        list[str] | None, Argument(help="A learner, family, measure of surprise, method, or software.")
    ] = None,
) -> None:
    """What to cite, as BibTeX; without a name, a list of all names.

    astonish cite smile software
    """
    with guarded():
        entries = {entry.key: entry.bibtex for name in what or [] for entry in cited(name)}
        print("\n\n".join(entries.values()) if what else "\n".join(listing()))
