"""A tour of the paper: what it says, whether that holds, and what breaks it; one idea per screen."""

from collections.abc import Mapping
from typing import Any

from astonish.core.precision import double
from astonish.page.controls import Json, one_of
from astonish.page.tour.screen import Screen
from astonish.page.tour.screens import SCREENS


class TourTab:
    """The screens, one of which is answered at a time."""

    screens: Mapping[str, Screen] = {screen.name: screen for screen in SCREENS}

    def controls(self) -> Json:
        return {"screens": [screen.described() for screen in SCREENS]}

    def answer(self, request: Any) -> Json:
        """Show one screen; the first if none is named."""
        name, asked = SCREENS[0].name, request
        if isinstance(request, dict):
            name = request.get("screen", name)
            asked = {key: value for key, value in request.items() if key != "screen"}
        screen = self.screens[one_of("screen", name, self.screens)]
        with double():
            return screen.answer(asked)
