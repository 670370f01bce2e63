"""Headers that bind the browser, and refusal of other sites and of everybody who lacks the token.

Which names of the machine are answered is left to Starlette's `TrustedHostMiddleware`, so that no other site can reach
the page through the browser (DNS rebinding). Where other machines can reach the page, it answers only to those who
show its token: once in a link, and then in a cookie.
"""

from contextlib import suppress
from hmac import compare_digest
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """Middleware that refuses other sites and requests without the token, and adds `HEADERS` to every answer.

    Args:
        app: What is guarded.
        token: The secret, if there is one.
    """

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, cookie = HTTPConnection(scope), f"astonish-{scope['server'][1]}"  # browsers share cookies across ports
        refusal = from_elsewhere(request.headers, scope["path"])
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

    def _is_token(self, text: str) -> bool:
        return self.token is not None and compare_digest(text.encode(), self.token.encode())


def from_elsewhere(headers: Headers, path: str) -> str | None:
    """Say why a request is refused that comes from another site; None if it does not."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return f"requests from {origin[:60]!r} are not answered; use the page itself"
    if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "requests from other sites are not answered; use the page itself"
    return None


def trusted_hosts(host: str, token: str | None) -> list[str]:
    """List the names that the page answers to; all where the token keeps others out."""
    return ["*"] if token else ["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host]


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def sentence(code: int, words: str) -> JSONResponse:
    """Refuse, in the form that the page reads."""
    return JSONResponse({"error": words}, code)
