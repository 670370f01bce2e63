"""Which words does the command `astonish` understand?

This file stands beside the package, not in it, so that help comes at once: importing astonish imports JAX, which takes
most of a second.
"""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

try:
    import rich  # noqa: F401 - used behind the command; said here if it is missing
    import typer
except ModuleNotFoundError as missing:
    sys.exit(f"astonish: the command needs {missing.name}, which is not installed; pip install 'astonish[cli]'")

from astonish_citations import cited, listing

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


File = Annotated[
    Path, typer.Argument(help="Table with a row for each trial: .csv, .tsv (also .gz) or .parquet.", show_default=False)
]
Outcome = Annotated[
    list[str],
    typer.Option(help="Column of the outcome. Twice for transitions: where from, where to.", show_default=False),
]
Subject = Annotated[str | None, typer.Option(help="Column that names the participant.", show_default=False)]
Block = Annotated[
    str | None,
    typer.Option(
        help="Column that numbers blocks, or has 1 on first trials; the belief starts anew.", show_default=False
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help="Of the outcome: continuous, binary, categorical or transitions; else guessed.", show_default=False
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(help="An outcome that can occur, once for each; else those that do.", show_default=False),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter, such as m=0.1, noise=25 or mean=0.", show_default=False),
]
Given = Annotated[
    list[str] | None,
    typer.Option(help="A parameter that a column gives trial by trial, such as noise=sigma.", show_default=False),
]
LEARNERS = (
    "smile, varsmile, bayes, leaky, message-passing, particle-filter; for numbers also delta, pearce-hall, kalman, "
    "nassar2010, nassar2012 (or reduced-bayes), nassar-gaussian2010, nassar-gaussian2012."
)
TO_FIND = f"A learner, perhaps with the parameters to be found, as in smile:m or smile:m,noise. {LEARNERS}"
Answer = Annotated[str, typer.Option(help="Column of the response.", show_default=False)]
When = Annotated[
    str,
    typer.Option(help="Whether it is given before or after the outcome of its trial is seen.", show_default=False),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        help="Column that marks trials after whose outcome the response is not explained.", show_default=False
    ),
]
Range = Annotated[
    tuple[float, float] | None, typer.Option("--range", help="Least and largest response.", show_default=False)
]
Respond = Annotated[
    str | None,
    typer.Option(help="How: estimate, sticky, softmax or readout; else by the kind of response.", show_default=False),
]
FreeRunning = Annotated[
    bool, typer.Option("--free-running", help="The learner does not go on from the participant's own last answer.")
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        help="Another parameter of the response to be found: growth, perseveration, lapse.", show_default=False
    ),
]
Starts = Annotated[int, typer.Option(help="Searches for each participant, from different places.")]
Seed = Annotated[int, typer.Option(help="Seed of all chance; the same seed gives the same numbers.")]


@app.callback()
def astonish() -> None:
    """Surprise-driven learning: how surprising is each trial, which learner is like people, and the paper behind it."""


@app.command()
def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which figures: 1 to 8, ceiling, sweeps; all of these when none is named. "
            "Or liakoni2021, a comparison with published errors.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, numbers and the report.")] = Path("figures"),
    seed: Annotated[int, typer.Option(help="Seed of all chance; the same seed gives the same files.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Small versions, to see that it works.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the published numbers, for liakoni2021.", show_default=False)
    ] = None,
) -> None:
    """Compute the paper's figures, and check what it claims.

    Numbers are kept table by table: after an interruption the same command goes on where it stopped.
    """
    with _imports("figures need"):
        from astonish.commands.reproduce import reproduce as command
    raise typer.Exit(command(figure or [], out, seed, quick, data))


@app.command()
def surprise(
    file: File,
    outcome: Outcome,
    subject: Subject = None,
    block: Block = None,
    kind: Kind = None,
    label: Label = None,
    learner: Annotated[str, typer.Option(help=LEARNERS)] = "smile",
    settings: Settings = None,
    given: Given = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A measure of surprise, such as shannon or bayesian, or all; else the learner's own."),
    ] = None,
    hazard: Annotated[
        float | None, typer.Option(help="Chance of a change before each trial, for measures that reckon with it.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Goes before the names of new columns.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids."),
    ] = None,
    bids: Annotated[bool, typer.Option("--bids", help="Write events files in a BIDS folder.")] = False,
    onset: Annotated[str, typer.Option(help="For BIDS: column of onsets in seconds.")] = "onset",
    duration: Annotated[str, typer.Option(help="For BIDS: column of durations, or seconds for all.")] = "duration",
    task: Annotated[str, typer.Option(help="For BIDS: what the task is called.")] = "task",
) -> None:
    """How surprising was each trial? Adds columns of surprise, learning rate, estimates and more to a table.

    astonish surprise trials.csv --outcome x --subject id --block run --learner varsmile --measure all
    """
    with _imports("tables need"):
        from astonish.commands.surprise import surprise as command
    code = command(
        file,
        outcome=outcome,
        subject=subject,
        block=block,
        kind=kind,
        label=label or [],
        learner=learner,
        settings=settings or [],
        given=given or [],
        measure=measure or [],
        hazard=hazard,
        prefix=prefix,
        out=out,
        bids=bids,
        onset=onset,
        duration=duration,
        task=task,
    )
    raise typer.Exit(code)


def _about_people(
    file: File,
    outcome: Outcome,
    response: Answer,
    response_time: When,
    subject: Subject = None,
    block: Block = None,
    ignore: Ignore = None,
    given: Given = None,
    kind: Kind = None,
    label: Label = None,
    response_range: Range = None,
    settings: Settings = None,
    respond: Respond = None,
    free_running: FreeRunning = False,
    also: Also = None,
) -> dict[str, Any]:
    """What is said about a table of responses, as `commands.people.Words` takes it."""
    lists = {"ignore": ignore, "given": given, "label": label, "settings": settings, "also": also}
    return {
        "file": file,
        "outcome": outcome,
        "response": response,
        "response_time": response_time,
        "subject": subject,
        "block": block,
        "kind": kind,
        "range": response_range,
        "respond": respond,
        "free_running": free_running,
        **{name: words or [] for name, words in lists.items()},
    }


def people(command: Callable[..., None]) -> Callable[..., None]:
    """A command about responses: what is said about their table is among its options, and reaches it as one."""
    said, own = (list(signature(each).parameters.values()) for each in (_about_people, command))
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in (*said, *own[1:])]

    def run(**words: Any) -> None:
        with _imports("fits need"):
            from astonish.commands.people import Words
        about = Words(**_about_people(**{option.name: words.pop(option.name) for option in said}))
        command(about, **words)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in options}
    setattr(run, "__signature__", Signature(options))  # noqa: B010 - which is what typer looks at
    return run


@app.command()
@people
def fit(
    said: Any,
    learner: Annotated[str, typer.Option(help=TO_FIND)] = "smile",
    shared: Annotated[
        list[str] | None, typer.Option(help="A parameter that is the same for all participants.", show_default=False)
    ] = None,
    starts: Starts = 10,
    seed: Seed = 0,
    posterior: Annotated[
        int, typer.Option(help="Also so many draws of each chain from the posterior of participants and group.")
    ] = 0,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path("fit"),
) -> None:
    """Which parameters explain each participant's responses best?

    astonish fit trials.csv --outcome x --response b --response-time before --subject id --learner smile
    """
    with _imports("fits need"):
        from astonish.commands.fit import fit_table
    raise typer.Exit(fit_table(said, learner, shared or [], starts, seed, posterior, out, _typed()))


@app.command()
@people
def compare(
    said: Any,
    learner: Annotated[
        list[str] | None, typer.Option(help=f"{TO_FIND} Once for each; the first is the baseline.", show_default=False)
    ] = None,
    starts: Starts = 10,
    seed: Seed = 0,
    blocks: Annotated[bool, typer.Option("--held-out", help="Also leave out blocks, and predict them.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path("comparison"),
) -> None:
    """Which learner explains people's responses best?

    astonish compare trials.csv --outcome x --response b --response-time before --subject id --learner delta
    --learner smile --learner reduced-bayes:hazard,surprise_sensitivity
    """
    with _imports("fits need"):
        from astonish.commands.compare import compare_models
    raise typer.Exit(compare_models(said, learner or ["delta", "smile"], starts, seed, blocks, out, _typed()))


@app.command()
@people
def recover(
    said: Any,
    learner: Annotated[
        list[str] | None, typer.Option(help=f"{TO_FIND} Several: could they be told apart?", show_default=False)
    ] = None,
    participants: Annotated[int, typer.Option(help="How many to simulate with each learner.")] = 200,
    trials: Annotated[
        list[int] | None,
        typer.Option(help="Also with so many trials, once for each number: how many are needed?", show_default=False),
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path("recovery"),
) -> None:
    """Would the parameters, and the right learner, be found if they were known? Ask before fitting.

    astonish recover trials.csv --outcome x --response b --response-time before --subject id --learner smile
    """
    with _imports("fits need"):
        from astonish.commands.recover import recover as command
    raise typer.Exit(command(said, learner or ["smile"], participants, trials or [], seed, out, _typed()))


@app.command()
def sweep(
    study: Annotated[
        Path,
        typer.Argument(help="What to compute: a .toml file, or a .py file with a study in it.", show_default=False),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; else the name of the study.", show_default=False)
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--scheduler", help="Of a running Dask cluster, such as tcp://10.0.0.1:8786.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--local-cluster", min=1, help="So many processes, rather than threads.", show_default=False),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes in one call on an accelerator; else what fills it.", show_default=False),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Replace results of other settings or other code.")] = False,
) -> None:
    """Compute many settings on all cores, an accelerator or a cluster; each result is kept as soon as it is there.

    The same command goes on where it stopped, and tries again what failed.
    """
    with _imports("sweeps need"):
        from astonish.commands.sweep import sweep as command

        code = command(study, out, address, workers, at_once, anew)
    raise typer.Exit(code)


@app.command()
def explore(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's own can be reached by others.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; else 8765, or any that is free.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Try learners, shape beliefs and look at your own data on a page in the browser; nothing leaves this machine."""
    with _imports("the page needs"):
        from astonish.commands.explore import explore as command

        code = command(host, port, browser)
    raise typer.Exit(code)


@app.command()
def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A learner, a measure of surprise, a method, or software.", show_default=False),
    ] = None,
) -> None:
    """What to cite, as BibTeX; without a name, a list of all names.

    astonish cite smile software
    """
    try:
        found = {entry.key: entry.bibtex for name in what or [] for entry in cited(name)}
    except ValueError as problem:
        typer.echo(f"astonish: {problem}", err=True)
        raise typer.Exit(2) from None
    typer.echo("\n\n".join(found.values()) if what else "\n".join(listing()))


def _typed() -> str:
    """What was typed, to be typed again."""
    return shlex.join(["astonish", *sys.argv[1:]])


@contextmanager
def _imports(what: str) -> Iterator[None]:
    """Imports of the library, which may be cut short, or miss a package that is not of the library itself."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("astonish: stopped", err=True)
        raise typer.Exit(130) from None
    except ModuleNotFoundError as missing:
        if (missing.name or "astonish").startswith("astonish"):
            raise
        sys.exit(f"astonish: {what} {missing.name}, which is not installed; pip install 'astonish[all]'")


def main() -> None:
    """Where the command begins."""
    app()
