"""The same for asyncio: a port is a pair of a ``StreamReader`` and a ``StreamWriter``."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Any

from ._transfer import Event, File, Path, Receive, Result, Send, _Run

_CHUNK = 65536


async def send(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    files: Iterable[File],
    protocol: str = "zmodem",
    *,
    progress: Callable[[Event], object] | None = None,
    **more: Any,
) -> Result:
    """As `wetstring.send`. A task that is cancelled ends the transfer, and the peer is told."""
    more.setdefault("reliable", _is_socket(writer))
    return await _turn(
        reader, writer, lambda port: Send(port, files, protocol, **more), progress
    )


async def receive(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    into: Path = ".",
    protocol: str = "zmodem",
    *,
    progress: Callable[[Event], object] | None = None,
    **more: Any,
) -> Result:
    """As `wetstring.receive`."""
    more.setdefault("reliable", _is_socket(writer))
    return await _turn(
        reader, writer, lambda port: Receive(port, into, protocol, **more), progress
    )


def _is_socket(writer: asyncio.StreamWriter) -> bool:
    # The streams of serial_asyncio have none, and those of a process may lead anywhere.
    return writer.get_extra_info("socket") is not None


async def _turn(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    start: Callable[[socket.socket], _Run],
    progress: Callable[[Event], object] | None,
) -> Result:
    near, far = socket.socketpair()
    loop = asyncio.get_running_loop()
    near.setblocking(False)
    run = start(far)

    async def inward() -> None:
        while data := await reader.read(_CHUNK):
            await loop.sock_sendall(near, data)
        near.shutdown(socket.SHUT_WR)

    async def outward() -> None:
        while data := await loop.sock_recv(near, _CHUNK):
            writer.write(data)
            await writer.drain()

    def wait() -> None:
        for event in run:
            if progress is not None:
                loop.call_soon_threadsafe(progress, event)
        far.shutdown(socket.SHUT_WR)

    moving = [asyncio.ensure_future(inward()), asyncio.ensure_future(outward())]
    waiting = loop.run_in_executor(None, wait)
    try:
        await asyncio.shield(waiting)
        await moving[1]
    except asyncio.CancelledError:
        run.interrupt()
        await waiting
        raise
    finally:
        for task in moving:
            task.cancel()
        near.close()
        far.close()
    return run._concluded()
