"""The file of a consumer contract, to which each run of tests adds."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ._errors import UsageError
from ._version import CONTRACT, ENVIRONMENT

_NAMED = re.compile(r"^\[(?:project|tool\.poetry)\].*\n(?:(?!\[).*\n)*?name\s*=\s*[\"']([^\"'\n]+)", re.MULTILINE)
_KEYS = re.compile("{{key.prefix}}[0-9a-z]+", re.IGNORECASE)
_WAIT_SECONDS = 0.005
_MOST_WAITS = 1000


class Key(NamedTuple):
    """Needs with the same are one."""

    test: str | None
    operation: str
    sends: tuple[str, ...]


def _key_of(need: dict[str, Any]) -> Key:
    return Key(need.get("test"), need["operation"], tuple(need["sends"]))


def _masked(need: dict[str, Any]) -> dict[str, Any]:
    """A need without API keys in the name of its test, which a file would keep."""
    test = need.get("test")
    return {**need, "test": test and _KEYS.sub("{{key.prefix}}…", test)}


def _order(key: Key) -> str:
    return json.dumps(key, ensure_ascii=False, separators=(",", ":"))


def read_contract(file: Path) -> dict[str, Any]:
    """The contract in a file; empty if there is none.

    Raises:
        UsageError: The file is another.
    """
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("needs"), list):
        return found
    raise UsageError(f"{ENVIRONMENT}_CONTRACT: {file} is no consumer contract.")


def _project_name() -> str | None:
    """The name in the nearest pyproject.toml that has one."""
    folder = Path.cwd()
    for file in (above / "pyproject.toml" for above in (folder, *folder.parents)):
        match = _NAMED.search(file.read_text("utf-8")) if file.is_file() else None
        if match:
            return match[1]
    return None


def _united(*lists: Iterable[str]) -> list[str]:
    return sorted(set().union(*lists))


def _without_holders(pointers: Sequence[str]) -> list[str]:
    """A member says more than what holds it."""
    return [one for one in pointers if not any(other.startswith(f"{one}/") for other in pointers)]


def widened(*several: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """The least and the greatest of several together, by their places."""
    found: dict[str, list[float]] = {}
    for one in several:
        for place, values in one.items():
            found.setdefault(place, []).extend(values)
    return {place: (min(found[place]), max(found[place])) for place in sorted(found)}


def _merged(earlier: dict[str, Any], need: dict[str, Any]) -> dict[str, Any]:
    # Where none says what is read, any member may be.
    reads = [one["reads"] for one in (earlier, need) if "reads" in one]
    extremes = widened(earlier.get("extremes", {}), need.get("extremes", {}))
    requires = _united(earlier.get("requires", ()), need.get("requires", ()))
    return {
        "operation": need["operation"],
        **({"test": need["test"]} if need.get("test") is not None else {}),
        "sends": need["sends"],
        **({"extremes": extremes} if extremes else {}),
        **({"reads": _without_holders(_united(*reads))} if reads else {}),
        **({"requires": requires} if requires else {}),
        **({"decodes": True} if earlier.get("decodes") or need.get("decodes") else {}),
        "reasons": _united(earlier.get("reasons", ()), need["reasons"]),
    }


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """While no other process writes the file: test runners have several."""
    lock = Path(f"{file}.lock")
    waits = 0
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            waits += 1
            # It is held for a moment: a process that was killed left it.
            if waits % _MOST_WAITS == 0 and lock.exists():
                lock.rmdir()
            time.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        lock.rmdir()


def add_needs(file: Path, needs: Iterable[dict[str, Any]]) -> None:
    """Adds needs to a file, which is made if it is not there.

    Raises:
        UsageError: The file is no consumer contract.
    """
    with _alone(file):
        earlier = read_contract(file)
        merged: dict[Key, dict[str, Any]] = {}
        for need in map(_masked, (*earlier.get("needs", ()), *needs)):
            merged[_key_of(need)] = _merged(merged.get(_key_of(need), {}), need)
        contract = {
            **earlier,
            "consumer": os.environ.get(f"{ENVIRONMENT}_CONSUMER") or _project_name() or "consumer",
            "contract": CONTRACT,
            "needs": [merged[key] for key in sorted(merged, key=_order)],
        }
        fresh = Path(f"{file}.new")
        fresh.write_text(f"{json.dumps(contract, indent=2, ensure_ascii=False)}\n", "utf-8")
        fresh.replace(file)
