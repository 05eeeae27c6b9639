"""Ports: how the bytes of an object of Python get to an engine.

A LINE and an object with a descriptor of its own (a socket, a terminal) are given to the engine, which moves the
bytes itself, without the interpreter's lock. For every other object a `Pump` moves them through a stream.
"""

from __future__ import annotations

import inspect
import os
import socket
import ssl
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Union, runtime_checkable

from . import _native
from .line import End

#: How long one read of an object may wait, in seconds.
MOMENT = 0.02
#: Bytes that are moved at once.
CHUNK = 65536


@runtime_checkable
class ReadWrite(Protocol):
    """The least that a port has.

    ``read(n)`` returns at most ``n`` bytes, and within a second: ``b""`` or ``None`` if there are none.
    ``write(data)`` may return how many bytes it took; ``None`` is all.
    """

    def read(self, size: int, /) -> bytes | None: ...
    def write(self, data: bytes, /) -> Any: ...


#: What `wetstring.send` and the others take as a port. Sockets, pexpect and paramiko have no ``read``.
Port = Union[str, ReadWrite, socket.socket, Any]


@dataclass
class Attached:
    """How a port is used.

    ``reliable`` is what Kermit's streaming depends on, which ends with the first damaged byte. A stream socket delivers
    everything; of any other object we cannot know what is behind it, so it does not, unless the caller says so.
    """

    line: str | None = None
    descriptor: int | None = None
    before: bytes = b""
    reliable: bool | None = None
    rate: int | None = None
    read: Callable[[], bytes | None] | None = None
    write: Callable[[bytes], int] | None = None
    undo: Callable[[], None] | None = None
    closes: bool = field(default=False)

    def arguments(self) -> dict[str, Any]:
        """The arguments of the compiled part."""
        return {
            "line": self.line,
            "descriptor": self.descriptor,
            "before": self.before or None,
            "reliable": self.reliable,
            "rate": self.rate,
        }


def attach(port: Port) -> Attached:
    """Finds out how this port is used."""
    if isinstance(port, (str, os.PathLike)):
        return Attached(line=os.fspath(port), closes=True)
    if isinstance(port, ssl.SSLSocket):
        return _socket(port, reliable=True)
    if isinstance(port, socket.socket):
        reliable = port.type == socket.SOCK_STREAM and not isinstance(port, End)
        return _by_descriptor(port.fileno(), _socket(port, reliable))
    if hasattr(port, "recv") and hasattr(port, "send"):
        # A channel of paramiko: its fileno() tells that there is data, and is not the way to it.
        return _socket(port, reliable=True)
    if hasattr(port, "read_nonblocking"):
        return _pexpect(port)
    if not (hasattr(port, "read") and hasattr(port, "write")):
        raise TypeError(f"expected a LINE or an object with read and write, got {port!r}")
    if hasattr(port, "in_waiting"):
        return _pyserial(port)
    if "timeout" in _parameters(port.read):
        return _labgrid(port)
    return _by_descriptor(_fileno(port), _plain(port))


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _fileno(port: Any) -> int:
    try:
        number = port.fileno()
    except (AttributeError, OSError, ValueError):
        return -1
    return number if isinstance(number, int) else -1


def _by_descriptor(number: int, otherwise: Attached) -> Attached:
    """The descriptor, where it is one that the engine can use; otherwise a pump."""
    if sys.platform == "win32" or number < 0 or not _can_be_ours(number):
        return otherwise
    mode = os.fstat(number).st_mode
    if not (stat.S_ISSOCK(mode) or os.isatty(number)):
        return otherwise
    if otherwise.undo is not None:
        otherwise.undo()
    return Attached(
        descriptor=number,
        before=otherwise.before,
        reliable=otherwise.reliable,
        rate=otherwise.rate,
    )


def _can_be_ours(number: int) -> bool:
    """Whether a descriptor can be had by its number: some containers forbid it for sockets."""
    if os.isatty(number):
        return True
    return _native.can_use(number)


def _socket(port: Any, reliable: bool) -> Attached:
    timeout = port.gettimeout()

    def read() -> bytes | None:
        port.settimeout(MOMENT)
        try:
            data: bytes = port.recv(CHUNK)
        except (TimeoutError, socket.timeout, ssl.SSLWantReadError, BlockingIOError):
            return b""
        return data or None

    def write(data: bytes) -> int:
        # What has to leave may take as long as the peer does not read.
        port.settimeout(MOMENT)
        try:
            return int(port.send(data))
        except (TimeoutError, socket.timeout, ssl.SSLWantWriteError, BlockingIOError):
            return 0

    def undo() -> None:
        port.settimeout(timeout)

    return Attached(reliable=reliable, read=read, write=write, undo=undo)


def _took(count: Any, data: bytes) -> int:
    return len(data) if count is None else int(count)


def _pyserial(port: Any) -> Attached:
    timeout = port.timeout
    port.timeout = MOMENT

    def read() -> bytes:
        return bytes(port.read(max(1, min(port.in_waiting, CHUNK))))

    def write(data: bytes) -> int:
        return _took(port.write(data[:4096]), data[:4096])

    def undo() -> None:
        port.timeout = timeout

    plain = Attached(reliable=False, rate=port.baudrate, read=read, write=write, undo=undo)
    # With its own driver of the system; the handlers of URLs are objects like others.
    return _by_descriptor(_fileno(port), plain) if type(port).__name__ == "Serial" else plain


def take_buffered(spawn: Any) -> bytes:
    """What `expect` of this pexpect object has read beyond its match. It would find it again otherwise."""
    before = spawn.buffer
    if isinstance(before, str):
        if before:
            raise TypeError("expected a pexpect object without an encoding, got one with text")
        before = b""
    _set_buffered(spawn, spawn.string_type())
    return bytes(before)


def give_back(spawn: Any, data: bytes, *, first: bool = False) -> None:
    """The next `expect` finds this, behind what is buffered or before it."""
    buffered = take_buffered(spawn)
    _set_buffered(spawn, data + buffered if first else buffered + data)


def _set_buffered(spawn: Any, data: bytes | str) -> None:
    # pexpect 4 keeps it twice: what it searches, and what becomes `before`, of which it fills the first again.
    spawn.buffer = data
    kept = spawn.buffer_type()
    kept.write(data)
    spawn._before = kept


def _pexpect(port: Any) -> Attached:
    before = take_buffered(port)
    # `expect` and the engine read the same descriptor.
    number = port.fileno() if callable(getattr(port, "fileno", None)) else -1

    def read() -> bytes | None:
        import pexpect

        try:
            data = port.read_nonblocking(CHUNK, MOMENT)
        except pexpect.TIMEOUT:
            return b""
        except pexpect.EOF:
            return None
        return data if isinstance(data, bytes) else str(data).encode("latin-1")

    def write(data: bytes) -> int:
        return _took(port.send(data), data)

    # It may be ssh or pexpect-serial, or a terminal program on a cable.
    return _by_descriptor(
        number, Attached(before=before, reliable=False, read=read, write=write)
    )


def _labgrid(port: Any) -> Attached:
    """labgrid's ConsoleProtocol: ``read(size, timeout)`` raises pexpect's TIMEOUT, or returns nothing."""
    more = {"max_size": CHUNK} if "max_size" in _parameters(port.read) else {}
    spawn = getattr(port, "_expect", None)

    def some(size: int, timeout: float) -> bytes:
        try:
            return bytes(port.read(size, timeout=timeout, **more) or b"")
        except Exception as error:
            if isinstance(error, BlockingIOError) or type(error).__name__ == "TIMEOUT":
                return b""
            raise

    def read() -> bytes:
        # Some drivers wait until they have the size, others return no more than it.
        data = some(1, MOMENT)
        return data + some(CHUNK, 0.0) if len(data) == 1 else data

    def write(data: bytes) -> int:
        try:
            return _took(port.write(data), data)
        except BlockingIOError:
            # The socket of QEMUDriver is full.
            return 0

    before = b"" if spawn is None else take_buffered(spawn)
    return Attached(before=before, reliable=False, read=read, write=write)


def _plain(port: Any) -> Attached:
    def read() -> bytes:
        data = port.read(CHUNK)
        return b"" if data is None else bytes(data)

    def write(data: bytes) -> int:
        taken = _took(port.write(data), data)
        flush = getattr(port, "flush", None)
        if flush is not None:
            flush()
        return taken

    return Attached(reliable=False, read=read, write=write)


class Pump:
    """Moves bytes between an object and the stream of an engine."""

    def __init__(self, attached: Attached, stream: socket.socket) -> None:
        self._attached = attached
        self._stream = stream
        stream.setblocking(False)
        self._in = b""
        self._out = b""
        self._closed = False

    def step(self) -> None:
        """Moves what there is; waits a moment for the object if there is nothing."""
        read, write = self._attached.read, self._attached.write
        assert read is not None and write is not None
        self._from_engine()
        if self._out:
            self._out = self._out[write(self._out) :]
        if not self._in and not self._closed:
            data = read()
            if data is None:
                self._closed = True
                self._stream.shutdown(socket.SHUT_WR)
            else:
                self._in = data
        if self._in:
            try:
                self._in = self._in[self._stream.send(self._in) :]
            except (BlockingIOError, OSError):
                # The engine is busy, or has ended: then this is what it left over.
                pass

    def _from_engine(self) -> None:
        if len(self._out) < CHUNK:
            try:
                self._out += self._stream.recv(CHUNK)
            except (BlockingIOError, OSError):
                pass

    def finish(self) -> bytes:
        """Writes the rest; returns what was read from the object and not by the engine."""
        write = self._attached.write
        assert write is not None
        for _ in range(int(2 / MOMENT)):
            self._from_engine()
            if not self._out:
                break
            self._out = self._out[write(self._out) :]
        self._stream.close()
        return self._in
