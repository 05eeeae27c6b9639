"""Transfers: sending and receiving files."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Union

from . import _native
from ._errors import BY_BLAME, Interrupted, Skipped
from ._ports import Attached, Port, Pump, attach

#: An event: the fields of a line of ``wst --json``.
Event = dict[str, Any]
Path = Union[str, "os.PathLike[str]"]
#: A file to send: its path, or a name and its bytes, or a name and a path.
File = Union[Path, tuple[str, Union[bytes, Path]]]


@dataclass(frozen=True)
class Result:
    """What a transfer did.

    ``files`` has a dictionary for each file (``name``, ``path``, ``size``, ``outcome``, ``verified`` and others, as in
    the last event of ``wst --json``). ``leftover`` is what was read and is not the protocol's: the prompt after it.
    """

    files: list[dict[str, Any]]
    leftover: bytes
    elapsed_s: float
    stats: dict[str, int]
    verified: int
    unverified: int

    @property
    def file_bytes(self) -> int:
        """Bytes of files that were moved."""
        return self.stats.get("file_bytes", 0)


class _Run:
    """A transfer that runs in a thread of its own. Iterating over it gives its events."""

    def __init__(self, port: Port, role: str, protocol: str, **more: Any) -> None:
        attached = attach(port)
        before = more.pop("before", b"") or b""
        attached.before = before + attached.before
        reliable = more.pop("reliable", None)
        if reliable is not None:
            attached.reliable = reliable
        arguments = {**attached.arguments(), **more}
        self._attached: Attached = attached
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._native = _native.Transfer(role, protocol, **arguments)
        self._pump: Pump | None = None
        if attached.read is not None:
            self._pump = Pump(attached, socket.socket(fileno=self._native.take_stream()))
        self._end: Event | None = None
        self._leftover = b""

    def __iter__(self) -> Iterator[Event]:
        while (event := self.next()) is not None:
            yield event

    def next(self, timeout: float | None = None) -> Event | None:
        """The next event within this time; ``None`` if there was none, or if all have been returned.

        The last one is ``end``.
        """
        if self._end is not None:
            return None
        try:
            line = self._next(timeout)
        except BaseException:
            # Ctrl-C: the peer is told, which takes at most a second; again, and it is not.
            self._give_up()
            raise
        if line is None:
            return None
        event: Event = json.loads(line)
        if event["event"] == "end":
            self._end = event
            self._finish()
        return event

    def _next(self, timeout: float | None) -> str | None:
        if self._pump is None:
            return self._native.next(timeout)
        slices = None if timeout is None else max(1, int(timeout / 0.02))
        while slices is None or slices > 0:
            line = self._native.next(0.0)
            if line is not None:
                return line
            if self._native.over:
                return self._native.next(1.0)
            self._pump.step()
            slices = None if slices is None else slices - 1
        return None

    def _give_up(self) -> None:
        try:
            self._native.interrupt()
            if self._pump is not None:
                for _ in range(50):
                    if self._native.over:
                        break
                    self._pump.step()
            while (line := self._native.next(1.5)) is not None:
                if json.loads(line)["event"] == "end":
                    break
        finally:
            self._native.interrupt()
            self._end = {"event": "end", "exit": 130, "outcome": "interrupted", "message": ""}
            self._finish()

    def _finish(self) -> None:
        self._leftover = self._native.leftover
        if self._pump is not None:
            self._leftover += self._pump.finish()
        if self._attached.undo is not None:
            self._attached.undo()
        if self._temporary is not None:
            self._temporary.cleanup()

    def cancel(self, all: bool = False) -> None:
        """Cancels the current file, or all that follow as well, in good order."""
        self._native.cancel(all)

    def interrupt(self) -> None:
        """Ends the transfer and tells the peer, which takes at most a second; the second time it is not told."""
        self._native.interrupt()

    def result(self, progress: Callable[[Event], object] | None = None) -> Result:
        """Waits for the end, with a call of ``progress`` for each event.

        Raises a `TransferError` unless all files were moved.
        """
        for event in self:
            if progress is not None:
                progress(event)
        return self._concluded()

    def _concluded(self) -> Result:
        end = self._end or {}
        result = Result(
            files=end.get("files", []),
            leftover=self._leftover,
            elapsed_s=end.get("elapsed_s", 0.0),
            stats=end.get("stats", {}),
            verified=end.get("verified", 0),
            unverified=end.get("unverified", 0),
        )
        if end.get("exit") == 0:
            return result
        message, word = end.get("message", ""), end.get("outcome", "")
        blame, kind = self._native.failure or ("store", "skipped")
        if word == "interrupted":
            raise Interrupted(message or "interrupted", "local", "aborted", result)
        if word == "skipped":
            raise Skipped(message, blame, kind, result)
        raise BY_BLAME[blame](message, blame, kind, result)

    def __enter__(self) -> _Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._end is None:
            self._give_up()


class Send(_Run):
    """Sends files; the arguments are those of `send`. It has begun when this returns."""

    def __init__(
        self,
        port: Port,
        files: Iterable[File],
        protocol: str = "zmodem",
        *,
        text: bool = False,
        resume: bool = False,
        settings: Mapping[str, object] | None = None,
        before: bytes = b"",
        reliable: bool | None = None,
    ) -> None:
        temporary, sources = _sources([files] if isinstance(files, (str, os.PathLike)) else files)
        try:
            super().__init__(
                port,
                "send",
                protocol,
                files=sources,
                text=text,
                resume=resume,
                settings=_words(settings),
                before=before,
                reliable=reliable,
            )
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
        self._temporary = temporary


class Receive(_Run):
    """Receives files; the arguments are those of `receive`. It has begun when this returns."""

    def __init__(
        self,
        port: Port,
        into: Path = ".",
        protocol: str = "zmodem",
        *,
        name: str | None = None,
        resume: bool = False,
        on_collision: str = "backup",
        settings: Mapping[str, object] | None = None,
        before: bytes = b"",
        reliable: bool | None = None,
    ) -> None:
        if protocol.startswith("xmodem") and name is None:
            raise ValueError("expected name=: XMODEM sends no name of a file")
        super().__init__(
            port,
            "receive",
            protocol,
            directory=into,
            name=None if name is None else os.fsencode(name),
            resume=resume,
            on_collision=on_collision,
            settings=_words(settings),
            before=before,
            reliable=reliable,
        )


def _words(settings: Mapping[str, object] | None) -> dict[str, str]:
    def word(value: object) -> str:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)

    return {name: word(value) for name, value in (settings or {}).items()}


def _sources(
    files: Iterable[File],
) -> tuple[tempfile.TemporaryDirectory[str] | None, list[tuple[Path, bytes | None]]]:
    """Paths with the names they are sent under; bytes go through a file of a temporary directory."""
    temporary: tempfile.TemporaryDirectory[str] | None = None
    sources: list[tuple[Path, bytes | None]] = []
    for number, file in enumerate(files):
        if not isinstance(file, tuple):
            os.stat(file)
            sources.append((file, None))
            continue
        name, content = file
        if isinstance(content, (bytes, bytearray, memoryview)):
            temporary = temporary or tempfile.TemporaryDirectory(prefix="wetstring-")
            path: Path = os.path.join(temporary.name, str(number))
            with open(path, "wb") as out:
                out.write(content)
            sources.append((path, os.fsencode(name)))
        else:
            os.stat(content)
            sources.append((content, os.fsencode(name)))
    return temporary, sources


def send(
    port: Port,
    files: Iterable[File],
    protocol: str = "zmodem",
    *,
    progress: Callable[[Event], object] | None = None,
    text: bool = False,
    resume: bool = False,
    settings: Mapping[str, object] | None = None,
    before: bytes = b"",
    reliable: bool | None = None,
) -> Result:
    """Sends files, and returns when the peer has them.

    A file is a path, or a tuple of a name and either bytes or a path. ``progress`` is called with each event.
    ``settings`` are those of ``wst show settings``, such as ``{"kermit.window": 4}``. ``before`` was read from the port
    already. ``text`` sends lines, where the protocol has them; ``resume`` continues what the peer has in part.
    ``reliable`` says whether the way to the peer delivers every byte as it was: without it a LINE and a socket say so
    themselves, and other objects do not.
    """
    return Send(
        port,
        files,
        protocol,
        text=text,
        resume=resume,
        settings=settings,
        before=before,
        reliable=reliable,
    ).result(progress)


def receive(
    port: Port,
    into: Path = ".",
    protocol: str = "zmodem",
    *,
    progress: Callable[[Event], object] | None = None,
    name: str | None = None,
    resume: bool = False,
    on_collision: str = "backup",
    settings: Mapping[str, object] | None = None,
    before: bytes = b"",
    reliable: bool | None = None,
) -> Result:
    """Receives files into a directory, and returns when they are there.

    ``name`` is the name of the first file, whatever the peer says; XMODEM needs it. ``on_collision`` is what is done
    if a file of the name exists: ``backup``, ``rename``, ``replace``, ``append``, ``reject`` or ``update``.
    """
    return Receive(
        port,
        into,
        protocol,
        name=name,
        resume=resume,
        on_collision=on_collision,
        settings=settings,
        before=before,
        reliable=reliable,
    ).result(progress)
