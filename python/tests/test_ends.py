"""How transfers end when they do not end well."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import wetstring
import wetstring.line

from conftest import noise, program




def test_no_peer_answers() -> None:
    ours, _theirs = socket.socketpair()
    with pytest.raises(wetstring.PeerError) as failed:
        wetstring.send(ours, [("a", b"a")], "kermit", settings={"kermit.timeout": 1, "kermit.retries": 1})
    assert (failed.value.blame, failed.value.kind) == ("peer", "silence")
    assert failed.value.result.file_bytes == 0


def test_the_line_closes(tmp_path) -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(wetstring.LineError) as failed:
        wetstring.receive(ours, tmp_path)
    assert failed.value.kind == "closed"


def test_the_peer_gives_up(peer, rooms) -> None:
    """lrzsz may not overwrite what is there, and says so: the file is skipped."""
    ours, theirs = rooms
    (theirs / "data.bin").write_bytes(b"older")
    far = peer("rz", "-q", "-b", "-p", cwd=theirs)
    with pytest.raises(wetstring.Skipped) as skipped:
        wetstring.send(far.port, [ours / "data.bin"])
    assert skipped.value.result.files[0]["outcome"] != "sent"
    assert (theirs / "data.bin").read_bytes() == b"older"


def test_no_such_directory(peer, rooms) -> None:
    ours, theirs = rooms
    far = peer("sz", "-q", "data.bin", cwd=ours)
    with pytest.raises(wetstring.StoreError) as failed:
        wetstring.receive(far.port, theirs / "none")
    assert failed.value.blame == "store" and "none" in str(failed.value)


def test_no_such_file() -> None:
    with pytest.raises(FileNotFoundError):
        wetstring.send(socket.socketpair()[0], ["/no/such/file"])


def test_wrong_arguments() -> None:
    ours, _theirs = socket.socketpair()
    with pytest.raises(ValueError, match="kermit, xmodem"):
        wetstring.send(ours, [], "modem9")
    with pytest.raises(ValueError, match="zmodem.nothing"):
        wetstring.send(ours, [], settings={"zmodem.nothing": 1})
    with pytest.raises(ValueError, match="name="):
        wetstring.receive(ours, protocol="xmodem")
    with pytest.raises(ValueError, match="backup, rename"):
        wetstring.receive(ours, on_collision="perhaps")


def test_a_file_is_cancelled(peer, rooms) -> None:
    ours, theirs = rooms
    (ours / "data.bin").write_bytes(noise(20_000_000))
    (ours / "second.bin").write_bytes(noise(1_000, 2))
    with wetstring.line.Line("200000") as line:
        child = subprocess.Popen([program("rz"), "-q", "-b"], cwd=theirs, stdin=line.b, stdout=line.b,
                                 stderr=subprocess.DEVNULL)
        run = wetstring.Send(line.a, [ours / "data.bin", ours / "second.bin"])
        with pytest.raises(wetstring.Skipped) as skipped:
            for event in run:
                if event["event"] == "progress":
                    run.cancel()
            run.result()
        assert child.wait(20) in (0, 1, 128)
    assert [file["outcome"] for file in skipped.value.result.files] == ["partial", "sent"]
    assert (theirs / "second.bin").read_bytes() == noise(1_000, 2)


def test_ctrl_c_ends_it_at_once(tmp_path) -> None:
    """In a process of its own, which waits for a peer that says nothing."""
    code = (
        "import signal, socket, sys, wetstring\n"
        # Tests that run in the background may have inherited it as ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "ours, theirs = socket.socketpair()\n"
        "print('waits', flush=True)\n"
        "try:\n"
        "    wetstring.receive(ours, sys.argv[1])\n"
        "except KeyboardInterrupt:\n"
        "    theirs.settimeout(1)\n"
        "    print('ended', theirs.recv(4096).count(b'\\x18') >= 5)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path,
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "waits\n"
    time.sleep(0.5)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=10)
    assert time.monotonic() - began < 2.5
    # The peer was told: five CAN and more.
    assert said == "ended True\n" and child.returncode == 0


def test_other_threads_run_meanwhile(tmp_path) -> None:
    """The interpreter's lock is not held while a port moves bytes."""
    ours, theirs = socket.socketpair()
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    receiver = wetstring.Receive(theirs, tmp_path)
    thread.start()
    wetstring.send(ours, [("data.bin", noise(20_000_000))])
    receiver.result()
    over.set()
    thread.join()
    assert turns > 20


def test_a_name_from_the_peer_stays_below_the_directory(tmp_path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    ours, theirs = socket.socketpair()
    receiver = wetstring.Receive(theirs, into)
    wetstring.send(ours, [("../outside", b"no")])
    receiver.result()
    assert not (tmp_path / "outside").exists() and (into / "outside").read_bytes() == b"no"
    assert os.listdir(into) == ["outside"]
