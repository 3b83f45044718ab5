"""Records what calls need, in a consumer contract: loaded only if the environment names its file."""

from __future__ import annotations

import atexit
import copy
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from threading import RLock, Timer
from types import new_class
from typing import Any, TypeVar

import msgspec

from ._contract_file import Key, add_needs, read_contract, widened
from ._model import Model
from ._parts import PARTS
from ._response import Response

T = TypeVar("T")

_SOON = 0.1
"""After how many seconds to write what is new: the workers of test runners may be ended."""


def _current_test() -> str | None:
    """The test that runs: pytest names it in the environment, and one of ``unittest`` is on the stack."""
    named = os.environ.get("PYTEST_CURRENT_TEST")
    if named:
        # Without the phase, such as ``(call)``.
        return named.rpartition(" ")[0] or named
    unittest = sys.modules.get("unittest")
    frame = sys._getframe() if unittest else None
    while unittest and frame:
        case = frame.f_locals.get("self")
        if isinstance(case, unittest.TestCase):
            return str(case.id())
        frame = frame.f_back
    return None


def _pointer_to(name: str) -> str:
    return f"/{name.replace('~', '~0').replace('/', '~1')}"


def _within(value: Any) -> Iterator[Any]:
    """The elements of a list, or of a dict."""
    if isinstance(value, (list, dict)):
        yield from value.values() if isinstance(value, dict) else value


def _parts_of(value: Any, path: str, known: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """The members that a JSON value has, each with its value, and the words in it. Where a member is none that is known, its name is the caller's own."""
    if isinstance(value, str):
        yield f"{path}={value}", None
    members = value.items() if isinstance(value, dict) else (("*", inner) for inner in _within(value))
    for name, inner in members:
        named = path + _pointer_to(name)
        place = named if named in known else f"{path}/*"
        yield place, inner
        yield from _parts_of(inner, place, known)


def _measure_of(value: Any) -> tuple[float, ...]:
    """The number that counts of a value: itself, the length of a text, or the number of elements; none of another."""
    if isinstance(value, (str, list)):
        return (len(value),)
    return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else ()


def _pointers_of(value: Any, path: str, maps: frozenset[str]) -> Iterator[str]:
    """The members of an output that came as JSON."""
    is_unnamed = not isinstance(value, dict) or path in maps
    for name, inner in value.items() if isinstance(value, dict) else (("*", inner) for inner in _within(value)):
        place = f"{path}/*" if is_unnamed else path + _pointer_to(name)
        yield place
        yield from _pointers_of(inner, place, maps)


def _read_all(value: Any) -> None:
    """Reads each member, which is told."""
    if isinstance(value, Model):
        for name in value.__struct_fields__:
            _read_all(getattr(value, name))
    for inner in _within(value):
        _read_all(inner)


def _telling(kind: type[Model], path: str, note: Callable[[str], None]) -> type[Model]:
    """A subclass that tells which members are read, by name or as a whole. To print one reads nothing."""
    pointers = {member.name: path + _pointer_to(member.encode_name) for member in msgspec.structs.fields(kind)}

    def read(self: Model, name: str) -> Any:
        value = kind.__getattribute__(self, name)
        if name in pointers:
            # A list or dict of plain values does not tell which of them are read.
            is_plain = isinstance(value, (list, dict)) and not any(isinstance(one, Model) for one in _within(value))
            note(f"{pointers[name]}/*" if is_plain else pointers[name])
        return value

    def plain(self: Model) -> Model:
        made = copy.copy(self)
        made.__class__ = kind
        return made

    def printed(self: Model) -> str:
        return repr(plain(self))

    def reduced(self: Model) -> Any:
        # A copy that crosses processes tells nothing.
        _read_all(self)
        return plain(self).__reduce__()

    def equals(self: Model, other: object) -> bool:
        _read_all(self)
        return plain(self) == other

    def to_dict(self: Model) -> dict[str, Any]:
        _read_all(self)
        return kind.to_dict(self)

    def to_json(self: Model) -> str:
        _read_all(self)
        return kind.to_json(self)

    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__getattribute__": read,
        "__repr__": printed,
        "__reduce__": reduced,
        "__eq__": equals,
        "to_dict": to_dict,
        "to_json": to_json,
    }
    return new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(members))


class _Told(Response[T]):
    """A reply whose body, if it is read, is read as a whole."""

    def __getattribute__(self, name: str) -> Any:
        if name == "body":
            object.__getattribute__(self, "_read_body")()
        return object.__getattribute__(self, name)


@dataclass
class _Need:
    """What calls of one test that send the same need."""

    extremes: dict[str, Sequence[float]] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)
    decodes: bool = False


class CallRecord:
    """What is recorded of one call."""

    def __init__(self, recorder: Recorder, operation: str, content: bytes) -> None:
        """Begins with what it sends: a body."""
        sends, measured, maps = PARTS[operation]
        parts = list(_parts_of(msgspec.json.decode(content)["json"], "", frozenset(sends)))
        seen = {name for name, _ in parts}
        self._key = Key(_current_test(), operation, tuple(name for name in sends if name in seen))
        measures = ((place, _measure_of(value)) for place, value in parts if place in measured)
        self._extremes = widened(*({place: measure} for place, measure in measures if measure))
        self._maps = frozenset(maps)
        self._recorder = recorder

    def begin(self) -> None:
        """Records a stream that the service opened."""
        self._note()

    def answer(self, output: T) -> T:
        """Records an output, or an event. It tells from now on what is read of it."""
        self._note(decodes=isinstance(output, Model))
        if isinstance(output, Model):
            self._watch(output, "")
        else:
            self._read(*_pointers_of(output, "", self._maps))
        return output

    def told(self, response: Response[T]) -> Response[T]:
        """Records a reply."""
        data = self.answer(response.data)
        told = _Told(**{member.name: getattr(response, member.name) for member in fields(response)})
        object.__setattr__(told, "_read_body", lambda: _read_all(data))
        return told

    def fail(self, reason: str) -> None:
        """Records a failure of the service."""
        self._note(reasons=(reason,))

    def _note(self, **more: Any) -> None:
        self._recorder.note(self._key, extremes=self._extremes, **more)

    def _read(self, *pointers: str) -> None:
        self._note(reads=pointers)

    def _watch(self, value: Any, path: str) -> None:
        if isinstance(value, Model):
            for member in msgspec.structs.fields(value):
                self._watch(getattr(value, member.name), path + _pointer_to(member.encode_name))
            value.__class__ = self._recorder.class_for(self._key, type(value), path)
        for inner in _within(value):
            self._watch(inner, f"{path}/*")


class Recorder:
    """Records what calls need, and writes it to a file when something is new."""

    def __init__(self, file: Path) -> None:
        """Adds to a file, which need not be there.

        Raises:
            UsageError: It is no consumer contract.
        """
        read_contract(file)
        self._file = file
        self._needs: dict[Key, _Need] = {}
        self._classes: dict[tuple[Key, type[Model], str], type[Model]] = {}
        self._lock = RLock()
        self._is_written = True
        atexit.register(self._write)

    def of(self, operation: str, content: bytes) -> CallRecord | None:
        """What is recorded of a call; ``None`` of an operation that is newer than this package."""
        return CallRecord(self, operation, content) if operation in PARTS else None

    def class_for(self, key: Key, kind: type[Model], path: str) -> type[Model]:
        """The class of what is at a place of an output, which tells what is read."""
        made = (key, kind, path)
        if made not in self._classes:
            self._classes[made] = _telling(kind, path, lambda pointer: self.note(key, reads=(pointer,)))
        return self._classes[made]

    def note(
        self,
        key: Key,
        *,
        extremes: dict[str, Sequence[float]] | None = None,
        reads: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        decodes: bool = False,
    ) -> None:
        """Adds to a need."""
        with self._lock:
            need = self._needs.get(key)
            wider = widened(need.extremes if need else {}, extremes or {})
            if (
                need
                and need.extremes == wider
                and need.reads.issuperset(reads)
                and need.reasons.issuperset(reasons)
                and need.decodes >= decodes
            ):
                return
            need = self._needs.setdefault(key, _Need())
            need.extremes = wider
            need.reads.update(reads)
            need.reasons.update(reasons)
            need.decodes |= decodes
            if self._is_written:
                self._is_written = False
                timer = Timer(_SOON, self._write)
                timer.daemon = True
                timer.start()

    def _write(self) -> None:
        with self._lock:
            if self._is_written:
                return
            self._is_written = True
            needs = [
                {
                    **key._asdict(),
                    "sends": list(key.sends),
                    "extremes": need.extremes,
                    "reads": need.reads,
                    "reasons": need.reasons,
                    "decodes": need.decodes,
                }
                for key, need in self._needs.items()
            ]
            add_needs(self._file, needs)


@cache
def recorder_of(name: str) -> Recorder:
    """What records in a file.

    Raises:
        UsageError: It is no consumer contract.
    """
    return Recorder(Path(name).absolute())
