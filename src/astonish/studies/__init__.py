"""Studies that are named in a file, for `astonish sweep`."""

from astonish.studies.read import KINDS, read_study

__all__ = ["KINDS", "read_study"]
