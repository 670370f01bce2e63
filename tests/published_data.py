"""Published data, which is not part of the project: where it is looked for, and what skips a test without it."""

import os
from pathlib import Path
from typing import Any

import pytest


def published_data(name: str, what: str) -> tuple[Path, Any]:
    """Name the folder in which data is looked for, and a mark for the tests that need it."""
    folder = Path(os.environ.get("ASTONISH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / name
    advice = f"name a folder that has {name}/ by ASTONISH_DATA"
    return folder, pytest.mark.skipif(not folder.is_dir(), reason=f"no {what} in {folder}; {advice}")
