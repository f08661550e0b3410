"""The benchmark site inside Airflow's API server, for those whom Airflow's auth manager lets in.

A FastAPI app of a plugin gets no authentication from Airflow. Here every route depends on
:func:`~benchlab_airflow.page.rights.site_of`, so that none can be added without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from benchlab.site import overview
from benchlab.site.page import Page, Site, assets, render
from benchlab_airflow.page.rights import site_of

_TYPES = {"css": "text/css", "js": "text/javascript"}
# Pages load their own style and script, nothing else, and are shown inside Airflow only.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Reader = Annotated[Site, Depends(site_of)]


def make() -> FastAPI:
    """The app, with every page as a route."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, dependencies=[Depends(site_of)])

    @app.middleware("http")
    async def with_headers(request: Request, answer: Callable[[Request], Response]) -> Response:
        response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    @app.get("/assets/{name}")
    def asset(name: str) -> Response:
        content = assets().get(name)
        if content is None:
            return Response(status_code=404)
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]])

    @app.get("/")
    def show_overview(site: Reader) -> HTMLResponse:
        return _shown(site, overview.overview(site))

    return app


def _shown(site: Site, page: Page) -> HTMLResponse:
    return HTMLResponse(render(site, page))
