"""A stream that `astonish watch` follows: the rows that came since the page asked last."""

from typing import Any

import numpy as np

from astonish.core.numbers import Domain
from astonish.page.controls import Json, check_keys, one, packed
from astonish.watch.stream import KEPT, Feed, Row


class StreamTab:
    """The last rows of a feed, as far as the page has not seen them."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed

    def controls(self) -> Json:
        return {"kept": KEPT}

    def answer(self, request: Any) -> Json:
        """Return the rows after a sample, in columns. is_over: whether no more will come."""
        after = check_keys(request, ("after",)).get("after", 0)
        is_over = self.feed.is_over  # before the rows, lest the last be missed
        rows = self.feed.rows(int(one("after", after, Domain(0, 1e15, whole=True))))
        columns = np.array(rows, float).reshape(len(rows), len(Row._fields)).T
        script = [
            "import sys",
            self.feed.code,
            "for sample, line in enumerate(sys.stdin, start=1):",
            '    if follower.update(float(line.strip() or "nan")):',
            '        print("alarm at sample", sample)',
        ]
        return {
            "rows": {name: packed(column) for name, column in zip(Row._fields, columns, strict=True)},
            "about": self.feed.about,
            "samples": self.feed.samples,
            "alarms": self.feed.alarms,
            "is_over": is_over,
            "python": "\n".join([*script, ""]) if self.feed.code else "",  # as long as nothing follows the stream
        }
