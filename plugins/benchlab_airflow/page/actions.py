"""What a person can change on the site: that somebody has looked into a change.

A campaign is started by the browser, which asks Airflow's own API as the person.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse

from benchlab.errors import StoreError
from benchlab.home import ID
from benchlab.language import message
from benchlab.site.page import NoSuchPage
from benchlab_airflow.page.rights import ReaderDep, changer

router = APIRouter(prefix="/actions")

_LONGEST_NOTE = 500


@router.post("/look")
def look(
    request: Request,
    reader: ReaderDep,
    campaign: Annotated[str, Form(pattern=f"^{ID}$")],
    workload: Annotated[str, Form(max_length=160)],
    done: Annotated[Literal["yes", "no"], Form()],
    guard: Annotated[str, Form(max_length=500)] = "",
    place: Annotated[str, Form(pattern=r"^[A-Za-z0-9_./-]*$")] = "",
    note: Annotated[str, Form(max_length=_LONGEST_NOTE)] = "",
) -> RedirectResponse:
    """Record that somebody has looked into a change, or take it back; show the page again."""
    store = reader.site.store
    try:
        report = store.campaign(campaign).plan.report
    except StoreError as error:
        raise NoSuchPage(message("site-no-campaign", campaign=campaign)) from error
    changer(request, reader, guard, report)
    if done == "yes":
        store.look_into(campaign, workload, reader.user.get_name(), note.strip())
    else:
        store.forget_look(campaign, workload)
    return RedirectResponse(f"../{place.lstrip('/')}", 303)
