"""The Python of the book's pages, as it stands there but for what a test cannot have."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wetstring
import wetstring.line

from conftest import module, noise, program
from test_labgrid import board, driver, shell, target  # noqa: F401  fixtures

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str) -> list[str]:
    """The blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)


def run(text: str, names: dict[str, Any], **instead: str) -> dict[str, Any]:
    """Runs a block, with some words replaced, each of which has to be there."""
    for word, other in instead.items():
        assert word in text, f"{word} is not in the page"
        text = text.replace(word, other)
    exec(compile(text, "page", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_block_is_run_here() -> None:
    counted = {
        str(path.relative_to(DOCS)): len(found)
        for path in DOCS.rglob("*.md")
        if (found := blocks(str(path.relative_to(DOCS))))
    }
    assert counted == {
        "howto/labgrid.md": 2,
        "howto/pytest.md": 1,
        "howto/python-server.md": 1,
        "howto/python-sweep.md": 2,
        "howto/python.md": 2,
        "reference/python.md": 1,
    }


def test_files_are_moved(tmp_path: Path, peer: Callable[..., Any]) -> None:
    moves, fails = blocks("howto/python.md")
    (tmp_path / "there").mkdir()
    (tmp_path / "firmware.bin").write_bytes(noise(9000))
    (tmp_path / "notes.txt").write_text("notes\n")
    (tmp_path / "in").mkdir()
    with wetstring.line.Line("0", "pty:", None) as line:
        board = wetstring.Receive(line.b, tmp_path / "there", protocol="ymodem")
        words = {
            "/dev/ttyUSB0": line.path_a,
            "exec:ssh host sz notes.txt": f"exec:{program('sz')} -q notes.txt",
            '".")': '"in")',
        }
        found = run(moves, {}, **words)
        board.result()
    assert (tmp_path / "there/firmware.bin").read_bytes() == noise(9000)
    assert found["result"].files[0]["size"] == 6
    assert (tmp_path / "in/notes.txt").read_text() == "notes\n"
    (tmp_path / "a.bin").write_bytes(noise(3000))
    receiver = peer("rz", "-q", "-b", cwd=tmp_path / "there")
    run(fails, {"wetstring": wetstring, "port": receiver.port})
    assert receiver.end() == 0
    assert (tmp_path / "there/a.bin").read_bytes() == noise(3000)
    silent = peer("sleep", "1", cwd=tmp_path)
    seen: list[Any] = []
    run(fails, {"wetstring": wetstring, "port": silent.port, "print": lambda *words: seen.append(words)})
    assert seen[-1] == ("line", "closed")


def test_a_transfer_is_watched_and_cancelled(tmp_path: Path) -> None:
    [text] = blocks("reference/python.md")
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(noise(200_000))
    (tmp_path / "in").mkdir()
    for slow in (False, True):
        with wetstring.line.Line("400000") as line:
            receiver = wetstring.Receive(line.b, tmp_path / "in")
            names = {"wetstring": wetstring, "port": line.a, "too_slow": lambda rate: slow}
            if slow:
                with pytest.raises(wetstring.TransferError) as failed:
                    run(text, names)
                assert failed.value.kind == "skipped"
                with pytest.raises(wetstring.Skipped):
                    receiver.result()
            else:
                assert len(run(text, names)["result"].files) == 2
                receiver.result()


def test_a_server_and_its_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [text] = blocks("howto/python-server.md")
    (tmp_path / "share").mkdir()
    (tmp_path / "share/a.txt").write_text("shared\n")
    (tmp_path / "b.txt").write_text("put\n")
    run(text, {"wetstring": wetstring})
    assert (tmp_path / "copy.txt").read_text() == "shared\n"
    assert (tmp_path / "share/b.txt").read_text() == "put\n"
    assert "b.txt" in capsys.readouterr().out


def test_the_plugin_of_pytest(pytester: pytest.Pytester) -> None:
    [text] = blocks("howto/pytest.md")
    module("serial")
    pytester.makepyfile(f"import serial\n\n{text}\n    assert device.is_open\n    device.close()\n")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_sweeps(tmp_path: Path) -> None:
    one, clusters = blocks("howto/python-sweep.md")
    module("pandas")
    rows = run(one, {})["rows"]
    assert rows and (tmp_path / "rows.csv").read_text().count("\n") == 1 + len(rows)
    distributed = module("distributed")
    dask, ray = clusters.split("\n\n")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster:
        names = {"distributed": distributed, "lab": wetstring.lab}
        run(dask, names, **{"scheduler:8786": cluster.scheduler_address, '"paths"': '"window-length"'})
    # Ray itself is tested where it is installed.
    compile(ray, "page", "exec")


def test_labgrid_loads_a_board(board: Any, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "kernel.bin").write_bytes(noise(5000))
    text = blocks("howto/labgrid.md")[0]
    names = run(text, {}, **{"bootm 0x41000000": "iminfo; echo loaded"})
    names["test_kernel"](board)


def test_labgrid_moves_files(target: Any, shell: Any, tmp_path: Path) -> None:  # noqa: F811
    text = blocks("howto/labgrid.md")[1]
    (tmp_path / "app.bin").write_bytes(noise(4000))
    (tmp_path / "app.toml").write_text("x = 1\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "far/messages").write_text("a line\n")
    ours = driver(target, shell, protocol="zmodem", prompt="at-the-prompt\n")
    sums: list[str] = []

    class Shell:
        def run_check(self, command: str) -> None:
            shell.sendline(f"{command}; echo is-'done'")
            sums.append(shell.expect("is-done\n", timeout=10)[1].decode())

    class Target:
        def get_driver(self, name: str) -> Any:
            return {"ShellDriver": Shell(), "WetstringDriver": ours}[name]

    run(
        text,
        {"target": Target()},
        **{
            "rz -b": "rz -q -b 2>/dev/null; echo at-the-'prompt'",
            # C-Kermit wants a terminal, which this console is not.
            "kermit -i -s /var/log/messages": f"{program('wst')} send --quiet messages - 2>/dev/null; echo at-the-'prompt'",
        },
    )
    assert (tmp_path / "far/app.bin").read_bytes() == noise(4000)
    assert (tmp_path / "logs/messages").read_text() == "a line\n"
    assert "app.bin" in sums[0]
