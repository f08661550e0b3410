"""The route of a campaign's files."""

from __future__ import annotations

import mimetypes
from urllib.parse import quote

from fastapi import APIRouter, Response

from benchlab.site import files
from benchlab_airflow.page.pages import CampaignPath
from benchlab_airflow.page.rights import ReaderDep

router = APIRouter()

# Shown in the browser, where a reader wants to read; all others are downloaded. A file is never
# trusted: it has an origin of its own, runs nothing, and loads nothing but its own pictures.
_READ = {".html", ".md", ".txt", ".csv", ".json", ".svg"}
_SANDBOX = (
    "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'self'"
)


@router.get("/campaigns/{campaign}/files/{name:path}")
def download(reader: ReaderDep, campaign: CampaignPath, name: str) -> Response:
    """A file of the report, a raw output, or a series."""
    content = files.read(reader.site, campaign, name)
    kind, _ = mimetypes.guess_type(name)
    suffix = f".{name.rpartition('.')[2]}".lower()
    if suffix in (".md", ".csv"):
        kind = "text/plain"
    headers = {"Content-Security-Policy": _SANDBOX}
    if suffix not in _READ:
        called = quote(f"{campaign}-{name.rpartition('/')[2]}", safe="")
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{called}"
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)
