"""The fixtures of the plugin, as a project of its own would use them."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
from pathlib import Path

import pytest
import wetstring
import wetstring.line

from conftest import module, noise


def test_the_fixtures_are_there_for_others(pytester) -> None:
    pytester.makepyfile(
        """
        import wetstring

        def test_line(wst_line, tmp_path):
            line = wst_line("2000000,ber=1e-6", a=None, b=None)
            receiver = wetstring.Receive(line.b, tmp_path)
            wetstring.send(line.a, [("x", bytes(30000))])
            receiver.result()
            assert (tmp_path / "x").read_bytes() == bytes(30000)

        def test_pair(wst_pty_pair):
            a, b = wst_pty_pair
            assert a.startswith("/dev/") and a != b

        def test_server(wst_server):
            server = wst_server(write=True)
            with wetstring.Client(server.line) as client:
                client.put([("x", b"there")])
                assert "x" in client.directory()
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_a_line_takes_its_time_and_counts() -> None:
    with wetstring.line.Line("9600") as line:
        line.a.sendall(bytes(480))
        line.b.settimeout(3)
        import time

        began, came = time.monotonic(), b""
        while len(came) < 480:
            came += line.b.recv(480)
        assert 0.4 < time.monotonic() - began < 1.5
        from_a, from_b = line.stop()
    assert (from_a.bytes_in, from_a.bytes_out, from_b.bytes_in) == (480, 480, 0)


def test_a_model_that_is_none() -> None:
    with pytest.raises(ValueError):
        wetstring.line.Line("9600,nonsense=1")


@pytest.mark.parametrize("name", ["wetstring", "wetstring.lab", "wetstring.line", "wetstring._server"])
def test_documentation(name: str, tmp_path: Path) -> None:
    found = doctest.testmod(importlib.import_module(name), extraglobs={"tmp": tmp_path})
    assert found.attempted > 0 and found.failed == 0


def test_the_table_beside_xmodem() -> None:
    """The script of the published table still moves a file by both packages."""
    module("xmodem")
    path = Path(__file__).parents[1] / "bench/beside_xmodem.py"
    spec = importlib.util.spec_from_file_location("beside_xmodem", path)
    assert spec is not None and spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    for package in table.PACKAGES:
        assert table.on_sockets(package, noise(30_000))[0] == "arrived"
