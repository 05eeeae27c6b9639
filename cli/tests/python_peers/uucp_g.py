"""The line of the test peer `uucp.py`, which can be bad, and the packets of the g protocol on it.

Written from the manuals alone; what the marks TM and PD mean is said in uucp.py.
"""

import fcntl
import os
import pty
import random
import select
import socket
import time
import tty

CLOSE, RJ, SRJ, RR, INITC, INITB, INITA = 1, 2, 3, 4, 5, 6, 7  # TM "g Protocol", the field xxx
DLE = 0x10


class Ended(Exception):
    """The conversation is over before its time."""


def checksum(field):
    """PD's sum over the whole data field (TM "g Protocol", igchecksum)."""
    one, two = 0xFFFF, 0
    for left, byte in zip(range(len(field), 0, -1), field):
        one = ((one << 1) | (one >> 15)) & 0xFFFF
        one += byte
        carry = one > 0xFFFF
        one &= 0xFFFF
        two = (two + (one ^ left)) & 0xFFFF
        if byte == 0 or carry:
            one ^= two
    return one


def packet(k, control, field=b""):
    """Six bytes of header and the field (TM "g Protocol", the header)."""
    check = (0xAAAA - (checksum(field) ^ control if k != 9 else control)) & 0xFFFF
    low, high = check & 0xFF, check >> 8
    return bytes([DLE, k, low, high, control, k ^ low ^ high ^ control]) + field


class Line:
    """The bytes, and what a bad line does to them."""

    def __init__(self, cfg):
        self.cfg, self.rng, self.bad = cfg, random.Random(cfg["seed"]), False
        self.out, self.child, self.open = b"", None, True
        self.count = dict.fromkeys(("noise", "drop", "lose", "double", "late"), 0)
        self.held = {}
        link = cfg["link"]
        if link == "stdio":
            self.fds = (0, 1)
        elif isinstance(link, list):
            self.child, fd = pty.fork()
            if self.child == 0:
                os.execvp(link[0], link)
            self.fds = (fd, fd)
        elif link.startswith("pty:"):
            fd = os.open(link[4:], os.O_RDWR | os.O_NOCTTY)
            self.fds = (fd, fd)
        else:
            kind, host, port = link.split(":")
            if kind == "listen":
                server = socket.create_server((host, int(port)))
                server.settimeout(cfg["limit"])
                self.sock = server.accept()[0]
            else:
                self.sock = socket.create_connection((host, int(port)), 10)
            self.fds = (self.sock.fileno(),) * 2
        for fd in set(self.fds):
            # Beside the flag for the TTY: the file description is not shared here.
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
            if os.isatty(fd):
                tty.setraw(fd)

    def chance(self, what):
        hit = self.bad and self.cfg[what] and self.rng.random() < self.cfg[what]
        self.count[what] += bool(hit)
        return hit

    def damage(self, data):
        """Noise turns bits, or swallows bytes."""
        if not (self.bad and (self.cfg["noise"] or self.cfg["drop"])):
            return data
        out = bytearray()
        for byte in data:
            if self.chance("drop"):
                continue
            out.append(byte ^ (1 << self.rng.randrange(8)) if self.chance("noise") else byte)
        return bytes(out)

    def packets(self, one, way):
        """What a line that loses, doubles and delays packets makes of one. `way` is in or out."""
        if self.chance("lose"):
            return []
        if way not in self.held and self.chance("late"):
            self.held[way] = one
            return []
        out = [one, one] if self.chance("double") else [one]
        return out + [self.held.pop(way)] if way in self.held else out

    def write(self, data):
        self.out += self.damage(data)
        self.move(0, reads=False)

    def move(self, wait, reads=True):
        """Writes what can be written; returns what came, None if nothing did within `wait` seconds."""
        if not self.open:
            raise Ended("the line is closed")
        sources = [self.fds[0]] if reads else []
        ready = select.select(sources, [self.fds[1]] if self.out else [], [], wait)
        try:
            if ready[1]:
                self.out = self.out[os.write(self.fds[1], self.out):]
            if ready[0]:
                data = os.read(self.fds[0], 65536)
                if not data:
                    raise Ended("the line was closed by the peer")
                return self.damage(data)
        except BlockingIOError:
            pass
        except OSError as error:  # EIO: the other side of the PTY is gone; EPIPE, ECONNRESET
            raise Ended(f"the line was closed by the peer ({error.strerror})") from error
        return None

    def flush(self, seconds):
        until = time.monotonic() + seconds
        while self.out and time.monotonic() < until:
            self.move(0.05, reads=False)

    def close(self):
        self.open = False
        for fd in set(self.fds):
            os.close(fd)


class G:
    """The packets (TM "g Protocol")."""

    def __init__(self, line, cfg, note):
        self.line, self.cfg, self.note = line, cfg, note
        self.raw, self.inbox = b"", []
        self.last_in = 0        # the last that came in order
        self.unacked_in = 0     # of those, how many were not acknowledged yet
        self.next_out, self.flying = 1, []  # (number, bytes), oldest first
        self.window, self.size = 1, 64      # what the peer lets us send
        self.seen, self.running, self.closed = set(), False, False
        self.rejected, self.rj_served = False, (None, 0.0)
        self.count = {key: 0 for key in ("in", "out", "again", "rj_in", "rj_out", "bad", "skipped",
                                         "old", "timeouts", "most_flying", "close_in")}
        self.sizes = {}
        self.began = time.monotonic()

    # Sending.

    def control(self, kind, value):
        self.emit(packet(9, (kind << 3) | value))

    def emit(self, one):
        for each in self.line.packets(one, "out"):
            self.line.write(each)

    def put(self, number, kind, k, field):
        """One data packet with the newest acknowledgement in it (the field yyy)."""
        ack = self.last_in if self.cfg["piggyback"] else (self.last_in - self.unacked_in) % 8
        if self.cfg["piggyback"]:
            self.unacked_in = 0
        self.emit(packet(k, (kind << 6) | (number << 3) | ack, field))

    def send(self, data, short=None):
        """One packet of data; waits for the window. `short` forces the short kind."""
        if self.closed:
            raise Ended("the peer closed the protocol")
        self.wait(lambda: len(self.flying) < self.window)
        if self.closed:  # CLOSE came right behind the acknowledgement that opened the window
            raise Ended("the peer closed the protocol")
        size, kind, field = self.size, 2, data
        if len(data) < size or short:
            while self.cfg["small_packets"] and size > 32 and len(data) < size // 2:
                size //= 2
            missing = size - len(data)
            kind = 3
            # TM "g Protocol", TT = 3: the count of bytes that are not valid, in one byte or two.
            if missing < 128 and not (self.cfg["ragged"] and missing > 1 and self.next_out % 2):
                field = bytes([missing]) + data
            else:
                field = bytes([0x80 | (missing & 0x7F), missing >> 7]) + data
            field = field.ljust(size, b"\0")
        k = size.bit_length() - 5
        number = self.next_out
        self.next_out = (number + 1) % 8
        self.flying.append((number, kind, k, field))
        self.count["out"] += 1
        self.count["most_flying"] = max(self.count["most_flying"], len(self.flying))
        self.put(number, kind, k, field)
        self.pump(0)

    def again(self):
        for one in self.flying:
            self.count["again"] += 1
            self.put(*one)

    # Receiving.

    def take(self):
        """The next sound packet: (k, control, field), or None; noise is skipped byte by byte."""
        while True:
            at = self.raw.find(DLE)
            self.count["skipped"] += len(self.raw) if at < 0 else at
            self.raw = b"" if at < 0 else self.raw[at:]
            if len(self.raw) < 6:
                return None
            _, k, low, high, control, xor = self.raw[:6]
            if not 1 <= k <= 9 or k ^ low ^ high ^ control != xor:
                self.raw = self.raw[1:]
                self.count["skipped"] += 1
                continue
            length = 0 if k == 9 else 16 << k
            if len(self.raw) < 6 + length:
                return None
            field = self.raw[6:6 + length]
            check = (0xAAAA - (control if k == 9 else checksum(field) ^ control)) & 0xFFFF
            if check != low | high << 8:
                self.count["bad"] += 1
                self.raw = self.raw[6:]  # a damaged length would swallow the packets behind it
                self.reject()
                continue
            self.raw = self.raw[6 + length:]
            return k, control, field

    def pump(self, wait):
        """Reads for at most `wait` seconds. True if a packet was taken."""
        if time.monotonic() - self.began > self.cfg["limit"]:
            raise Ended("out of time")
        data = self.line.move(wait)
        if data:
            self.raw += data
        took = False
        while (one := self.take()) is not None:
            took = True
            for each in self.line.packets(one, "in"):
                self.handle(*each)
        return took

    def handle(self, k, control, field):
        kind, xxx, yyy = control >> 6, (control >> 3) & 7, control & 7
        if kind == 0:
            self.handle_control(xxx, yyy, k)
        elif k == 9 or kind == 1:
            self.note(f"a packet with tt {kind} and k {k}")
        else:
            self.count["in"] += 1
            self.handle_data(k, kind, xxx, yyy, field)

    def handle_control(self, kind, value, k):
        if k != 9:
            self.note(f"a control packet with k {k}")
        if kind == CLOSE:
            self.count["close_in"] += 1
            self.closed = True
        elif kind in (RR, RJ):
            self.acknowledged(value)
            if kind == RJ:
                self.count["rj_in"] += 1
                # Several RJ for one loss are one: the first resends, the others of that moment do not.
                was, when = self.rj_served
                if was != value or time.monotonic() - when > self.cfg["timeout"] / 2:
                    self.rj_served = (value, time.monotonic())
                    self.again()
        elif kind == SRJ:
            self.note("SRJ, which is not used by UUCP")
        elif kind in (INITA, INITB, INITC):
            self.seen.add(kind)
            if kind == INITB:
                self.size = 32 << value
            elif value:
                self.window = value
            # An answer that was lost is asked for by the same packet again. Only the called system
            # answers then, so that two answers do not chase one another.
            if self.cfg["role"] == "answer" and (self.running or kind in self.answered):
                self.init(kind)

    def handle_data(self, k, kind, number, ack, field):
        self.acknowledged(ack)
        size = 16 << k
        self.sizes[size] = self.sizes.get(size, 0) + 1
        if size > self.cfg["packet"]:
            self.note(f"a packet of {size} bytes where we take {self.cfg['packet']}")
        # Beyond the window (TM "g Protocol": "may be sent ... must wait"): what is neither new within
        # the window after our last acknowledgement nor old.
        window, acked = self.cfg["window"], (self.last_in - self.unacked_in) % 8
        if window < (number - acked) % 8 <= 7 - window and not self.cfg["late"]:
            self.note(f"packet {number} where {acked} is acknowledged and the window is {window}")
        if number != (self.last_in + 1) % 8:
            if (self.last_in - number) % 8 < self.cfg["window"]:
                self.count["old"] += 1   # seen before: its acknowledgement was lost
                self.acknowledge()
            else:
                self.reject()
            return
        self.rejected = False
        self.last_in = number
        self.unacked_in += 1
        if kind == 3:
            first = field[0]
            if first < 128:
                data = field[1:1 + size - first]
                sound = 0 < first <= size
            else:
                missing = (first & 0x7F) + (field[1] << 7)
                data = field[2:2 + size - missing]
                sound = 2 <= missing <= size
            if not sound:
                self.note(f"a short packet of {size} bytes that begins with {field[:2].hex()}")
        else:
            data = field
        self.inbox.append((kind, data))
        if self.unacked_in >= min(self.cfg["ack_every"], self.cfg["window"]):
            self.acknowledge()

    def acknowledge(self):
        self.unacked_in = 0
        self.control(RR, self.last_in)

    def reject(self):
        if self.running and not self.rejected:
            self.rejected = True  # one RJ for one loss; the next comes with the time-out
            self.count["rj_out"] += 1
            self.unacked_in = 0
            self.control(RJ, self.last_in)

    def acknowledged(self, number):
        for index, one in enumerate(self.flying):
            if one[0] == number:
                del self.flying[:index + 1]
                return

    def wait(self, done):
        """Until it is done; asks again, and gives up after the retries."""
        tries, quiet = 0, time.monotonic()
        while not done():
            if self.closed:
                raise Ended("the peer closed the protocol")
            if self.pump(0.02):
                tries, quiet = 0, time.monotonic()
                continue
            if self.unacked_in and time.monotonic() - quiet > 0.1:
                self.acknowledge()
            if time.monotonic() - quiet < self.cfg["timeout"]:
                continue
            tries, quiet = tries + 1, time.monotonic()
            self.count["timeouts"] += 1
            if tries > self.cfg["retries"]:
                raise Ended("the peer is silent")
            self.raw = self.raw[1:] if self.raw else b""
            self.rejected = False
            if self.flying:
                self.again()
            else:
                self.reject()

    def receive(self):
        self.wait(lambda: self.inbox)
        return self.inbox.pop(0)

    # Start and end.

    def init(self, kind):
        code = (self.cfg["packet"] // 32).bit_length() - 1
        window = self.cfg["inita_window"] if kind == INITA else 0
        self.control(kind, code if kind == INITB else window or self.cfg["window"])

    def start(self, at):
        """INITA, INITB, INITC, each answered by its like (TM "g Protocol")."""
        self.answered = set()
        for kind, state in ((INITA, "inita"), (INITB, "initb"), (INITC, "initc")):
            at(state)
            if self.cfg["role"] == "call":
                self.init(kind)
            until, tries = time.monotonic() + self.cfg["timeout"], 0
            while kind not in self.seen and not self.inbox:
                self.pump(0.02)
                if self.closed:
                    raise Ended("CLOSE while the protocol started")
                if time.monotonic() > until:
                    until, tries = time.monotonic() + self.cfg["timeout"], tries + 1
                    self.count["timeouts"] += 1
                    if tries > self.cfg["retries"]:
                        raise Ended("no answer to INIT")
                    if self.cfg["role"] == "call":
                        self.init(kind)
            self.answered.add(kind)
            if self.cfg["role"] == "answer":
                self.init(kind)
        self.running = True

    def stop(self):
        """Each side sends CLOSE (TM "g Protocol", last paragraph)."""
        self.control(CLOSE, 0)
        self.control(CLOSE, 0)
        until = time.monotonic() + self.cfg["timeout"]
        while not self.closed and time.monotonic() < until:
            self.pump(0.02)
