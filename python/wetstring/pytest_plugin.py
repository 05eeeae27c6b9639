"""Fixtures for pytest: a bad line, a pair of terminals, a server. Installed with the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ._server import Server
from .line import Line


@pytest.fixture
def wst_line() -> Iterator[Callable[..., Line]]:
    """Makes emulated lines: ``wst_line("9600,delay=250ms,burst=8@2s")`` is up until the end of the test.

    Its ends are PTYs, ``line.path_a`` and ``line.path_b``, unless ``a=`` and ``b=`` say otherwise (``None`` is a socket).
    """
    lines: list[Line] = []

    def make(
        model: str, a: str | None = "pty:", b: str | None = "pty:", **more: Any
    ) -> Line:
        lines.append(Line(model, a, b, **more))
        return lines[-1]

    yield make
    for line in lines:
        line.stop()


@pytest.fixture
def wst_pty_pair(wst_line: Callable[..., Line]) -> tuple[str, str]:
    """The paths of two terminals, each of which reads what is written to the other."""
    line = wst_line("0")
    return line.path_a, line.path_b


@pytest.fixture
def wst_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes Kermit servers: ``wst_server(root, write=True)``; without a root below ``tmp_path``."""
    servers: list[Server] = []

    def make(root: Path | None = None, port: Any = "tcp-listen://127.0.0.1:0", **more: Any) -> Server:
        if root is None:
            root = tmp_path / "served"
            root.mkdir(exist_ok=True)
        servers.append(Server(root, port, **more))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()
