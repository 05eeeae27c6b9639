"""What a transfer that failed raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._transfer import Result


class TransferError(Exception):
    """A transfer failed.

    ``blame`` is who is to blame: ``peer``, ``line``, ``store`` or ``local``. ``kind`` is the kind of failure, such as
    ``silence`` or ``too-many-retries``. ``result`` has what was done.
    """

    def __init__(self, message: str, blame: str, kind: str, result: Result) -> None:
        super().__init__(message)
        self.blame = blame
        self.kind = kind
        self.result = result


class PeerError(TransferError):
    """The peer failed, or broke its protocol."""


class LineError(TransferError):
    """The line could not be opened, closed early, or damages too much."""


class StoreError(TransferError):
    """A file could not be read or written."""


class LocalError(TransferError):
    """The settings do not fit, or the transfer was aborted here."""


class Skipped(TransferError):
    """The transfer is complete, but files were skipped, refused or cancelled: ``result.files`` says which."""


class Interrupted(LocalError):
    """``interrupt`` was called, or a signal arrived."""


BY_BLAME: dict[str, type[TransferError]] = {
    "peer": PeerError,
    "line": LineError,
    "store": StoreError,
    "local": LocalError,
}
