"""open.py SCHEMAS OPERATIONS RELEASED: prints the schemas, with outputs that older and newer services may answer, too.

An enumeration may hold any text; a member that the released document doesn't have may be missing. And of a member of which
nothing is said is said what is said of its type.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

document, operations, released = (json.loads(Path(path).read_text("utf-8")) for path in sys.argv[1:])
schemas = document["components"]["schemas"]


def names_in(part: object) -> list[str]:
    return re.findall(r'"#/components/schemas/(\w+)"', json.dumps(part))


def reach(name: str, found: set[str]) -> None:
    if name not in found:
        found.add(name)
        for used in names_in(schemas[name]):
            reach(used, found)


def opened(part: object) -> object:
    match part:
        case {"$ref": str(reference), **rest} if "enum" in schemas[reference.split("/")[-1]]:
            return {**rest, "anyOf": [{"$ref": reference}, {"type": "string"}]}
        case dict():
            return {name: opened(value) for name, value in part.items()}
        case list():
            return [opened(value) for value in part]
    return part


def required_of_old(name: str) -> list[str]:
    required = schemas[name].get("required", [])
    old = released["components"]["schemas"].get(name, {}).get("required", required)
    return [member for member in required if member in old]


def described(member: dict[str, Any]) -> dict[str, Any]:
    if "description" not in member and "$ref" in member:
        member = {**member, "description": schemas[member["$ref"].split("/")[-1]]["description"]}
    if member.get("deprecated") is not True:
        return member
    text = f"{member['description'].rstrip('.')}. Deprecated: {member['x-deprecated-reason'].rstrip('.')}"
    return {**member, "description": text}


for schema in schemas.values():
    if "properties" in schema:
        schema["properties"] = {name: described(member) for name, member in schema["properties"].items()}
outputs: set[str] = set()
for operation in operations:
    reach(operation["output"], outputs)
for name in outputs:
    schemas[name] = {**opened(schemas[name]), "required": required_of_old(name)}
print(json.dumps(document))
