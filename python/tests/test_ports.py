"""Every kind of port, and what is left of it after a transfer."""

from __future__ import annotations

import asyncio
import os
import pty
import socket
import ssl
import subprocess
import threading
import tty

import pytest
import wetstring
from wetstring import aio
from wetstring._ports import attach

from conftest import noise, program


class Plain:
    """An object with no more than read and write."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        end.settimeout(0.05)

    def read(self, size: int) -> bytes:
        try:
            return self._end.recv(size)
        except TimeoutError:
            return b""

    def write(self, data: bytes) -> int:
        try:
            return self._end.send(data)
        except TimeoutError:
            return 0


class Console(Plain):
    """As labgrid's ConsoleProtocol."""

    def read(self, size: int = 1, timeout: float = 0.0, max_size: int | None = None) -> bytes:
        import pexpect

        self._end.settimeout(timeout)
        try:
            return self._end.recv(max_size or size)
        except TimeoutError:
            raise pexpect.TIMEOUT("nothing") from None


class Channel:
    """As a channel of paramiko, whose descriptor only says that there is something."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._ready = os.pipe()

    def fileno(self) -> int:
        return self._ready[0]

    def gettimeout(self) -> float | None:
        return self._end.gettimeout()

    def settimeout(self, timeout: float | None) -> None:
        self._end.settimeout(timeout)

    def recv(self, size: int) -> bytes:
        return self._end.recv(size)

    def send(self, data: bytes) -> int:
        return self._end.send(data)


@pytest.mark.parametrize("kind", [Plain, Console, Channel])
@pytest.mark.parametrize("protocol", ["zmodem", "kermit", "ymodem"])
def test_objects(kind, protocol, tmp_path) -> None:
    ours, theirs = socket.socketpair()
    receiver = wetstring.Receive(theirs, tmp_path, protocol)
    data = noise(150_000)
    assert attach(kind(ours)).descriptor is None
    wetstring.send(kind(ours), [("data.bin", data)], protocol)
    receiver.result()
    assert (tmp_path / "data.bin").read_bytes() == data


def test_the_prompt_after_it_is_whole(tmp_path, rooms) -> None:
    ours, theirs = rooms
    near, far = socket.socketpair()
    child = subprocess.Popen(
        ["sh", "-c", f"{program('sz')} -q -b data.bin; printf 'prompt$ '"],
        cwd=ours, stdin=far, stdout=far, stderr=subprocess.DEVNULL,
    )
    far.close()
    result = wetstring.receive(near, theirs)
    child.wait(10)
    near.settimeout(2)
    rest = result.leftover
    while more := near.recv(100):
        rest += more
    assert rest == b"prompt$ "
    assert (theirs / "data.bin").read_bytes() == noise(200_000)


def test_pexpect_has_read_the_first_bytes(rooms) -> None:
    import pexpect

    ours, theirs = rooms
    child = pexpect.spawn("sh", ["-c", f"stty raw -echo; echo ready; {program('sz')} -q -b data.bin; echo end"],
                          cwd=str(ours))
    child.expect(b"ready\n")
    result = wetstring.receive(child, theirs)
    assert (theirs / "data.bin").read_bytes() == noise(200_000)
    rest = result.leftover
    while b"end\n" not in rest:
        rest += child.read_nonblocking(100, 5)
    assert rest == b"end\n"
    child.close()


def test_pyserial_on_a_terminal(wst_pty_pair, rooms) -> None:
    serial = pytest.importorskip("serial")
    ours, theirs = rooms
    a, b = wst_pty_pair
    with open(b, "r+b", buffering=0) as far:
        child = subprocess.Popen([program("rz"), "-q", "-b"], cwd=theirs, stdin=far, stdout=far,
                                 stderr=subprocess.DEVNULL)
        with serial.Serial(a, 115200, timeout=7) as port:
            assert attach(port).descriptor is not None and attach(port).rate == 115200
            wetstring.send(port, [ours / "data.bin"])
            assert port.timeout == 7
        assert child.wait(20) == 0
    assert (theirs / "data.bin").read_bytes() == noise(200_000)


def test_the_url_of_a_line_for_pyserial(rooms) -> None:
    serial = pytest.importorskip("serial")
    import wetstring.urls  # noqa: F401  registers it

    ours, theirs = rooms
    (ours / "data.bin").write_bytes(noise(20_000))
    url = f"wst+line://500000,delay=50ms/exec:cd {theirs}; exec {program('rz')} -q -b"
    with serial.serial_for_url(url, timeout=1) as port:
        wetstring.send(port, [ours / "data.bin"])
    assert (theirs / "data.bin").read_bytes() == noise(20_000)
    with pytest.raises(serial.SerialException, match="MODEL/LINE"):
        serial.serial_for_url("wst+line://9600")


def test_tls(tmp_path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-days", "2",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    near, far = socket.socketpair()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate, key)
    ours = ssl.create_default_context(cafile=str(certificate))
    ours.check_hostname = False
    wrapped: list[ssl.SSLSocket] = []
    shake = threading.Thread(target=lambda: wrapped.append(theirs.wrap_socket(far, server_side=True)))
    shake.start()
    secure = ours.wrap_socket(near)
    shake.join()
    into = tmp_path / "into"
    into.mkdir()
    receiver = wetstring.Receive(wrapped[0], into)
    got: list[wetstring.Result] = []
    waits = threading.Thread(target=lambda: got.append(receiver.result()))
    waits.start()
    wetstring.send(secure, [("data.bin", noise(100_000))])
    waits.join()
    assert (into / "data.bin").read_bytes() == noise(100_000)


def test_asyncio(tmp_path) -> None:
    async def both() -> tuple[wetstring.Result, wetstring.Result]:
        near, far = socket.socketpair()
        one = await asyncio.open_connection(sock=near)
        two = await asyncio.open_connection(sock=far)
        return await asyncio.gather(
            aio.send(*one, [("data.bin", noise(100_000))]), aio.receive(*two, tmp_path)
        )

    sent, received = asyncio.run(both())
    assert sent.file_bytes == received.file_bytes == 100_000
    assert (tmp_path / "data.bin").read_bytes() == noise(100_000)


def test_a_terminal_by_its_descriptor(tmp_path) -> None:
    """A file object of a terminal is given to the engine, which sets it back afterwards."""
    master, slave = pty.openpty()
    tty.setraw(master)
    before = os.get_blocking(slave)
    with open(slave, "r+b", buffering=0) as port, open(master, "r+b", buffering=0) as far:
        receiver = wetstring.Receive(far, tmp_path)
        assert attach(port).descriptor == slave
        wetstring.send(port, [("data.bin", noise(50_000))])
        receiver.result()
        assert os.get_blocking(slave) == before
    assert (tmp_path / "data.bin").read_bytes() == noise(50_000)


def test_what_is_no_port() -> None:
    with pytest.raises(TypeError, match="read and write"):
        wetstring.send(object(), [])
    with pytest.raises(ValueError):
        wetstring.send("no such line", [])
