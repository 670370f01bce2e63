"""What was sent with a request, refused as soon as it is seen to be too much."""

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request, of at most so many bytes."""
    too_much = HTTPException(413, f"that is more than {most / 2**20:g} MB, which is the most that is taken; send less")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 12 or int(length) > most:
        raise too_much
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise too_much
    return bytes(body)
