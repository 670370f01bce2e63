"""Which requests start, follow and cancel a job, and fetch what it has found?"""

import re

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from astonish.page import requests
from astonish.page.body import read_body
from astonish.page.jobs import BusyError, PageJob
from astonish.page.upload import LARGEST

# a report brings its own style and pictures, and nothing in it may run
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


def job_routes() -> list[Route]:
    """What the server adds to its own routes."""
    return [
        Route("/api/jobs/{analysis:str}", _start, methods=["POST"]),
        Route("/api/jobs/{job:str}/events", _follow, methods=["GET"]),
        Route("/api/jobs/{job:str}/cancel", _cancel, methods=["POST"]),
        Route("/api/jobs/{job:str}/results.zip", _results, methods=["GET"]),
        Route("/api/jobs/{job:str}/report.html", _report, methods=["GET"]),
    ]


async def _start(request: Request) -> Response:
    """Start an analysis of the table that is sent, as the words in the address say; name: of its file."""
    state, asked = request.app.state, request.query_params.multi_items()
    name = request.query_params.get("name", "")
    words = [pair for pair in asked if pair[0] != "name"]
    try:
        state.jobs.check()  # before a table is taken
        understood = requests.understood(request.path_params["analysis"], name, words, state.learners)
        async with state.uploads:
            job = state.jobs.start(understood, await read_body(request, LARGEST))
    except BusyError as problem:
        raise HTTPException(429, str(problem)) from None
    return JSONResponse({"job": job.id, "command": understood.command, "seconds": job.seconds})


async def _follow(request: Request) -> Response:
    after = request.query_params.get("after", "0")
    events = _job(request).follow(int(after) if after.isdecimal() and len(after) < 9 else 0)
    return StreamingResponse(events, media_type="text/event-stream")


async def _cancel(request: Request) -> Response:
    await to_thread.run_sync(_job(request).end)
    return JSONResponse({})


async def _results(request: Request) -> Response:
    job = _job(request)
    if job.archive is None:
        raise HTTPException(404, "there are no results yet; wait until the analysis is done")
    return _download(job.archive, "application/zip", f"{_name(job)}.zip")


async def _report(request: Request) -> Response:
    """The report by itself: to look at, or, with ?download, to keep."""
    job = _job(request)
    if not job.report:
        raise HTTPException(404, "there is no report yet; wait until the analysis is done")
    if "download" in request.query_params:
        return _download(job.report.encode(), "text/html; charset=utf-8", f"{_name(job)}.html")
    return HTMLResponse(job.report, headers={"content-security-policy": REPORT_POLICY})


def _job(request: Request) -> PageJob:
    job: PageJob | None = request.app.state.jobs.find(request.path_params["job"])
    if job is None:
        raise HTTPException(404, "this analysis is not known any more; start it again")
    return job


def _name(job: PageJob) -> str:
    """Of files to keep: letters, digits and hyphens only."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", job.request.trials.file.name.partition(".")[0]).strip("-")
    return "-".join(part for part in ("astonish", job.request.analysis, stem) if part)


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
