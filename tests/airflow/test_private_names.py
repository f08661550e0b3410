"""Private names of Airflow stand in one module, and are there in this release."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from benchlab_airflow.private_names import PRIVATE_NAMES

PROJECT = Path(__file__).parents[2]
# What "Public Interface for Airflow 3.0+" names, beside all that `airflow.sdk` exports itself: base
# classes, exceptions, types, and what providers and plugins are made of. The list of `airflow.sdk`
# is its `__all__`, and the Task SDK's reference adds `mask_secret` and `timezone`.
PUBLIC_MODULES = (
    *("airflow.sdk.bases", "airflow.sdk.exceptions", "airflow.sdk.types"),
    *("airflow.providers", "airflow.listeners", "airflow.plugins_manager"),
    *("airflow.timetables.base", "airflow.triggers.base"),
)
PUBLIC_NAMES = {("airflow.sdk.log", "mask_secret"), ("airflow.sdk", "timezone")}


def is_public(module: str, name: str) -> bool:
    """Whether Airflow's public interface has a name."""
    if module == "airflow.sdk" and name in importlib.import_module(module).__all__:
        return True
    within = any(module == one or module.startswith(f"{one}.") for one in PUBLIC_MODULES)
    return within or (module, name) in PUBLIC_NAMES


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of Airflow, wherever in it: modules, and names in them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("folder", ["dags", "plugins", "include"])
def test_no_module_imports_a_private_name_of_airflow(folder: str) -> None:
    """They come from `benchlab_airflow.private_names`."""
    private = [
        f"{path.relative_to(PROJECT)}: {module} {name}"
        for path in sorted((PROJECT / folder).rglob("*.py"))
        for module, name in imports(path)
        if module.partition(".")[0] == "airflow" and not is_public(module, name)
    ]
    assert private == []


@pytest.mark.parametrize(("name", "module"), PRIVATE_NAMES.items())
def test_each_private_name_is_there(name: str, module: str) -> None:
    """In the release of Airflow that is installed; and it is private, else it needs no entry."""
    assert not is_public(module, name)
    assert hasattr(importlib.import_module(module), name)


def test_the_architecture_names_the_release_that_is_tested() -> None:
    """A page says which releases of Airflow Benchlab is tested with: this one and no other."""
    page = (PROJECT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"tested with Airflow {version('apache-airflow')}." in " ".join(page.split())
