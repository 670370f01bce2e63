"""A tour of the paper: what it says, whether that holds, and what breaks it; one idea per screen."""

from astonish.page.tour.screen import SCREENS
from astonish.page.tour.screens import TourTab

__all__ = ["SCREENS", "TourTab"]
