"""emit.py OPERATIONS PARTS PACKAGE: writes what the generator of the types doesn't, the methods, into a package that has its types.

What an operation takes is read from the module of types, so that nothing is said twice.
"""

import ast
import builtins
import copy
import json
import re
import sys
import textwrap
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

here = Path(__file__).parent
operations = json.loads(Path(sys.argv[1]).read_text("utf-8"))
parts = json.loads(Path(sys.argv[2]).read_text("utf-8"))
package = Path(sys.argv[3])
models = ast.parse((package / "models.py").read_text("utf-8"))
classes = {node.name: node for node in models.body if isinstance(node, ast.ClassDef)}
NOTES = {"UNSET", "UnsetType"} | set(dir(builtins))
arguments = {operation.get("input") for operation in operations}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def pascal(name: str) -> str:
    return name[0].upper() + name[1:]


def prose(text: str, indent: int) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    first = " " * indent
    # Deeper than the body of a docstring are the sections, whose entries hang.
    more = first if indent == 8 else first + "    "
    return textwrap.fill(escaped, 118, initial_indent=first, subsequent_indent=more, break_long_words=False)


class _Qualify(ast.NodeTransformer):
    """Inside a class with a method `list`, `list[str]` would mean that method."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse("builtins.list", mode="eval").body if node.id == "list" else node


class _Set(ast.NodeTransformer):
    """Without `| UnsetType`: what isn't set is not in a dict."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        is_unset = isinstance(node.right, ast.Name) and node.right.id == "UnsetType"
        return self.visit(node.left) if is_unset else self.generic_visit(node)


class _TakeDicts(ast.NodeTransformer):
    """A dict may stand for a class of inputs. Lists of them become sequences: lists are invariant."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(f"{node.id} | {node.id}Dict", mode="eval").body if node.id in dicts else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        inner = self.visit(node.slice)
        is_list = isinstance(node.value, ast.Name) and node.value.id == "list" and inner is not node.slice
        return ast.Subscript(ast.Name("Sequence") if is_list else node.value, inner)


def taken(annotation: ast.expr) -> ast.expr:
    """What a caller may give where an input has a member of this type."""
    return _TakeDicts().visit(copy.deepcopy(annotation))


def names_in(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def members_of(name: str) -> list[ast.AnnAssign]:
    return [statement for statement in classes[name].body if isinstance(statement, ast.AnnAssign)]


def inner_inputs(name: str) -> set[str]:
    """The classes of inputs that an input is made of."""
    inner = {used for member in members_of(name) for used in names_in(member.annotation) if used in classes}
    return inner.union(*map(inner_inputs, inner))


def documentation_after(node: ast.ClassDef, index: int) -> str:
    match node.body[index + 1 : index + 2]:
        case [ast.Expr(ast.Constant(str(text)))]:
            return " ".join(text.split()).rstrip(".") + "."
    return ""


def parameter_of(name: str) -> str:
    return name + "_" if name in dir(builtins) and name != "id" else name


def fields_of(name: str) -> list[dict]:
    node = classes[name]
    fields = [
        {
            "name": statement.target.id,
            "parameter": parameter_of(statement.target.id),
            "model": next(iter(names_in(statement.annotation) & dicts), None),
            "names": names_in(taken(statement.annotation)) - {"Sequence"},
            "required": "UnsetType" not in ast.unparse(statement.annotation),
            "documentation": documentation_after(node, index),
            "type": ast.unparse(_Qualify().visit(taken(statement.annotation))),
        }
        for index, statement in enumerate(node.body)
        if isinstance(statement, ast.AnnAssign)
    ]
    return sorted(fields, key=lambda field: not field["required"])


def dict_of(name: str) -> dict:
    """What the template of the dicts is told of a class of inputs."""
    fields = [
        {
            "name": member.target.id,
            "type": ast.unparse(_Set().visit(taken(member.annotation))),
            "required": "UnsetType" not in names_in(member.annotation),
            "documentation": documentation_after(classes[name], classes[name].body.index(member)).rstrip("."),
        }
        for member in members_of(name)
    ]
    return {
        "name": f"{name}Dict",
        "documentation": ast.get_docstring(classes[name]),
        "required": [field for field in fields if field["required"]],
        "optional": [field for field in fields if not field["required"]],
    }


def described(operation: dict) -> dict:
    fields = fields_of(operation["input"]) if "input" in operation else []
    item = operation.get("item")
    return {
        **operation,
        "method": snake(operation["name"]),
        "fields": fields,
        # What the only required member means is plain without its name.
        "positional": "bare" in operation,
        "item": item,
        # Documents from before there were keys say only what may be changed with a scope.
        "takes_key": operation["writes"] or operation["access"].endswith(":write"),
        "page": f"{pascal(operation['router'])}{pascal(operation['name'])}Page" if item else None,
        "returns": ast.get_docstring(classes[operation["output"]]),
    }


def imports_of(described_operations: list[dict]) -> list[str]:
    fields = [field for operation in described_operations for field in operation["fields"]]
    names = {name for field in fields for name in field["names"]}
    used = {operation.get(key) for operation in described_operations for key in ("input", "output", "item", "followed")}
    return sorted((names | used) - NOTES - {None})


dicts: set[str] = set().union(*(inner_inputs(name) for name in arguments if name))

environment = Environment(
    loader=FileSystemLoader(here / "templates"), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
)
environment.filters |= {"snake": snake, "prose": prose, "repr": repr}

routers = []
target = package / "procedures"
target.mkdir()
for router in dict.fromkeys(operation["router"] for operation in operations):
    own = [described(operation) for operation in operations if operation["router"] == router]
    module, name = snake(router), pascal(router)
    text = environment.get_template("procedures.py.jinja").render(
        {"router": router, "class": name, "operations": own, "imports": imports_of(own)}
    )
    (target / f"{module}.py").write_text(text, "utf-8")
    classes_of_router = [f"{name}Procedures", *(operation["page"] for operation in own if operation["page"])]
    routers.append((module, name, sorted(f"{twin}{name}" for twin in ("", "Async") for name in classes_of_router)))
text = environment.get_template("procedures_init.py.jinja").render(routers=routers)
(target / "__init__.py").write_text(text, "utf-8")
if any("deprecated" in operation for operation in operations):
    (package / "_deprecated.py").write_text((here / "templates" / "deprecated.py").read_text("utf-8"), "utf-8")
reads = tuple(operation["id"] for operation in operations if not operation["writes"])
(package / "_operations.py").write_text(
    f'READS = frozenset({reads})\n"""The operations that are known to write nothing."""\n', "utf-8"
)

known = {name: (tuple(part["sends"]), tuple(part["measured"]), tuple(part["maps"])) for name, part in parts.items()}
(package / "_parts.py").write_text(
    f"PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {known}\n"
    '"""For what records a consumer contract, by the operations: all that an input may have, where the least and\n'
    'greatest are recorded, and where in an output members have names of the caller\'s own."""\n',
    "utf-8",
)

# What only a method takes, as its arguments, is no name that a program needs.
nodes = [node for node in ast.walk(models) if isinstance(node, ast.Name)]
aliases = {node.id for node in nodes if isinstance(node.ctx, ast.Store) and node.id[0].isupper()}
members = {node.id for node in nodes if isinstance(node.ctx, ast.Load)} & arguments
shapes = [dict_of(name) for name in classes if name in dicts]
public = sorted((classes.keys() | aliases) - arguments | members | {shape["name"] for shape in shapes})
text = environment.get_template("dicts.py.jinja").render(shapes=shapes)
with (package / "models.py").open("a", encoding="utf-8") as module:
    module.write(f"{text}\n__all__ = {tuple(public)}\n")
