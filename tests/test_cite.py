"""What does `astonish cite` print, and is there something to cite for everything?"""

import re
from importlib import import_module

import pytest

import astonish
from astonish.models.registry import FAMILIES, LEARNERS
from astonish.online.measures import COLUMNS
from astonish.report.citations import KINDS, Entry, cited, entries, names
from shell import done, refused

REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "book": {"author", "title", "publisher", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "software": {"author", "title", "version", "year"},
}


def parsed(bibtex: str) -> tuple[str, str, dict[str, str]]:
    """Type, key and fields of an entry, brace by brace, as BibTeX reads it."""
    head = re.fullmatch(r"@(\w+)\{(\w+),(.*)\}", bibtex, re.DOTALL)
    assert head, f"{bibtex!r} is no entry"
    kind, key, rest = head.groups()
    found: dict[str, str] = {}
    at = 0
    while rest[at:].strip():
        start = re.compile(r"\s*(\w+)\s*=\s*\{").match(rest, at)
        assert start, f"{key}: {rest[at : at + 40]!r} is no field"
        depth, end = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        assert start[1] not in found
        found[start[1]] = rest[start.end() : end - 1]
        assert rest[end] == ","
        at = end + 1
    return kind, key, found


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.key)
def test_every_entry_is_bibtex(entry: Entry) -> None:
    kind, key, fields = parsed(entry.bibtex)
    assert fields.keys() >= REQUIRED[kind]
    assert not fields.keys() & set(KINDS)
    assert key.endswith(fields["year"]) or kind == "software"
    assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/none"))
    assert re.fullmatch(r"e?\d+(--\d+)?", fields.get("pages", "1"))
    authors = set(fields["author"].split(" and ")) - {"others", "{The astonish developers}"}
    assert all(author.count(",") == 1 for author in authors)


def test_no_key_is_given_twice() -> None:
    keys = [entry.key for entry in entries()]
    assert len(set(keys)) == len(keys)


def test_everything_has_something_to_cite() -> None:
    assert set(names("learners")) == {*LEARNERS.by_name(), "modulated", "online-em"} - {"no-learning"}
    assert set(names("families")) <= set(FAMILIES.by_name())
    assert set(names("measures")) == {*COLUMNS, "commitment"}


@pytest.mark.parametrize("name", sorted(set(names("methods")) - {"software"}))
def test_methods_exist(name: str) -> None:
    rooms = ["beliefs", "changes", "learners", "people.fit", "people.posterior", "people.tables.regressors"]
    rooms += ["theory.novelty", "worlds.bandit", "worlds.gaussian_jumps", "worlds.maze"]
    assert any(hasattr(import_module(f"astonish.{room}"), name) for room in rooms)


def test_the_software_has_this_version() -> None:
    assert cited("software")[0].fields["version"] == astonish.__version__


@pytest.mark.parametrize("name", ["message-passing", "MessagePassing", "message_passing"])
def test_names_may_be_those_of_python_or_of_the_command(name: str) -> None:
    assert [entry.key for entry in cited(name)] == ["adams2007", "fearnhead2007", "liakoni2021"]


def test_the_command_prints_entries_once_each_and_alone_every_name() -> None:
    printed = done("cite pearce-hall faraji2018 li2011").stdout
    assert [parsed(text.strip())[1] for text in printed.split("\n\n")] == ["pearce1980", "li2011", "faraji2018"]
    lines = done("cite").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [word for kind in KINDS for word in (kind, *names(kind))]


def test_an_unknown_name_gets_near_ones() -> None:
    assert "nothing to cite for 'smlie'; did you mean 'smile'? `astonish cite` lists" in refused("cite smlie")
