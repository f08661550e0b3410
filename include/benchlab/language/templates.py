"""Loads the templates of reports, pages and messages.

Example:
    ``environment("benchlab.site").get_template("trial.html.j2")``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import jinja2


def environment(
    *packages: str,
    autoescape: bool = True,
    keep_trailing_newline: bool = False,
    finalize: Callable[[object], object] | None = None,
) -> jinja2.Environment:
    """A Jinja environment for the templates of packages, in which a missing value is an error.

    Args:
        packages: those with a folder ``templates``; the first that has a template provides it.
        autoescape: False only if no HTML is written and values are escaped in another way.
        finalize: applied to each value before it is escaped.
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=autoescape,  # noqa: S701 - on, unless a caller says why not
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
        finalize=finalize,
    )
