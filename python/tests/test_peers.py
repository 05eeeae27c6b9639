"""Both directions with programs that we did not write, and with ours: the bytes are compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import wetstring

from conftest import noise, program

#: How each program sends, how it receives, and the protocol.
PEERS = [
    ("zmodem", ["sz", "-q", "-b", "data.bin"], ["rz", "-q", "-b"]),
    ("ymodem", ["sb", "-q", "-b", "data.bin"], ["rb", "-q", "-b"]),
    ("xmodem-1k", ["sx", "-q", "-k", "data.bin"], ["rx", "-q", "-c", "data.bin"]),
    ("zmodem", ["wst", "send", "-q", "-P", "zmodem", "data.bin", "-"], ["wst", "receive", "-q", "-P", "zmodem", "-"]),
    ("kermit", ["wst", "send", "-q", "-P", "kermit", "data.bin", "-"], ["wst", "receive", "-q", "-P", "kermit", "-"]),
]
IDS = [f"{sends[0]}-{protocol}" for protocol, sends, _ in PEERS]


def padded(data: bytes, protocol: str) -> bytes:
    """XMODEM fills the last block up."""
    if not protocol.startswith("xmodem"):
        return data
    block = 1024 if len(data) % 1024 > 896 or len(data) % 1024 == 0 else 128
    return data + b"\x1a" * (-len(data) % block)


@pytest.mark.parametrize(("protocol", "sends", "receives"), PEERS, ids=IDS)
def test_a_peer_receives(peer, rooms, protocol, sends, receives) -> None:
    ours, theirs = rooms
    far = peer(*receives, cwd=theirs)
    events: list[str] = []
    result = wetstring.send(
        far.port, [ours / "data.bin"], protocol, progress=lambda event: events.append(event["event"])
    )
    assert far.end() == 0
    data = (ours / "data.bin").read_bytes()
    assert (theirs / "data.bin").read_bytes() == padded(data, protocol)
    assert result.files[0]["outcome"] == "sent" and result.file_bytes == len(data)
    assert events[0] == "opened" and events[-1] == "end" and "file-done" in events


@pytest.mark.parametrize(("protocol", "sends", "receives"), PEERS, ids=IDS)
def test_a_peer_sends(peer, rooms, protocol, sends, receives) -> None:
    ours, theirs = rooms
    far = peer(*sends, cwd=ours)
    result = wetstring.receive(far.port, theirs, protocol, name="data.bin")
    assert far.end() == 0
    data = (ours / "data.bin").read_bytes()
    assert (theirs / "data.bin").read_bytes() == padded(data, protocol)
    assert result.files[0]["path"] == str(theirs / "data.bin")


def test_c_kermit_both_ways(rooms) -> None:
    kermit = program("kermit")
    ours, theirs = rooms
    wetstring.send(f"exec-pty:cd {theirs}; {kermit} -Y -Q -i -r", [ours / "data.bin"], "kermit")
    data = (ours / "data.bin").read_bytes()
    assert (theirs / "data.bin").read_bytes() == data
    (theirs / "data.bin").unlink()
    result = wetstring.receive(
        f"exec-pty:cd {ours}; {kermit} -Y -Q -i -s data.bin", theirs, "kermit"
    )
    assert (theirs / "data.bin").read_bytes() == data
    assert result.stats["file_bytes"] == len(data)


def test_c_kermit_is_a_client_of_our_server(rooms, tmp_path: Path) -> None:
    kermit = program("kermit")
    ours, theirs = rooms
    with wetstring.Server(ours, write=True) as server:
        host, number = server.address.split(":")
        script = tmp_path / "client.ksc"
        (theirs / "back.bin").write_bytes(noise(50_000, 2))
        script.write_text(
            f"set host {host} {number} /raw\nset file type binary\ncd {theirs}\n"
            "get data.bin\nsend back.bin\nfinish\nexit 0\n"
        )
        assert os.spawnv(os.P_WAIT, kermit, [kermit, "-H", "-Y", "-Q", "-C", f"take {script}"]) == 0
        log = list(server.log(0.5))
    assert (theirs / "data.bin").read_bytes() == (ours / "data.bin").read_bytes()
    assert (ours / "back.bin").read_bytes() == noise(50_000, 2)
    assert any("data.bin" in line and "done" in line for line in log), log


def test_our_client_asks_c_kermits_server(rooms) -> None:
    kermit = program("kermit")
    ours, theirs = rooms
    (ours / "a b.txt").write_bytes(b"blank\n")
    far = f"cd {ours}; exec {kermit} -Y -Q -i -x"
    import pexpect

    child = pexpect.spawn("sh", ["-c", f"stty raw -echo; {far}"])
    try:
        client = wetstring.Client(child)
        client.get("data.bin", theirs / "got.bin")
        assert (theirs / "got.bin").read_bytes() == (ours / "data.bin").read_bytes()
        client.put([("up.bin", noise(30_000, 3))])
        assert (ours / "up.bin").read_bytes() == noise(30_000, 3)
        assert "up.bin" in client.directory()
        client.delete("up.bin")
        assert not (ours / "up.bin").exists()
        client.finish()
    finally:
        child.close(force=True)


def test_our_client_asks_our_server(wst_server, rooms) -> None:
    ours, theirs = rooms
    with wetstring.Client(wst_server(ours).line) as client:
        client.get("data.bin", theirs / "got.bin")
        assert (theirs / "got.bin").read_bytes() == (ours / "data.bin").read_bytes()
        with pytest.raises(wetstring.PeerError) as refused:
            client.put([("new", b"not permitted")])
        assert refused.value.blame == "peer"
    assert not (ours / "new").exists()


def test_a_server_that_sends_more_than_was_asked_for(rooms, tmp_path: Path) -> None:
    """C-Kermit's server answers a pattern with two files: the second is refused."""
    kermit = program("kermit")
    ours, theirs = rooms
    (ours / "data2.bin").write_bytes(b"second")
    import pexpect

    child = pexpect.spawn("sh", ["-c", f"stty raw -echo; cd {ours}; exec {kermit} -Y -Q -i -x"])
    try:
        with pytest.raises(wetstring.Skipped):
            wetstring.Client(child).get("data*.bin", theirs / "one")
    finally:
        child.close(force=True)
    assert [path.name for path in theirs.iterdir()] == ["one"]
