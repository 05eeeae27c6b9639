"""A Kermit server, and its client."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType

from . import _native
from ._ports import Port, Pump, attach
from ._transfer import Event, File, Path, Result, _Run, _words, send


class Server:
    """Serves a directory to Kermit clients: below ``root``, and only for reading unless ``write``.

    On ``"tcp-listen://127.0.0.1:0"`` it serves all who connect, at `address`; on any other port one client. It has begun
    when this returns, and ends with `stop`, or at the end of a ``with`` block.
    """

    def __init__(
        self,
        root: Path,
        port: Port = "tcp-listen://127.0.0.1:0",
        *,
        write: bool = False,
        reliable: bool | None = None,
    ) -> None:
        self._attached = attached = attach(port)
        self._native = _native.Serving(
            root,
            write=write,
            line=attached.line,
            descriptor=attached.descriptor,
            reliable=attached.reliable if reliable is None else reliable,
        )
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        if attached.read is not None:
            pump = Pump(attached, socket.socket(fileno=self._native.take_stream()))
            self._thread = threading.Thread(target=self._turn, args=(pump,), daemon=True)
            self._thread.start()

    def _turn(self, pump: Pump) -> None:
        while not (self._stopped.is_set() or self._native.over):
            pump.step()
        pump.finish()
        if self._attached.undo is not None:
            self._attached.undo()

    @property
    def address(self) -> str:
        """Where it listens, ``HOST:PORT``; empty if it does not."""
        return self._native.address or ""

    @property
    def line(self) -> str:
        """The LINE for a client, ``tcp://HOST:PORT``."""
        return f"tcp://{self.address}" if self.address else ""

    def log(self, timeout: float = 0.0) -> Iterator[str]:
        """What was done, a line for each action, until there is none for this time."""
        while (line := self._native.next(timeout)) is not None:
            yield line

    def wait(self, log: Callable[[str], object] | None = None) -> None:
        """Waits until it has ended; Ctrl-C ends it."""
        try:
            while not self._native.over:
                line = self._native.next(0.2)
                if line is not None and log is not None:
                    log(line)
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it."""
        self._native.stop()
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Client:
    """Asks a Kermit server, on a port that stays open. A LINE ``tcp://HOST:PORT`` is connected here.

    >>> import wetstring
    >>> _ = (tmp / "a.txt").write_text("served")
    >>> with wetstring.Server(tmp) as server, wetstring.Client(server.line) as client:
    ...     client.get("a.txt", tmp / "got.txt").files[0]["size"]
    ...     client.finish()
    6
    """

    def __init__(
        self,
        port: Port,
        settings: Mapping[str, object] | None = None,
        *,
        reliable: bool | None = None,
    ) -> None:
        self._reliable = reliable
        self._settings = dict(settings or {})
        self._own: socket.socket | None = None
        self._leftover = b""
        if isinstance(port, str):
            if not port.startswith("tcp://"):
                raise ValueError(f"expected tcp://HOST:PORT or an open port, got {port}")
            host, _, number = port.removeprefix("tcp://").rpartition(":")
            port = self._own = socket.create_connection((host.strip("[]"), int(number)))
        self._port: Port = port

    def _run(self, role: str, words: Iterable[str], into: Path | None = None) -> _Run:
        directory, name = (None, None) if into is None else os.path.split(os.path.abspath(into))
        return _Run(
            self._port,
            role,
            "kermit",
            words=[os.fsencode(word) for word in words],
            directory=directory,
            name=None if name is None else os.fsencode(name),
            settings=_words(self._settings),
            before=self._leftover,
            reliable=self._reliable,
        )

    def get(
        self,
        name: str,
        into: Path | None = None,
        *,
        progress: Callable[[Event], object] | None = None,
    ) -> Result:
        """Gets one file, and stores it as ``into``: what a server may send besides is refused."""
        result = self._run("get", [name], os.path.basename(name) if into is None else into)
        return self._keep(result.result(progress))

    def put(
        self,
        files: Iterable[File],
        *,
        progress: Callable[[Event], object] | None = None,
        text: bool = False,
    ) -> Result:
        """Sends files to the server."""
        return self._keep(
            send(
                self._port,
                files,
                "kermit",
                progress=progress,
                text=text,
                settings=self._settings,
                before=self._leftover,
                reliable=self._reliable,
            )
        )

    def ask(self, command: str, *words: str) -> str:
        """Sends a command: cd, pwd, directory, type, delete, rename, copy, mkdir, rmdir, space, help, login, logout,
        finish, bye. Returns the text of the answer."""
        run = self._run("ask", [command, *words])
        self._keep(run.result())
        return run._native.answer.decode("utf-8", "replace").replace("\r\n", "\n")

    def directory(self, name: str = "") -> str:
        """The server's listing."""
        return self.ask("directory", name)

    def delete(self, name: str) -> str:
        """Deletes files there."""
        return self.ask("delete", name)

    def finish(self) -> None:
        """Ends the server's work on this line."""
        self.ask("finish")

    def _keep(self, result: Result) -> Result:
        self._leftover = result.leftover
        return result

    def close(self) -> None:
        """Closes the connection that this object made."""
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
