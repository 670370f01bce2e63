"""Who may ask the page, and how is everybody else refused?

The page answers only to names of this machine, so that no other site can reach it through the browser.
"""

from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    # Plotly sets styles of elements; its own style sheet is ours to serve
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Refuses other names of this machine than `host`, and other sites; adds headers that bind the browser."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = refused(Headers(scope=scope), scope["path"], self.host)
        await (sentence(403, refusal) if refusal else self.app)(scope, receive, sending)


def refused(headers: Headers, path: str, host: str) -> str | None:
    """Why a request is not answered, if it is not."""
    name = ""
    with suppress(ValueError):  # what is no address names nobody
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    if not _is_ours(name, host):
        return f"this page answers to {' or '.join(LOOPBACK[:2])}, not to {name[:60]!r}; use the address it gave"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return f"requests from {origin[:60]!r} are not answered; use the page itself"
    if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "requests from other sites are not answered; use the page itself"
    return None


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _is_ours(name: str, host: str) -> bool:
    """A number is safe where we listen to the network: it is names that can be made to point here (DNS rebinding)."""
    if name in (*LOOPBACK, host):
        return True
    if is_loopback(host):
        return False
    with suppress(ValueError):
        return bool(ip_address(name))
    return False


def sentence(code: int, words: str) -> JSONResponse:
    """A refusal, as the page reads it."""
    return JSONResponse({"error": words}, code)
