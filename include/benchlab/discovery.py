"""Finds the members of a family by presence: a new member is a new file, with no list to edit."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def members(package: str, attribute: str) -> dict[str, ModuleType]:
    """The modules and packages directly in ``package`` that have ``attribute``, by name.

    Example:
        ``members("benchlab.engines", "Engine")`` finds ``mariadb`` and ``tidb``.
    """
    found = {
        entry.name: importlib.import_module(f"{package}.{entry.name}")
        for entry in pkgutil.iter_modules(importlib.import_module(package).__path__)
    }
    return {name: module for name, module in found.items() if hasattr(module, attribute)}
