"""The command `astonish`: its commands, in the order of its help. JAX is imported once a command has work to do."""

from astonish.cli import app, people, reference, studies, watch

for _command in (
    studies.reproduce, people.surprise, people.fit, people.compare, people.recover, studies.sweep, watch.watch,
    watch.explore, reference.learners, reference.cite,
):  # fmt: skip
    app.app.command()(_command)
