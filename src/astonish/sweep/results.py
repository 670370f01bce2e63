"""How is one result kept in a file? As a NumPy archive, with a schema in JSON that says what it is the result of."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from astonish.files import whole
from astonish.sweep.made import Made
from astonish.sweep.study import Result, Setting

_SCHEMA = {"format": "astonish result", "version": 1}


class Kept(NamedTuple):
    """A result, the setting that it is the result of, and by which code, and on what, it was computed.

    at_once: with how many episodes in one call on an accelerator; 0 elsewhere.
    """

    name: str
    setting: Setting
    made: Made
    device: str
    at_once: int
    result: Result


def save(path: Path, kept: Kept) -> None:
    """Write a result; the file appears whole or not at all, and the same result gives the same bytes."""
    schema = json.dumps({**_SCHEMA, **kept._asdict(), "setting": dict(kept.setting), "result": list(kept.result)})
    arrays: dict[str, Any] = {f"number{i}": np.asarray(value) for i, value in enumerate(kept.result.values())}
    with whole(path) as file:
        np.savez(file, schema=np.array(schema), **arrays)


def load(path: Path) -> Kept | None:
    """Read a result back; None if the file is damaged. One of a later version of the library is refused."""
    written = path.read_bytes()
    try:
        archive = np.load(BytesIO(written), allow_pickle=False)
        schema = json.loads(str(archive["schema"]))
        kind, version = schema["format"], schema["version"]
        if kind == _SCHEMA["format"] and version <= _SCHEMA["version"]:
            arrays = {name: archive[f"number{i}"] for i, name in enumerate(schema["result"])}
            result = {name: array if array.ndim else array.item() for name, array in arrays.items()}
            return Kept(**{name: schema[name] for name in Kept._fields[:-1]}, result=result)
    except Exception:  # whatever else zipfile, NumPy and JSON think of other bytes
        return None
    if kind != _SCHEMA["format"]:
        return None
    raise ValueError(f"{path} has format version {version}; this library reads up to {_SCHEMA['version']}")
