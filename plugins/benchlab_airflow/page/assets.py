"""Styles and scripts of pages, for every user with a login: they contain no data."""

from __future__ import annotations

from fastapi import APIRouter, Response

from benchlab.site.page import assets

router = APIRouter()

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_A_YEAR = "private, max-age=31536000, immutable"


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    """A style sheet or script; pages change its address when its content changes."""
    content = assets().get(name)
    if content is None:
        return Response(status_code=404)
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers={"Cache-Control": _A_YEAR})
