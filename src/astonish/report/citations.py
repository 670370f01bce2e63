"""What is to be cited for a learner, a family of beliefs, a measure of surprise or a method?

It is read from `references.bib`, without JAX, so that the answer comes at once.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from astonish.core.refusal import did_you_mean

KINDS = ("learners", "families", "measures", "methods")
_ACCENTS = {r"{\"a}": "ä", r"{\`e}": "è"}


class Entry(NamedTuple):
    """A publication: its key, its fields by name, and how it is written in BibTeX, without what is cited for it."""

    key: str
    fields: dict[str, str]
    bibtex: str

    @property
    def brief(self) -> str:
        """Authors and year."""
        names = [name.split(",")[0].strip("{}") for name in self.fields["author"].split(" and ")]
        few = " & ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        authors = f"{names[0]} et al." if len(names) > 3 else few
        for written, letter in _ACCENTS.items():
            authors = authors.replace(written, letter)
        return f"{authors} {self.fields['year']}"


def entries() -> list[Entry]:
    """All of them, in the order of the file.

    >>> entries()[0].brief
    'Faraji, Preuschoff & Gerstner 2018'
    """
    file = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    found = []
    for text in re.findall(r"^@.*?^}$", file, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", text, re.MULTILINE))
        bibtex = re.sub(rf"^  (?:{'|'.join(KINDS)}) = .*\n", "", text, flags=re.MULTILINE)
        found.append(Entry(text[text.index("{") + 1 : text.index(",")], fields, bibtex))
    return found


def names(kind: str) -> dict[str, list[Entry]]:
    """What there is to cite for each learner, family, measure or method."""
    entries_by_name: dict[str, list[Entry]] = {}
    for entry in entries():
        for name in filter(None, entry.fields.get(kind, "").split(", ")):
            entries_by_name.setdefault(name, []).append(entry)
    return entries_by_name


def cited(word: str) -> list[Entry]:
    """What to cite for something, by its name in Python or for the command; or an entry by its key.

    >>> [entry.key for entry in cited("PearceHall")]
    ['pearce1980', 'li2011']
    >>> cited("smiles")
    Traceback (most recent call last):
    ValueError: there is nothing to cite for 'smiles'; did you mean 'smile'? `astonish cite` lists all names
    """
    for group in (*map(names, KINDS), {entry.key: [entry] for entry in entries()}):
        for name, publications in group.items():
            if _plain(name) == _plain(word):
                return publications
    meant = did_you_mean(word, [name for kind in KINDS for name in names(kind)])
    raise ValueError(f"there is nothing to cite for {word!r}; {meant}`astonish cite` lists all names")


def listing() -> Iterator[str]:
    """A line for each name, under headings."""
    for kind in KINDS:
        yield kind
        for name, publications in names(kind).items():
            yield f"  {name:35} {'; '.join(entry.brief for entry in publications)}"


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()
