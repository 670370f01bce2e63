"""A tour of the paper: what does it say, does it hold, and what breaks it? One idea per screen."""

from collections.abc import Mapping
from typing import Any

from astonish.core.precision import double
from astonish.page.controls import Json, one_of
from astonish.page.tour.bound import BoundScreen
from astonish.page.tour.commitment import CommitmentScreen
from astonish.page.tour.joke import JokeScreen
from astonish.page.tour.jumps import JumpsScreen
from astonish.page.tour.online_em import OnlineEMScreen
from astonish.page.tour.screen import Screen
from astonish.page.tour.switch import SwitchScreen
from astonish.page.tour.visits import VisitsScreen
from astonish.page.tour.voters import VotersScreen

SCREENS: tuple[Screen, ...] = (
    JokeScreen(), VotersScreen(), CommitmentScreen(), BoundScreen(),
    JumpsScreen(), SwitchScreen(), OnlineEMScreen(), VisitsScreen(),
)  # fmt: skip


class TourTab:
    """The screens, one of which is answered at a time."""

    screens: Mapping[str, Screen] = {screen.name: screen for screen in SCREENS}

    def controls(self) -> Json:
        return {"screens": [screen.described() for screen in self.screens.values()]}

    def answer(self, request: Any) -> Json:
        """What is on one screen; the first if none is named."""
        name, asked = SCREENS[0].name, request
        if isinstance(request, dict):
            name, asked = request.get("screen", name), {key: each for key, each in request.items() if key != "screen"}
        screen = self.screens[one_of("screen", name, self.screens)]
        with double():
            return screen.answer(asked)
