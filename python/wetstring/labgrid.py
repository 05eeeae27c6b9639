"""Drivers of labgrid: files by Kermit, XMODEM, YMODEM and ZMODEM over a console. Needs ``wetstring[labgrid]``.

    imports:
      - wetstring.labgrid
    targets:
      main:
        resources:
          RawSerialPort: {port: /dev/ttyUSB0, speed: 115200}
        drivers:
          SerialDriver: {}
          UBootDriver: {prompt: "=> "}
          WetstringUBootDriver: {}

`WetstringDriver` needs a console, on which it types commands as the caller says. `WetstringUBootDriver` needs a `UBootDriver`,
has the console through it, and loads files into memory. A console of labgrid has one active driver at a time: the first
takes the place of a `ShellDriver` or `UBootDriver` when it is activated, the second does not.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attr
import pexpect
from labgrid.driver import Driver, ExecutionError, UBootDriver
from labgrid.factory import target_factory
from labgrid.protocol import ConsoleProtocol
from labgrid.step import step

from . import _transfer
from ._errors import TransferError
from ._native import protocols
from ._ports import give_back
from ._transfer import Event, File, Path, Result

#: The command of U-Boot that takes a protocol, by how the name of the protocol begins.
_LOADERS = {"kermit": "loadb", "ymodem": "loady", "xmodem": "loadx"}
#: What U-Boot says before it listens. Its echo of the command is gone then, in which a C or G would be a start.
_LISTENS = "Ready for binary"


@attr.s(eq=False)
class _Files(Driver):  # type: ignore[misc]
    """Transfers over the console that a driver has."""

    protocol = attr.ib(
        default="zmodem", validator=attr.validators.in_([*protocols()]), type=str
    )
    settings = attr.ib(
        default=attr.Factory(dict), validator=attr.validators.instance_of(dict), type=dict[str, Any]
    )
    reliable = attr.ib(default=False, validator=attr.validators.instance_of(bool), type=bool)

    def _console(self) -> Any:
        return self.console

    def _prompt(self) -> str | None:
        return None

    @Driver.check_active  # type: ignore[untyped-decorator]
    @step(args=["files", "protocol", "command"])  # type: ignore[untyped-decorator]
    def send(
        self,
        files: File | Iterable[File],
        protocol: str | None = None,
        *,
        command: str | None = None,
        expect: str | None = None,
        progress: Callable[[Event], object] | None = None,
        **more: Any,
    ) -> Result:
        """Sends files, as `wetstring.send`.

        ``command`` is typed first (``rz``, ``loady``), and then ``expect`` waited for. What comes behind the transfer, such
        as a prompt, is there for the next ``console.expect``.
        """
        one = isinstance(files, (str, os.PathLike, tuple))
        return self._moved(
            _transfer.send, [files] if one else files, protocol, command, expect, progress, more
        )

    @Driver.check_active  # type: ignore[untyped-decorator]
    @step(args=["into", "protocol", "command"])  # type: ignore[untyped-decorator]
    def receive(
        self,
        into: Path = ".",
        protocol: str | None = None,
        *,
        command: str | None = None,
        expect: str | None = None,
        progress: Callable[[Event], object] | None = None,
        **more: Any,
    ) -> Result:
        """Receives files into a directory, as `wetstring.receive`; the rest is as in `send`."""
        return self._moved(
            _transfer.receive, into, protocol, command, expect, progress, more
        )

    def _moved(
        self,
        turn: Callable[..., Result],
        what: Any,
        protocol: str | None,
        command: str | None,
        expect: str | None,
        progress: Callable[[Event], object] | None,
        more: Mapping[str, Any],
    ) -> Result:
        console = self._console()
        if command is not None:
            console.sendline(command)
        if expect is not None:
            console.expect(expect, timeout=30)
        options: dict[str, Any] = {"reliable": self.reliable, **more}
        options["settings"] = {**self.settings, **(more.get("settings") or {})}
        # labgrid's consoles have a pexpect object of their own, which may be asked for a prompt next.
        spawn = getattr(console, "_expect", None)
        rest = b""
        try:
            result = turn(console, what, protocol or self.protocol, progress=progress, **options)
            rest = result.leftover
        except TransferError as error:
            rest = error.result.leftover
            raise
        finally:
            if spawn is not None:
                give_back(spawn, rest)
        if command is not None and spawn is not None:
            _await_shell(spawn, self._prompt())
        return result


def _await_shell(spawn: Any, prompt: str | None) -> None:
    """Waits for the prompt behind a transfer, and leaves it in the buffer.

    The command on the board may read on behind the last packet: a command typed meanwhile would go to it, and not to the shell.
    """
    found = spawn.expect([prompt], timeout=30) if prompt else spawn.expect([r"\S", pexpect.TIMEOUT], timeout=1)
    if found == 0:
        give_back(spawn, spawn.before + spawn.after, first=True)


@target_factory.reg_driver
@attr.s(eq=False)
class WetstringDriver(_Files):
    """Sends and receives files over a console.

    Args:
        protocol (str): the protocol of transfers that name none
        settings (dict): settings of `wst show settings`, such as ``{"kermit.window": 4}``
        reliable (bool): whether the console delivers every byte as it was; a cable does not
        prompt (str): a regular expression of the shell's prompt, waited for behind a transfer whose command was typed; without
            it anything that comes within a second is taken for the prompt
    """

    bindings = {"console": ConsoleProtocol}
    prompt = attr.ib(
        default=None,
        validator=attr.validators.optional(attr.validators.instance_of(str)),
        type=str | None,
    )

    def _prompt(self) -> str | None:
        return self.prompt


@target_factory.reg_driver
@attr.s(eq=False)
class WetstringUBootDriver(_Files):
    """Loads files into the memory of a board that is at its prompt, and compares what has arrived.

    Args: those of `WetstringDriver`; the protocol is YMODEM, if none is named
    """

    bindings = {"uboot": UBootDriver}
    protocol = attr.ib(
        default="ymodem", validator=attr.validators.in_([*protocols()]), type=str
    )

    def _console(self) -> Any:
        return self.uboot.console

    def _prompt(self) -> str | None:
        return str(self.uboot.prompt)

    @Driver.check_active  # type: ignore[untyped-decorator]
    @step(args=["file", "address", "protocol"])  # type: ignore[untyped-decorator]
    def load(
        self,
        file: Path,
        address: int | str = "${loadaddr}",
        protocol: str | None = None,
        *,
        progress: Callable[[Event], object] | None = None,
    ) -> int:
        """Loads a file by ``loady``, ``loadb`` or ``loadx``, and returns its CRC-32, which U-Boot's ``crc32`` has of the memory
        as well. Raises an `ExecutionError` if that differs."""
        protocol = protocol or self.protocol
        loader = _LOADERS.get(protocol.split("-")[0])
        if loader is None:
            known = ", ".join(_LOADERS)
            raise ValueError(f"expected a protocol of U-Boot ({known}), got {protocol}")
        where = address if isinstance(address, str) else f"0x{address:x}"
        with open(file, "rb") as content:
            data = content.read()
        console = self._console()
        # Its last words, among them the prompt, are no answer to the next command.
        try:
            self.send(
                file, protocol, command=f"{loader} {where}", expect=_LISTENS, progress=progress
            )
        finally:
            console.expect(self.uboot.prompt, timeout=30)
        if not data:
            return 0
        # Not by the UBootDriver: the arrow of the answer ends like the usual prompt, and it would stop there.
        console.sendline(f"crc32 {where} 0x{len(data):x}")
        _, _, match, _ = console.expect(r"==> ([0-9a-f]{8})", timeout=60)
        console.expect(self.uboot.prompt, timeout=30)
        sent, got = zlib.crc32(data), int(match.group(1), 16)
        if got != sent:
            raise ExecutionError(f"expected crc32 {sent:08x} at {where}, got {got:08x}")
        return sent
