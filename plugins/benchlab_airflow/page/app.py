"""The benchmark site in Airflow's API server, for users that Airflow's auth manager admits.

Airflow does not authenticate requests to a plugin's FastAPI app. So the app as a whole depends on
:func:`~benchlab_airflow.page.rights.person`, and no route can be added without it. Whatever reads
the store depends on :func:`~benchlab_airflow.page.rights.reader`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.exceptions import HTTPException

from benchlab.errors import BenchlabError, SpecError, StoreError
from benchlab.language import Said, codes, message, said_by
from benchlab.site import documents
from benchlab.site.page import Page, PageError, Site, render
from benchlab_airflow.page import assets, pages
from benchlab_airflow.page.navigation import PREFIX
from benchlab_airflow.page.rights import LANGUAGE, NotAllowed, person, reader, store_failed

# Pages load only their own styles and scripts, and are framed only by Airflow.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOGIN = "/api/v2/auth/login"
_A_YEAR_S = 365 * 24 * 3600


def make() -> FastAPI:
    """Build the app with all its routes."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, dependencies=[Depends(person)])
    app.include_router(assets.router)
    app.include_router(pages.router, dependencies=[Depends(reader)])
    app.middleware("http")(_with_headers)
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(RequestValidationError)(_unreadable)
    app.exception_handler(BenchlabError)(_failed)
    return app


async def _with_headers(
    request: Request, answer: Callable[[Request], Awaitable[Response]]
) -> Response:
    response = await answer(request)
    if (language := request.query_params.get("language")) in codes():
        # Links in Airflow's menu have no language, so the cookie keeps it.
        path = request.scope["root_path"]
        response.set_cookie(LANGUAGE, language, _A_YEAR_S, path=path, httponly=True)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _refused(request: Request, error: HTTPException) -> Response:
    """Redirect a user who is not logged in to the login and back; a program gets the status."""
    if error.status_code == 401 and _is_navigation(request):
        base = str(request.scope["root_path"]).removesuffix(PREFIX)
        return RedirectResponse(f"{base}{_LOGIN}?next={quote(str(request.url), safe='')}", 302)
    return _problem(request, error.status_code, error.detail)


def _is_navigation(request: Request) -> bool:
    """Whether a browser navigates to a page; it says so itself only over HTTPS or on loopback."""
    if mode := request.headers.get("sec-fetch-mode"):
        return mode == "navigate"
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


async def _unreadable(request: Request, error: RequestValidationError) -> Response:
    fields = dict.fromkeys(str(fault["loc"][-1]) for fault in error.errors())
    return _problem(request, 422, message("site-bad-fields", fields=", ".join(fields)))


async def _failed(request: Request, error: BenchlabError) -> Response:
    if isinstance(error, PageError):
        return _problem(request, 403 if isinstance(error, NotAllowed) else 404, said_by(error))
    if isinstance(error, SpecError):
        return _problem(request, 422, str(error))
    if isinstance(error, StoreError):
        return _problem(request, 503, store_failed(error))
    return _problem(request, 500, str(error))


def _problem(request: Request, status: int, said: Said) -> Response:
    """A page that says what is wrong; plain text if the user is not known."""
    site: Site | None = getattr(request.state, "site", None)
    if site is None:
        return PlainTextResponse(str(said), status)
    place = request.url.path.partition(f"{PREFIX}/")[2]
    title = site.language.say("site-problem", status=str(status))
    page = Page(place, "", title, "problem.html.j2", {"text": site.language.text(said)})
    if site.as_json:
        return Response(documents.text(site, page), status, media_type="application/json")
    return HTMLResponse(render(site, page), status)
