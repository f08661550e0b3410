"""The command that writes the benchmark site as plain files: site."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from benchlab import language
from benchlab.cli import completing
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.hosts.access import Access
from benchlab.results.store import open_store
from benchlab.site import static
from benchlab.site.page import Site
from benchlab.site.static import folder_at

app = typer.Typer()


@app.command("site")
def write_site(
    to: Annotated[
        str, typer.Option("--to", metavar="DIR", help="a directory, or s3://bucket/prefix")
    ],
    code: Annotated[
        str, typer.Option("--language", help=f"of the pages: {', '.join(language.codes())}")
    ] = language.REFERENCE,
    reports: Annotated[
        list[str],
        typer.Option(
            "--report",
            metavar="REPORT",
            autocompletion=completing.report_types,
            help="only this report type; may be given several times",
        ),
    ] = [],  # noqa: B006
    region: Annotated[
        str, typer.Option(metavar="REGION", help="of the bucket, where --to names one")
    ] = "us-east-1",
) -> None:
    """Write the benchmark site as plain files; later, what has changed.

    Overview, campaigns with their reports, and histories, as in Airflow's UI. Each file appears as
    a whole. Files in the directory that this command did not write stay as they are.

    Example: benchlab site --to /srv/www/benchmarks
    """
    home, chosen = find(), language.load(code)
    folder = folder_at(to, region, Access())
    with open_store(home) as store:
        if unknown := sorted(set(reports) - {one.report for one in store.listing.reports()}):
            raise SpecError(f"--report {unknown[0]!r}: there is no campaign of it")
        site = Site(home, store, chosen, datetime.now(UTC), frozenset(reports) or None)
        found = static.write(site, folder)
    print(
        f"{to}: files written {found.written}, unchanged {found.unchanged}, "
        f"removed {found.removed}; the first page is index.html"
    )
