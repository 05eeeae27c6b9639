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
    "protocols",
    "receive",
    "send",
]
