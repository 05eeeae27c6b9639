"""Kermit, XMODEM, YMODEM and ZMODEM over any port, and a laboratory of bad lines.

    >>> import wetstring, socket
    >>> ours, theirs = socket.socketpair()
    >>> receiver = wetstring.Receive(theirs, tmp)
    >>> result = wetstring.send(ours, [("hello.txt", b"hello, world")])
    >>> result.files[0]["outcome"], result.files[0]["size"]
    ('sent', 12)
    >>> (tmp / receiver.result().files[0]["name"]).read_bytes()
    b'hello, world'

A port is a LINE of the program `wst` (``"/dev/ttyUSB0?baud=9600"``, ``"tcp://host:port"``, ``"exec:ssh host rz"``), a
socket, an object of pyserial, pexpect, paramiko or labgrid, or any object with ``read`` and ``write``.
"""

from typing import TYPE_CHECKING, Any

from ._errors import (
    Interrupted,
    LineError,
    LocalError,
    PeerError,
    Skipped,
    StoreError,
    TransferError,
)
from ._native import protocols
from ._server import Client, Server
from ._transfer import File, Receive, Result, Send, receive, send

if TYPE_CHECKING:
    from . import aio, lab, line

#: Modules that are brought when they are first asked for: asyncio and its kin take as long as all the rest.
_LATE = ("aio", "lab", "line")


def __getattr__(name: str) -> Any:
    if name in _LATE:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Client",
    "File",
    "Interrupted",
    "LineError",
    "LocalError",
    "PeerError",
    "Receive",
    "Result",
    "Send",
    "Server",
    "Skipped",
    "StoreError",
    "TransferError",
    "aio",
    "lab",
    "line",
    "protocols",
    "receive",
    "send",
]
