"""What is wrong with a body that no gateway of this contract sends: the end of a sentence that begins with its media type."""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

import msgspec

from ._failures import UNREADABLE, one_line

T = TypeVar("T")

MOST_BYTES = 64 * 2**20
"""No reply is nearly as long. What comes after so many bytes isn't read."""
TOO_LONG = f" with a body of more than {MOST_BYTES // 2**20} MiB"
FOREIGN = ", which is no reply of {{service}}"
NO_STREAM = ", which is no stream of events"
CUT_OFF = " whose JSON is cut off"
_NO_ENVELOPE = " without the gateway's envelope"
_MOST_LEVELS = 100
_MOST_FOREIGN_TEXT = 200

_MARKS = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


class UnreadableError(Exception):
    """A body has no output that can be read; ``str()`` of it says why."""


def _is_nested_too_deeply(body: bytes) -> bool:
    level = 0
    in_string = False
    for mark in _MARKS.finditer(body):
        match mark[0]:
            case b'"':
                in_string = not in_string
            case b"[" | b"{" if not in_string:
                level += 1
                if level > _MOST_LEVELS:
                    return True
            case b"]" | b"}" if not in_string:
                level -= 1
    return False


def _fault_of(body: bytes, media_type: str | None, error: Exception | None) -> str:
    """What is wrong with a body in which there is no output; ``error`` is why it isn't JSON, if it isn't."""
    if media_type not in ("application/json", None):
        return FOREIGN if error and "json" not in media_type else _NO_ENVELOPE
    if not body.strip():
        return " with an empty body"
    if _is_nested_too_deeply(body):
        return " whose JSON is nested too deeply"
    if error:
        # Of a number without an end, msgspec says only where it reads no further.
        is_cut = "truncated" in str(error) or f"(byte {len(body)})" in str(error)
        return CUT_OFF if is_cut else " whose JSON is not valid"
    return _NO_ENVELOPE


def _output_in(body: bytes, media_type: str | None) -> dict[str, Any]:
    error: Exception | None = None
    output = None
    try:
        output = msgspec.json.decode(body)["result"]["data"]["json"]
    except UNREADABLE as unreadable:
        error = unreadable
    except (KeyError, TypeError, IndexError):
        pass
    if not isinstance(output, dict):
        raise UnreadableError(_fault_of(body, media_type, error)) from error
    return output


def read_output(body: bytes, media_type: str | None, kind: type[T], cursor: str | None) -> T:
    """Reads the output of a successful reply.

    Args:
        body: The body.
        media_type: Its type, in lower case.
        kind: What the operation answers: a class of outputs, or ``dict``.
        cursor: By which a page was asked for, if it was.

    Raises:
        UnreadableError: There is none.
    """
    output = _output_in(body, media_type)
    if kind is dict:
        return cast(T, output)
    for member in msgspec.structs.fields(cast("type[msgspec.Struct]", kind)):
        if member.required and member.encode_name not in output:
            raise UnreadableError(f" whose output lacks {member.encode_name}")
    next_cursor = output.get("nextCursor")
    if isinstance(next_cursor, str) and next_cursor == cursor:
        # Followed, it would lead here for ever.
        raise UnreadableError(" whose nextCursor is the cursor that was sent")
    try:
        return msgspec.convert(output, kind)
    except UNREADABLE as error:
        text = one_line(str(error)).rstrip(".")
        place = _PLACE.fullmatch(text)
        fault = f"{place[2]}: {place[1]}" if place else text
        raise UnreadableError(f" whose output is not readable: {fault[:_MOST_FOREIGN_TEXT]}") from error
