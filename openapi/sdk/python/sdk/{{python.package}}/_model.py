from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

import msgspec


class Model(msgspec.Struct):
    """What is sent or answered."""

    def to_dict(self) -> dict[str, Any]:
        """This as it is in JSON: members have the names of the document, times are text, and what is ``UNSET`` is left out."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return members

    def to_json(self) -> str:
        """The same as a JSON text."""
        return msgspec.json.encode(self).decode()


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
        TypeError: A dict lacks a member that is required, or has one that there is none of.
    """
    if isinstance(value, Mapping):
        inner = _classes_of(kind)
        return kind(**{name: modelled(inner[name], item) if name in inner else item for name, item in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [modelled(kind, item) for item in value]
    return value
