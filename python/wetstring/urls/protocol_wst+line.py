"""``wst+line://MODEL/LINE``: a port of pyserial at one end of an emulated line, with LINE at the other.

``serial_for_url("wst+line://9600,delay=250ms/exec:rz")`` talks to ``rz`` over 250 ms of delay. Without a model
(``wst+line:///tcp://host:port``) it is the LINE itself. The rate is the model's: ``baudrate`` changes nothing.
"""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from serial.serialutil import SerialBase, SerialException, Timeout

from wetstring.line import Line

_SCHEME = "wst+line://"


class Serial(SerialBase):  # type: ignore[misc]
    """The port."""

    is_open: bool

    def open(self) -> None:
        """Puts the line up."""
        if self.is_open:
            raise SerialException("the port is open already")
        text = self.portstr or ""
        if not text.lower().startswith(_SCHEME):
            raise SerialException(f"expected {_SCHEME}MODEL/LINE, got {text}")
        model, slash, line = text[len(_SCHEME) :].partition("/")
        if not (slash and line):
            raise SerialException(f"expected {_SCHEME}MODEL/LINE, got {text}")
        try:
            self._line = Line(model or "0", None, line)
        except (OSError, ValueError) as error:
            raise SerialException(str(error)) from error
        self._socket: socket.socket = self._line.a
        self._socket.setblocking(False)
        self.is_open = True

    def close(self) -> None:
        """Takes it down."""
        if self.is_open:
            self.is_open = False
            self._line.stop()

    def _reconfigure_port(self) -> None:
        """The model says what the line is."""

    def _wait(self, writes: bool, left: float | None) -> bool:
        ends = [self._socket]
        return any(select.select([] if writes else ends, ends if writes else [], [], left))

    @property
    def in_waiting(self) -> int:
        """Bytes that have arrived, at most 64 KiB."""
        try:
            return len(self._socket.recv(65536, socket.MSG_PEEK))
        except BlockingIOError:
            return 0

    def read(self, size: int = 1) -> bytes:
        """Reads ``size`` bytes, or what there is after the timeout."""
        self._check()
        timeout, data = Timeout(self._timeout), b""
        while len(data) < size:
            try:
                more = self._socket.recv(size - len(data))
                if not more:
                    if data:
                        break
                    raise SerialException("the peer has gone")
                data += more
            except BlockingIOError:
                if timeout.expired() or not self._wait(False, timeout.time_left()):
                    break
        return data

    def write(self, data: Any) -> int:
        """Writes all of it."""
        self._check()
        view, done = memoryview(bytes(data)), 0
        timeout = Timeout(self._write_timeout)
        while done < len(view):
            try:
                done += self._socket.send(view[done:])
            except BlockingIOError:
                if not self._wait(True, timeout.time_left()):
                    raise SerialException("write timeout") from None
            except OSError as error:
                raise SerialException(str(error)) from error
        return done

    def _check(self) -> None:
        if not self.is_open:
            raise SerialException("the port is not open")

    def reset_input_buffer(self) -> None:
        """Discards what has arrived."""
        while self.in_waiting:
            self._socket.recv(65536)

    def reset_output_buffer(self) -> None:
        """What is on the line stays there."""

    def flush(self) -> None:
        """Waits a moment: a line does not say when it is empty."""
        time.sleep(0.01)

    def fileno(self) -> int:
        """The descriptor, for select."""
        self._check()
        return self._socket.fileno()

    def _update_rts_state(self) -> None: ...
    def _update_dtr_state(self) -> None: ...
    def _update_break_state(self) -> None: ...

    @property
    def cts(self) -> bool:
        """Always on."""
        return True

    @property
    def dsr(self) -> bool:
        """Always on."""
        return True

    @property
    def ri(self) -> bool:
        """Always off."""
        return False

    @property
    def cd(self) -> bool:
        """Always on."""
        return True
