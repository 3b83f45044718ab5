from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args

import msgspec

from ._errors import UsageError

T = TypeVar("T")


def _listed(value: Any) -> Any:
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"JSON has no form for {type(value).__name__}")


def encoded(value: Any, operation: str = "") -> bytes:
    """A value as JSON. What can be iterated, such as a generator, becomes a list.

    Raises:
        UsageError: It has none, as of a text with half of a surrogate pair.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_listed)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        call = f"{operation}: " if operation else ""
        raise UsageError(f"{call}the input can't be written as JSON: {error}", operation=operation) from error


class Model(msgspec.Struct):
    """What is sent or answered."""

    def to_dict(self) -> dict[str, Any]:
        """This as it is in JSON: members have the names of the document, times are text, and what is ``UNSET`` is left out."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return members

    def to_json(self) -> str:
        """The same as a JSON text."""
        return encoded(self).decode()


def _class_in(annotation: object) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next(filter(None, map(_class_in, get_args(annotation))), None)


@cache
def _classes_of(kind: type[Model]) -> dict[str, type[Model]]:
    """The classes of the members that are classes, or lists of them."""
    found = {field.name: _class_in(field.type) for field in msgspec.structs.fields(kind)}
    return {name: inner for name, inner in found.items() if inner}


def modelled(kind: type[Model], value: Any) -> Any:
    """A value in which each dict has become an instance of its class.

    Raises:
        UsageError: A dict lacks a member that is required, or has one that there is none of.
    """
    if isinstance(value, Mapping):
        inner = _classes_of(kind)
        members = {name: modelled(inner[name], item) if name in inner else item for name, item in value.items()}
        try:
            return kind(**members)
        except TypeError as error:
            raise UsageError(f"{kind.__name__}: {error}") from None
    if _is_iterated(value):
        return [modelled(kind, item) for item in value]
    return value


def _is_iterated(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def listed(value: T) -> T:
    """A list of what can be iterated perhaps but once, such as a generator: a walk sends it with each page."""
    return cast(T, list(cast("Iterable[Any]", value))) if _is_iterated(value) else value
