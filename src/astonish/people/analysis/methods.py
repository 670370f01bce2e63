"""What would a paper say about how this was done? A paragraph, the versions, and what to cite."""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from astonish.core.citations import Entry, cited

if TYPE_CHECKING:
    from astonish.people.analysis.models import Candidate

_PACKAGES = ("astonish", "jax", "numpy", "scipy", "pandas")


@dataclass(frozen=True)
class Methods:
    """A paragraph for a paper; the publications that it cites; and the versions of what was used."""

    paragraph: str
    publications: tuple[Entry, ...]
    versions: str

    @property
    def bibtex(self) -> str:
        """The publications, as BibTeX."""
        return "\n\n".join(entry.bibtex for entry in self.publications)


def methods(
    models: "Sequence[Candidate]", sentences: Iterable[str], cite: Iterable[str] = (), more: Sequence[str] = ()
) -> Methods:
    """The methods of an analysis. sentences: what was done, after what the models are. cite: names of methods.

    more: packages that were used besides the usual ones.
    """
    from astonish.people.fit.likelihood import explained

    publications = {entry.key: entry for each in models for entry in _of(each.learner)}
    about = [_described(each) for each in models]
    trials = models[0].trials
    responses = int(explained(models[0].model, trials).sum())
    people = f"{len(trials)} participant{'s' * (len(trials) != 1)} ({responses} responses)"
    opening = f"Responses of {people} were modelled trial by trial with {_listed(about)}."
    for name in (*cite, "software"):
        publications |= {entry.key: entry for entry in _of(name)}
    used = [f"{name} {version(name)}" for name in (*_PACKAGES, *more) if _installed(name)]
    versions = f"Versions: {', '.join(used)}, Python {platform.python_version()}."
    return Methods(" ".join([opening, *sentences]), tuple(publications.values()), versions)


def estimated(starts: int, priors: bool, shared: Sequence[str], conditions: Sequence[str]) -> list[str]:
    """How parameters were found, in sentences. conditions: the parameters that differ between conditions."""
    weak = (
        "maximum a posteriori (with weak normal priors where people's values usually lie, on the unconstrained scale)"
    )
    found = [
        f"Parameters were estimated for each participant by {weak if priors else 'maximum likelihood'}, with exact "
        f"gradients and {starts} searches from different starts; the best end was confirmed along the profile of each "
        "parameter."
    ]
    if shared:
        found.append(f"{_listed(list(shared))} had one value for all participants.")
    if conditions:
        found.append(f"{_listed(list(conditions))} differed between conditions.")
    return found


def _described(model: "Candidate") -> str:
    """A learner, what to cite for it, its free parameters, and how it responds."""
    from astonish.models.parameters import short_names

    sources = "; ".join(entry.brief for entry in _of(model.learner))
    free = _listed(list(short_names(model.free)))
    response = type(model.model.response).__name__
    goes_on = ", going on from each response" if model.model.response.anchored else ""
    cited = f" ({sources})" if sources else ""
    return f"the learner {model.learner}{cited}, response model {response}{goes_on}, free parameters {free}"


def _of(name: str) -> list[Entry]:
    """What to cite for something; nothing where there is nothing, as for a learner of one's own."""
    try:
        return cited(name)
    except ValueError:
        return []


def _listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    >>> _listed(["m", "noise", "beta"])
    'm, noise and beta'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
