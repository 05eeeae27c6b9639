"""An emulated line in real time, between two programs.

    >>> import socket
    >>> from wetstring.line import Line
    >>> with Line("1000000") as line:
    ...     _ = line.a.sendall(b"over the line")
    ...     line.b.recv(4, socket.MSG_WAITALL)
    b'over'
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

from . import _native


class End(socket.socket):
    """An end of an emulated line. A transfer knows by the type that bytes may be damaged on the way."""


@dataclass(frozen=True)
class Usage:
    """What a direction of a line has carried, in bytes."""

    bytes_in: int
    bytes_out: int
    damaged: int
    lost: int
    doubled: int


class Line:
    """A line of a model such as ``9600,delay=250ms,burst=8@2s``, which is up until `stop`.

    ``a`` and ``b`` are its ends: a LINE each (``pty:``, ``tcp-listen://127.0.0.1:0``, ``exec:rz``), or ``None`` for a socket
    of this process. ``faster`` is how many times faster than real time it runs.
    """

    def __init__(
        self, model: str, a: str | None = None, b: str | None = None, *, faster: int = 1
    ) -> None:
        self._native = _native.Line(model, a, b, faster)
        self._taken: list[End] = []

    def _socket(self, end: int) -> End:
        taken = End(fileno=self._native.take_stream(end))
        taken.setblocking(True)
        self._taken.append(taken)
        return taken

    @cached_property
    def a(self) -> End:
        """The end A, if it is a socket."""
        return self._socket(0)

    @cached_property
    def b(self) -> End:
        """The end B, if it is a socket."""
        return self._socket(1)

    def _place(self, end: int) -> str:
        # "pty /dev/pts/5", "listening on 127.0.0.1:40123"
        notes = [text for number, text in self._native.notes if number == end]
        return notes[0].rsplit(" ", 1)[1] if notes else ""

    @property
    def path_a(self) -> str:
        """Where the end A is: the path of its PTY, or the address where it listens."""
        return self._place(0)

    @property
    def path_b(self) -> str:
        """Where the end B is."""
        return self._place(1)

    def stop(self) -> tuple[Usage, Usage]:
        """Takes it down; returns what it has carried from A and from B."""
        used = self._native.stop()
        for taken in self._taken:
            taken.close()
        return Usage(*used[0]), Usage(*used[1])

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
