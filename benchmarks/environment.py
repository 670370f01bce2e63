"""Where do the rivals live, and how are they asked?

They pin an older JAX than ours, so they have an environment of their own, beside this file, made when first needed. The
variable ASTONISH_RIVALS may name the interpreter of another one.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / ".rivals"


def ask(question: str, **what: Any) -> dict[str, Any]:
    """What `rivals.py` answers to a question, by name; nothing where there are no rivals."""
    python = interpreter()
    if python is None:
        return {}
    request = json.dumps({"question": question, "what": what})
    done = subprocess.run([python, HERE / "rivals.py"], input=request, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"\nThe rivals failed, so they are left out here: {_last_line(done.stderr)}")
        return {}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@cache
def interpreter() -> str | None:
    """The interpreter of the rivals' environment, which is made if missing; None if that fails."""
    given = os.environ.get("ASTONISH_RIVALS")
    if given:
        return given
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    return str(python) if python.exists() or _made(python) else None


def _made(python: Path) -> bool:
    print(f"\nMaking an environment for the rivals in {FOLDER} (once; a minute or more) ...", flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(HERE / "rivals.txt")]
    for command in ([sys.executable, "-m", "venv", str(FOLDER)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"That failed, so the rivals are left out: {_last_line(done.stderr)}")
            shutil.rmtree(FOLDER, ignore_errors=True)
            return False
    return True


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
