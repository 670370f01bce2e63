"""`astonish learners`: which learners, families of beliefs and response models are there, with which parameters?"""

from typing import Annotated

from typer import Argument

from astonish.cli.console import guarded


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
