"""Lines that damage bytes: what a port is taken for decides whether Kermit streams, which ends with the first of them."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import tty
from pathlib import Path
from typing import Any

import pytest
import wetstring
from wetstring import aio
from wetstring._ports import attach
from wetstring.line import Line

from conftest import noise
from test_ports import Channel, Console, Plain

#: Four bits in a row twice a second: some five times in each transfer below.
NOISY = "400000,burst=4@500ms"
DATA = noise(60_000)


def both(a: Any, b: Any, into: Path, **more: Any) -> wetstring.Result:
    """Sends from one end to the other. An object is read by who waits for it, so the receiver has a thread."""
    ended: list[BaseException | None] = []

    def receive() -> None:
        try:
            wetstring.receive(b, into, "kermit", **more)
            ended.append(None)
        except wetstring.TransferError as error:
            ended.append(error)

    thread = threading.Thread(target=receive)
    thread.start()
    try:
        result = wetstring.send(a, [("data.bin", DATA)], "kermit", **more)
    finally:
        thread.join()
    assert ended == [None]
    return result


@pytest.mark.parametrize("kind", [Plain, Console, None], ids=["plain", "console", "socket of a line"])
def test_kermit_over_noise(kind: Any, tmp_path: Path) -> None:
    with Line(NOISY) as line:
        ends = (line.a, line.b) if kind is None else (kind(line.a), kind(line.b))
        result = both(*ends, tmp_path)
        used = line.stop()
    assert (tmp_path / "data.bin").read_bytes() == DATA
    assert used[0].damaged > 0 and result.stats["retransmissions"] > 0


def test_who_calls_a_line_reliable_has_it_so(tmp_path: Path) -> None:
    """The error of a stream: it shows that the test above has something to mend."""
    with Line(NOISY) as line, pytest.raises(wetstring.TransferError, match="reliable"):
        both(Plain(line.a), Plain(line.b), tmp_path, reliable=True)


def test_a_server_over_noise(tmp_path: Path) -> None:
    """The client wants to stream; the server has an object, and does not."""
    (tmp_path / "data.bin").write_bytes(DATA)
    with Line(NOISY) as line:
        with wetstring.Server(tmp_path, Plain(line.b), write=True):
            client = wetstring.Client(line.a, {"kermit.streaming": True})
            client.get("data.bin", tmp_path / "got.bin")
            client.put([("back.bin", DATA)])
        assert line.stop()[1].damaged > 0
    assert (tmp_path / "got.bin").read_bytes() == DATA
    assert (tmp_path / "back.bin").read_bytes() == DATA


def test_only_a_socket_is_taken_to_be_reliable() -> None:
    near, far = socket.socketpair()
    packets, _ = socket.socketpair(type=socket.SOCK_DGRAM)
    secure = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
    assert attach(near).reliable is True and attach(Channel(far)).reliable is True
    for other in (Plain(far), Console(far), packets, secure):
        assert attach(other).reliable is False, other
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn("cat")
    assert attach(child).reliable is False
    child.close(force=True)
    leader, terminal = os.openpty()
    tty.setraw(terminal)
    with open(terminal, "r+b", buffering=0) as port:
        assert attach(port).reliable is False
    os.close(leader)
    with Line("0") as line:
        assert attach(line.a).reliable is False and attach(line.b).reliable is False


def test_streams_of_asyncio(tmp_path: Path) -> None:
    """Those that have no socket, such as those of serial_asyncio, are not reliable; a connection is."""

    async def run() -> list[bool]:
        near, _far = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=near)
        loop = asyncio.get_running_loop()
        reading, writing = os.pipe()
        with open(writing, "wb") as pipe:
            transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
            piped = asyncio.StreamWriter(transport, protocol, None, loop)
            found = [aio._is_socket(writer), aio._is_socket(piped)]
            transport.close()
        writer.close()
        os.close(reading)
        return found

    assert asyncio.run(run()) == [True, False]
