"""What the package offers is what `python/api.txt` lists, so that a change of one needs a change of the other.

`WETSTRING_UPDATE_SNAPSHOTS=1 cargo xtask python` writes the list.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import wetstring

LIST = Path(__file__).parents[1] / "api.txt"


def is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def items(body: list[ast.stmt], before: str) -> Iterator[str]:
    """Classes with their members, functions with their parameters, names that a module exports."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            # One that is private may have what a public one inherits.
            bases = ", ".join(ast.unparse(base) for base in [*node.bases, *(word.value for word in node.keywords)])
            yield f"{before}class {node.name}({bases})"
            yield from items(node.body, f"{before}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            marks = "".join(f"@{ast.unparse(mark)} " for mark in node.decorator_list)
            gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield f"{marks}{word} {before}{node.name}({ast.unparse(node.args)}){gives}"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id):
            value = f" = {ast.unparse(node.value)}" if node.value else ""
            yield f"{before}{node.target.id}: {ast.unparse(node.annotation)}{value}"
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield f"{before}__all__ = {ast.unparse(node.value)}"


def listed() -> str:
    package = Path(wetstring.__file__).parent
    lines = []
    for path in sorted([*package.glob("*.py"), *package.glob("*.pyi")]):
        module = "wetstring" if path.stem == "__init__" else f"wetstring.{path.stem}"
        lines += items(ast.parse(path.read_text("utf-8")).body, f"{module}.")
    return "".join(f"{line}\n" for line in lines)


def test_the_interface_is_listed() -> None:
    now = listed()
    if os.environ.get("WETSTRING_UPDATE_SNAPSHOTS"):
        LIST.write_text(now, "utf-8")
    before = LIST.read_text("utf-8") if LIST.exists() else ""
    gone = [f"- {line}" for line in before.splitlines() if line not in now.splitlines()]
    new = [f"+ {line}" for line in now.splitlines() if line not in before.splitlines()]
    assert now == before, "\n".join(["python/api.txt differs from the package", *gone, *new])


def test_parameters_and_members_are_seen() -> None:
    source = "class A(B):\n    x: int = 1\n    def f(self, a, *, b=2) -> int: ...\n    def _g(self): ...\n__all__ = ['A']\n"
    assert list(items(ast.parse(source).body, "m.")) == [
        "m.class A(B)", "m.A.x: int = 1", "def m.A.f(self, a, *, b=2) -> int", "m.__all__ = ['A']",
    ]
