"""How the templates of reports, pages and messages are read.

Example:
    ``environment("benchlab.site").get_template("trial.html.j2")``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def environment(
    package: str, *, autoescape: bool = True, keep_trailing_newline: bool = False
) -> jinja2.Environment:
    """The Jinja environment of a package's templates, in which a missing value is an error.

    Args:
        package: whose folder ``templates`` is read.
        autoescape: False only where no HTML is written and values are escaped in another way.
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=autoescape,  # noqa: S701 - on, unless a caller says why not
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
    )
