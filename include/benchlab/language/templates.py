"""How every template of reports, pages and messages is read."""

from __future__ import annotations

import jinja2


def environment(
    package: str, *, autoescape: bool = True, keep_trailing_newline: bool = False
) -> jinja2.Environment:
    """Of the templates in a package; a value that a template names and does not get is an error.

    Args:
        autoescape: False only where no HTML is written, and every value is escaped otherwise.
    """
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=autoescape,  # noqa: S701 - on, unless a caller says why not
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
    )
