"""What the tests share: bytes, programs of the peers, directories."""

from __future__ import annotations

import importlib
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]


def missing(name: str) -> None:
    """Without a peer a test is skipped, or fails where all have to be there."""
    if os.environ.get("WETSTRING_REQUIRE_PEERS") == "1":
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed")


def program(name: str) -> str:
    """A peer's program."""
    found = os.environ.get("WETSTRING_WST") if name == "wst" else None
    found = found or shutil.which(name)
    if found is None:
        missing(name)
    return str(found)


def module(name: str) -> Any:
    """A package that we are used with."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return missing(name)


def noise(length: int, seed: int = 1) -> bytes:
    """Bytes of every value, the same for a seed."""
    return random.Random(seed).randbytes(length)


class Peer:
    """A program whose input and output are one end of a pair of sockets; `port` is the other."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.port, theirs = socket.socketpair()
        self._child = subprocess.Popen(
            [program(command[0]), *command[1:]],
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()

    def end(self) -> int:
        """Its exit code."""
        return self._child.wait(20)

    def close(self) -> None:
        self.port.close()
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()


@pytest.fixture
def peer() -> Iterator[Callable[..., Peer]]:
    peers: list[Peer] = []

    def start(*command: str, cwd: Path) -> Peer:
        peers.append(Peer(list(command), cwd))
        return peers[-1]

    yield start
    for one in peers:
        one.close()


@pytest.fixture
def rooms(tmp_path: Path) -> tuple[Path, Path]:
    """A directory to send from, which has the file data.bin, and one to receive into."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    (ours / "data.bin").write_bytes(noise(200_000))
    return ours, theirs
