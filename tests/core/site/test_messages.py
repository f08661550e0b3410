"""The sentences of the site's templates."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from benchlab.language import codes


@pytest.mark.parametrize("code", codes())
def test_every_sentence_that_a_template_names_is_there(code: str) -> None:
    """A page that is rarely shown, such as that of a campaign at work, does not fail for one."""
    known = (resources.files("benchlab.language") / "locale" / f"{code}.ftl").read_text("utf-8")
    messages = set(re.findall(r"^([a-z][a-z0-9-]*) =", known, re.MULTILINE))
    templates = resources.files("benchlab.site").joinpath("templates").iterdir()
    named = {
        name
        for template in templates
        for name in re.findall(
            r"""say\("([a-z0-9-]*[a-z0-9])"\s*[,)]""", template.read_text("utf-8")
        )
    }
    assert len(named) > 100
    assert named - messages == set()
