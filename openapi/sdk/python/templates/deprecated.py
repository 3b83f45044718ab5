"""Marks what is deprecated, as Python does from 3.13 on."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    # Type checkers know this name without the package.
    from typing_extensions import deprecated as deprecated
elif sys.version_info >= (3, 13):
    from warnings import deprecated as deprecated
else:
    P = ParamSpec("P")
    R = TypeVar("R")

    def deprecated(message: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """A decorator for functions that warn when they are called."""

        def mark(function: Callable[P, R]) -> Callable[P, R]:
            @functools.wraps(function)
            def marked(*args: P.args, **kwargs: P.kwargs) -> R:
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                return function(*args, **kwargs)

            marked.__deprecated__ = message
            return marked

        return mark
