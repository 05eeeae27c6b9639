"""labgrid's own consoles. The peers are programs in a shell, and U-Boot in QEMU."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wetstring

from conftest import missing, module, noise, program

UBOOT = Path("/usr/lib/u-boot/qemu_arm/u-boot.bin")
#: The line of a shell that receives, and of one that sends, by protocol. C-Kermit needs a terminal.
PROGRAMS = {
    "zmodem": ("rz -q -b", "sz -q -b data.bin"),
    "ymodem": ("rb -q -b", "sb -q -b data.bin"),
    "xmodem-crc": ("rx -q -c data.bin", "sx -q data.bin"),
}


@pytest.fixture
def target() -> Iterator[Any]:
    """A target of labgrid's, which loads our drivers as an environment with ``imports`` does."""
    made = module("labgrid").Target("main")
    import wetstring.labgrid  # noqa: F401  registers them

    yield made
    made.cleanup()


def driver(target: Any, console: Any, **more: Any) -> Any:
    from labgrid.factory import target_factory

    made = target_factory.make_driver(target, "WetstringDriver", None, more)
    target.activate(made)
    assert made.console is console
    return made


@pytest.fixture
def shell(target: Any, tmp_path: Path) -> Any:
    """A console that is a shell: its input and output are pipes."""
    from labgrid.driver import ExternalConsoleDriver

    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    console = ExternalConsoleDriver(target, None, cmd=f"{program('bash')} --norc --noprofile")
    target.activate(console)
    console.sendline(f"cd {tmp_path}/far; echo at-'home'")
    console.expect("at-home\n")
    return console


@pytest.mark.parametrize("protocol", PROGRAMS)
def test_a_shell_on_pipes(target: Any, shell: Any, tmp_path: Path, protocol: str) -> None:
    receives, sends = PROGRAMS[protocol]
    for line in (receives, sends):
        program(line.split()[0])
    data, far = noise(128 * 500), tmp_path / "far/data.bin"
    ours = driver(target, shell, protocol=protocol)
    sent = ours.send(("data.bin", data), command=f"{receives} 2>/dev/null; echo is-'there'")
    assert sent.file_bytes == len(data)
    # What comes after a transfer is still there for `expect`, and what came before it is not.
    _, before, _, _ = shell.expect("is-there\n", timeout=10)
    assert len(before) < 100
    assert far.read_bytes() == data
    back = ours.receive(
        tmp_path / "near", name="back.bin", command=f"{sends} 2>/dev/null; echo was-'sent'"
    )
    shell.expect("was-sent\n", timeout=10)
    assert Path(back.files[0]["path"]).read_bytes() == data


@pytest.mark.parametrize("prompt", [None, r"\$ $"])
def test_a_command_waits_for_the_end_of_the_one_before(
    target: Any, shell: Any, tmp_path: Path, prompt: str | None
) -> None:
    """`rz` reads the line after the last packet in one piece with a command typed by then, which its shell never sees."""
    late = ("strace", "-o", "/dev/null", "-e", "trace=read", "-e", "inject=read:delay_enter=30000")
    program("strace")
    ours = driver(target, shell, prompt=prompt)
    tell = "echo -n 'there $ '"
    ours.send(("data.bin", b"a" * 300), command=f"{' '.join(late)} rz -q -b 2>/dev/null; {tell}")
    back = ours.receive(tmp_path / "near", command=f"sz -q -b data.bin 2>/dev/null; {tell}")
    assert Path(back.files[0]["path"]).read_bytes() == b"a" * 300
    shell.expect(r"there \$ ", timeout=10)


@pytest.mark.parametrize("model", ["0", "400000,burst=4@500ms"], ids=["clean", "noisy"])
def test_a_serial_driver_on_a_line(target: Any, wst_line: Any, tmp_path: Path, model: str) -> None:
    from labgrid.driver import SerialDriver
    from labgrid.resource import RawSerialPort

    line = wst_line(model)
    RawSerialPort(target, None, port=line.path_a, speed=115200)
    console = SerialDriver(target, None)
    target.activate(console)
    ours = driver(target, console, protocol="kermit")
    data = noise(60_000)
    script = tmp_path / "far.ksc"
    script.write_text(
        f"set carrier-watch off\nset line {line.path_b}\nset speed 115200\nset file type binary\n"
        f"cd {tmp_path}\nreceive\nsend data.bin\nexit 0\n"
    )
    child = subprocess.Popen([program("kermit"), "-H", "-Y", "-Q", "-C", f"take {script}"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    ours.send([("data.bin", data)])
    back = ours.receive(tmp_path, name="back.bin")
    assert child.wait(20) == 0
    for name in ("data.bin", "back.bin"):
        assert (tmp_path / name).read_bytes() == data
    assert back.file_bytes == len(data)
    if model != "0":
        assert sum(way.damaged for way in line.stop()) > 0


def test_a_failure_is_one_of_ours_and_leaves_the_console(target: Any, shell: Any) -> None:
    ours = driver(target, shell, settings={"kermit.timeout": 1, "kermit.retries": 1})
    with pytest.raises(wetstring.PeerError) as failed:
        ours.send(("a", b"a"), "kermit", command="sleep 4; echo still-'here'", reliable=True)
    assert failed.value.kind == "silence"
    shell.expect("still-here\n", timeout=10)
    with pytest.raises(ValueError, match="protocol"):
        driver(target, shell, protocol="modem9")


ENVIRONMENT = """
imports: [wetstring.labgrid]
tools: {{qemu: {qemu}}}
images: {{bios: {bios}}}
targets:
  main:
    drivers:
      QEMUDriver: {{qemu_bin: qemu, machine: virt, cpu: cortex-a15, memory: 256M, bios: bios, extra_args: "-nic none"}}
      UBootDriver: {{prompt: "=> ", interrupt: "\\x03"}}
      WetstringUBootDriver: {{}}
"""


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Any]:
    """A board that runs U-Boot, by an environment as users write it."""
    labgrid = module("labgrid")
    if not UBOOT.is_file():
        missing(str(UBOOT))
    text = ENVIRONMENT.format(qemu=program("qemu-system-arm"), bios=UBOOT)
    path = tmp_path / "board.yaml"
    path.write_text(text)
    target = labgrid.Environment(str(path)).get_target()
    emulator = target.get_driver("QEMUDriver")
    emulator.on()
    yield target
    target.cleanup()


def test_u_boot_has_the_same_crc32(board: Any, tmp_path: Path) -> None:
    loads = board.get_driver("WetstringUBootDriver")
    data = noise(20_001)
    path = tmp_path / "kernel.bin"
    path.write_bytes(data)
    uboot = board.get_driver("UBootDriver")
    assert loads.uboot is uboot
    seen: list[str] = []
    for protocol in (None, "kermit", "xmodem-1k"):
        assert loads.load(path, 0x41000000, protocol, progress=lambda event: seen.append(event["event"])) == zlib.crc32(data)
        # The prompt is there again, and no rest of the transfer before it.
        assert uboot.run_check("echo well") == ["well"]
        uboot.run_check("mw.l 0x41000000 0 0x8000")
    assert seen.count("end") == 3
    uboot.run_check("setenv loadaddr 0x42000000")
    assert loads.load(path) == zlib.crc32(data)
    with pytest.raises(ValueError, match="kermit, ymodem, xmodem"):
        loads.load(path, protocol="zmodem")


def test_what_u_boot_has_otherwise_is_told(board: Any, tmp_path: Path) -> None:
    """U-Boot takes three or more 1A off the end of every block of XMODEM: only the check sum tells."""
    from labgrid.driver import ExecutionError

    data = bytearray(noise(391, 102))
    data[251:256] = b"\x1a" * 5
    path = tmp_path / "gap.bin"
    path.write_bytes(data)
    loads = board.get_driver("WetstringUBootDriver")
    with pytest.raises(ExecutionError, match="expected crc32"):
        loads.load(path, 0x41000000, "xmodem-crc")
    assert loads.load(path, 0x41000000, "ymodem") == zlib.crc32(data)
