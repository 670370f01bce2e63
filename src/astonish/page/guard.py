"""Who may ask the page, and how is everybody else refused?

The page answers only to names of this machine, so that no other site can reach it through the browser. Where other
machines can reach it, it answers only to those who show its token: once in a link, and then in a cookie.
"""

from contextlib import suppress
from hmac import compare_digest
from ipaddress import ip_address
from socket import getfqdn, gethostname
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; "  # blob: a plot that is saved as PNG
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Refuses other names than those of this machine, other sites, and whoever lacks the token, if there is one.

    host: the address the page listens on. It adds headers that bind the browser to every answer.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None) -> None:
        self.app, self.token, self.is_local = app, token, is_loopback(host)
        own = () if self.is_local else (gethostname(), getfqdn())
        self.names = {name.lower() for name in (*LOOPBACK, host, *own)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, cookie = HTTPConnection(scope), f"astonish-{scope['server'][1]}"  # browsers share cookies across ports
        refusal = self.refused(request.headers, scope["path"])
        by_link = refusal is None and self._is_token(request.query_params.get("token", ""))
        if refusal is None and self.token and not (by_link or self._is_token(request.cookies.get(cookie, ""))):
            refusal = "this page answers only to those who have its link; open the one that astonish explore printed"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # a report has a policy of its own
                if by_link:
                    headers.append("set-cookie", f"{cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        await (sentence(403, refusal) if refusal else self.app)(scope, receive, sending)

    def refused(self, headers: Headers, path: str) -> str | None:
        """Why a request is not answered, if it is not, whatever token it shows."""
        name = ""
        with suppress(ValueError):  # what is no address names nobody
            name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        if not self._is_ours(name):
            return f"this page answers to {' or '.join(LOOPBACK[:2])}, not to {name[:60]!r}; use the address it gave"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            return f"requests from {origin[:60]!r} are not answered; use the page itself"
        if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "requests from other sites are not answered; use the page itself"
        return None

    def _is_ours(self, name: str) -> bool:
        """A number is safe where others can reach us: it is names that can be made to point here (DNS rebinding)."""
        if name in self.names:
            return True
        with suppress(ValueError):
            return not self.is_local and bool(ip_address(name))
        return False

    def _is_token(self, text: str) -> bool:
        return self.token is not None and compare_digest(text.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def sentence(code: int, words: str) -> JSONResponse:
    """A refusal, as the page reads it."""
    return JSONResponse({"error": words}, code)
