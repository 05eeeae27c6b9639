"""A scripted console for the tests of device profiles: the prompts and answers of U-Boot, or of a Catalyst's boot loader."""

import os
import subprocess
import sys
import tty
import zlib

kind, lies = sys.argv[1], "lies" in sys.argv[2:]
tty.setraw(0)


def say(text):
    os.write(1, text.encode())


def receive(*protocol):
    # What comes lies in a directory of its own, under whatever name it has.
    subprocess.run(["wst", "receive", "-q", *protocol, "-", "-o", "got"], check=False)
    return b"".join(open(f"got/{name}", "rb").read() for name in os.listdir("got"))


def uboot(line):
    global got
    words = line.replace("${loadaddr}", "0x82000000").split()
    if words[:1] == ["loady"]:
        say(f"## Ready for binary (ymodem) download to {words[1]} at 115200 bps...\r\n")
        got = receive("-P", "ymodem")
        say(f"## Total Size      = 0x{len(got):08x} = {len(got)} Bytes\r\n")
    elif words[:1] == ["crc32"]:
        crc = zlib.crc32(got) ^ lies
        say(f"CRC32 for {words[1]} ... ==> {crc:08x}\r\n")


def catalyst(line):
    if line.startswith("copy xmodem:"):
        say("Begin the Xmodem or Xmodem-1K transfer now...\r\n")
        receive("-P", "xmodem-1k", "--as", "image")
        say('File "xmodem:" successfully copied to "flash:image"\r\n')
    else:
        say("done\r\n")


prompt, answer = {"uboot": ("=> ", uboot), "catalyst": ("switch: ", catalyst)}[kind]
# It starts, as a board does, and can be stopped.
say("Hit any key to stop autoboot:  2 \r\n" if kind == "uboot" else "Base ethernet MAC Address\r\n")
line, got = "", b""
while True:
    byte = os.read(0, 1)
    if byte in (b"", b"\x04"):
        break
    if byte == b"\x03":
        say(f"\r\n{prompt}")
        line = ""
    elif byte == b"\r":
        say("\r\n")
        answer(line)
        say(prompt)
        line = ""
    else:
        line += byte.decode("latin-1")
        say(byte.decode("latin-1"))
