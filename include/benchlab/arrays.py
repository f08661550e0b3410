"""numpy and scipy.special, each imported when it is first used.

Example:
    ``from benchlab.arrays import Array, np`` above, ``np.zeros(3)`` in a function.

Importing them takes a second, and every DAG file that is parsed imports modules that use them.
Importing scipy.stats instead of scipy.special would take another second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy import special

    Array = NDArray[np.float64]
else:

    class _Lazy:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(importlib.import_module(self._name), attribute)
            setattr(self, attribute, value)
            return value

    np, special = map(_Lazy, ("numpy", "scipy.special"))
    Array = NDArray = Any

__all__ = ("Array", "NDArray", "np", "special")
