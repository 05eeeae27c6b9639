"""This package beside the package `xmodem` of PyPI: MB/s, and what becomes of a file on lines that damage and lose bytes.

    pip install wetstring xmodem pyserial
    python python/bench/beside_xmodem.py            # about ten minutes; --quick for a look
    python python/bench/beside_xmodem.py --runs 20

Both ends of a transfer are of the same package, with its own defaults, by XMODEM-1K, each in a process of its own. Prints
two tables in Markdown.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import json
import os
import random
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tty
from pathlib import Path
from typing import Any

PACKAGES = ("wetstring", "xmodem")
#: What the lines do to the bytes, at 1 Mbit/s.
LINES = {
    "nothing": "1000000",
    "one bit in 100 000 inverted": "1000000,ber=1e-5",
    "one byte in 10 000 lost": "1000000,drop=1e-4",
    "one byte in 10 000 doubled": "1000000,dup=1e-4",
}
#: Seconds after which a transfer is not waited for, and a length that no block of 1024 divides.
LIMIT_S, NOISY_LEN = 120, 50_123


def wetstring_end(role: str, descriptor: int, path: Path) -> bool:
    """One end by this package. What the socket leads to, it cannot know."""
    import wetstring

    port: Any = socket.socket(fileno=descriptor) if is_socket(descriptor) else Terminal(descriptor)
    try:
        if role == "send":
            wetstring.send(port, [path], "xmodem-1k", reliable=False)
        else:
            wetstring.receive(port, path.parent, "xmodem-1k", name=path.name, reliable=False)
    except wetstring.TransferError:
        return False
    return True


def is_socket(descriptor: int) -> bool:
    """Whether it is one, and no terminal."""
    return not os.isatty(descriptor)


class Terminal:
    """A file object of a terminal."""

    def __init__(self, descriptor: int) -> None:
        self.fileno = lambda: descriptor
        self.read = lambda size: os.read(descriptor, size)
        self.write = lambda data: os.write(descriptor, data)


def xmodem_end(role: str, descriptor: int, path: Path) -> bool:
    """One end by the package `xmodem`, as its documentation has it for pyserial: reads wait for all of it."""
    import xmodem

    def getc(size: int, timeout: float = 1) -> bytes | None:
        data, until = b"", time.monotonic() + timeout
        while len(data) < size:
            left = until - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                break
            more = os.read(descriptor, size - len(data))
            if not more:
                break
            data += more
        return data or None

    def putc(data: bytes, timeout: float = 1) -> int:
        return os.write(descriptor, data)

    modem = xmodem.XMODEM(getc, putc, mode="xmodem1k")
    if role == "send":
        with open(path, "rb") as file:
            return bool(modem.send(file, quiet=True))
    with open(path, "wb") as out:
        return modem.recv(out, quiet=1) is not None


def end(package: str, role: str, descriptor: int, path: Path) -> None:
    """The process of one end: says whether it takes the file to have arrived, and when it was over."""
    __import__(package)
    began = time.monotonic()
    well = {"wetstring": wetstring_end, "xmodem": xmodem_end}[package](role, descriptor, path)
    print(json.dumps({"well": well, "began": began, "over": time.monotonic()}))


def transfer(package: str, ends: tuple[int, int], data: bytes) -> tuple[str, float]:
    """What became of a file, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "sent"), Path(folder, "got")]
        paths[0].write_bytes(data)
        started = [
            subprocess.Popen(
                [sys.executable, __file__, "--end", package, role, str(descriptor), path],
                pass_fds=[descriptor], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
            for role, descriptor, path in zip(("send", "receive"), ends, paths)
        ]
        until, said = time.monotonic() + LIMIT_S, list[dict[str, Any]]()
        for child in started:
            try:
                out, _ = child.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                out, _ = child.communicate()
            said += [json.loads(out)] if out else []
        got = paths[1].read_bytes() if paths[1].exists() else b""
    # XMODEM fills the last block up.
    whole = got[: len(data)] == data and not got[len(data) :].strip(b"\x1a")
    if len(said) < 2:
        return "endless", LIMIT_S
    spent = said[0]["over"] - max(one["began"] for one in said)
    if all(one["well"] for one in said):
        return ("arrived" if whole else "false"), spent
    return "failed", spent


def on_sockets(package: str, data: bytes) -> tuple[str, float]:
    """Over a pair of sockets."""
    near, far = socket.socketpair()
    with near, far:
        return transfer(package, (near.fileno(), far.fileno()), data)


def on_line(package: str, model: str, data: bytes, terminals: bool) -> tuple[str, float]:
    """Over an emulated line."""
    from wetstring.line import Line

    kind = "pty:" if terminals else None
    with Line(model, kind, kind) as line:
        if not terminals:
            return transfer(package, (line.a.fileno(), line.b.fileno()), data)
        ends = [os.open(path, os.O_RDWR | os.O_NOCTTY) for path in (line.path_a, line.path_b)]
        for one in ends:
            tty.setraw(one)
        try:
            return transfer(package, (ends[0], ends[1]), data)
        finally:
            for one in ends:
                os.close(one)


def speeds(length: int) -> None:
    """The table of MB/s: the best of five, for other programs only make it slower."""
    data = random.Random(1).randbytes(length)
    print("| XMODEM-1K | pair of sockets, MB/s | two terminals, MB/s |\n|---|---|---|")
    for package in PACKAGES:
        cells = []
        for run in (on_sockets, lambda name, data: on_line(name, "0", data, True)):
            ends = [run(package, data) for _ in range(5)]
            assert {outcome for outcome, _ in ends} == {"arrived"}, ends
            cells.append(f"{length / 1e6 / min(spent for _, spent in ends):.1f}")
        print(f"| `{package}` {importlib.metadata.version(package)} | {' | '.join(cells)} |", flush=True)


def robustness(runs: int, at_once: int) -> None:
    """The table of outcomes."""
    print(f"\n| of {runs} files, the line does this | package | arrived | failed, and said so | said arrived, and was not | not over after 2 min "
          "| s of those that arrived |\n|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for title, model in LINES.items():
            waiting = {
                package: [
                    pool.submit(on_line, package, f"{model},seed={seed}",
                                random.Random(seed).randbytes(NOISY_LEN), False)
                    for seed in range(1, runs + 1)
                ]
                for package in PACKAGES
            }
            for package, futures in waiting.items():
                ends = [future.result() for future in futures]
                counts = [sum(outcome == kind for outcome, _ in ends)
                          for kind in ("arrived", "failed", "false", "endless")]
                times = [spent for outcome, spent in ends if outcome == "arrived"]
                middle = f"{statistics.median(times):.1f}" if times else "-"
                print(f"| {title} | `{package}` | {' | '.join(map(str, counts))} | {middle} |", flush=True)


def main() -> None:
    """The tables, or one end of a transfer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=10, help="transfers over noise at the same time")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--end", nargs=4, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.end:
        package, role, descriptor, path = words.end
        end(package, role, int(descriptor), Path(path))
        return
    speeds(1_000_000 if words.quick else 4_000_000)
    robustness(2 if words.quick else words.runs, words.at_once)


if __name__ == "__main__":
    main()
