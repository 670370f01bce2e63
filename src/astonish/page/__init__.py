"""A local web page on which to try learners, and to shape beliefs, by hand (`pip install 'astonish[page]'`)."""

from astonish.core.refusal import check_installed

check_installed("the page needs", "anyio", "matplotlib", "pandas", "pydantic", "starlette")
