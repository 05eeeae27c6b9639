"""Packets of NETBLT by RFC 998, and a path that loses, repeats, reorders and damages them."""

import heapq
import math
import os
import random
import select
import socket
import struct
import time

# RFC 8: packet types.
TYPES = ["open", "response", "keepalive", "quit", "quitack", "abort", "data", "ldata", "null-ack", "control", "refused",
         "done"]
(OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE) = range(12)
GO, OK, RESEND = range(3)
MESSAGES = ["go", "ok", "resend"]
HEADER = 12
DATA_HEADER = 24
FLAG_M, FLAG_C, FLAG_L = 1, 2, 1


def checksum(data):
    """RFC 5.1: the bitwise negation of the ones-complement sum of the 16-bit words. D: an odd byte is padded with 0."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def after(a, b):
    """Whether sequence number a is later than b. D: they wrap, and are compared over half the range."""
    return 0 < (a - b) % 65536 < 32768


def packet(kind, ports, body=b"", data=b"", version=1):
    """RFC 8: header, body, padding to four bytes. D: Length is without the padding, so that data have any length."""
    length = HEADER + len(body) + len(data)
    head = struct.pack(">BBHHHH", version, kind, length, ports[0], ports[1], 0)
    covered = b"\0\0" + head + body if kind in (DATA, LDATA) else b"\0\0" + head + body + data
    return struct.pack(">H", checksum(covered)) + head + body + data + bytes(-length % 4)


def text(words):
    """RFC 8: strings end with at least one null byte and are a multiple of four bytes."""
    words = os.fsencode(words)
    return words + bytes(4 - len(words) % 4)


class Packet:
    """What came, taken apart. Raises ValueError with the reason if it is no packet."""

    def __init__(self, raw):
        if len(raw) < HEADER:
            raise ValueError("short")
        _, self.version, self.kind, self.length, self.theirs, self.ours, pad = struct.unpack(">HBBHHHH", raw[:HEADER])
        if self.kind >= len(TYPES):
            raise ValueError("unknown type")
        if not HEADER <= self.length <= len(raw):
            raise ValueError("length")
        self.raw, whole = raw, raw[:self.length]
        # RFC 5.1 and 8: DATA and LDATA have a checksum over the header, which holds that of the data.
        if checksum(whole[:DATA_HEADER] if self.kind in (DATA, LDATA) else whole):
            raise ValueError("checksum")
        need = {OPEN: 36, RESPONSE: 36, DATA: DATA_HEADER, LDATA: DATA_HEADER, NULL_ACK: 20}.get(self.kind, HEADER)
        if self.length < need:
            raise ValueError("truncated")
        self.faults = []
        if len(raw) % 4:
            self.faults.append(f"{self.name()} of {len(raw)} bytes is not longword-aligned (RFC 8)")
        if pad:
            self.faults.append("padding of the header is not zero (RFC 8)")
        body = whole[HEADER:]
        if self.kind in (OPEN, RESPONSE):
            (self.uid, self.buffer_size, self.size, self.packet_size, self.burst, self.interval, self.death, self.flags,
             self.buffers) = struct.unpack(">IIIHHHHHH", body[:24])
            self.client = body[24:].split(b"\0")[0]
            if b"\0" not in body[24:]:
                self.faults.append("client string without a null byte (RFC 8)")
            if self.flags & ~3:
                self.faults.append("reserved flags are not zero (RFC 8)")
        elif self.kind in (QUIT, ABORT, REFUSED):
            self.reason = body.split(b"\0")[0].decode("utf-8", "replace")
            if b"\0" not in body:
                self.faults.append(f"{self.name()} has a reason without a null byte (RFC 8)")
        elif self.kind in (DATA, LDATA):
            self.buffer, self.high, self.number, self.sum, flags = struct.unpack(">IHHHH", body[:12])
            self.data, self.last = body[12:], bool(flags & FLAG_L)
            if flags & ~1:
                self.faults.append("reserved flags of DATA are not zero (RFC 8)")
        elif self.kind == NULL_ACK:
            self.high, self.burst, self.interval = struct.unpack(">HHH", body[:6])
        elif self.kind == CONTROL:
            self.messages = list(self.take_messages(body))

    def take_messages(self, body):
        """RFC 8: the messages of a CONTROL packet: (type, sequence number, buffer, what follows)."""
        at = 0
        while at + 8 <= len(body):
            kind, _, seq, buffer = struct.unpack(">BBHI", body[at:at + 8])
            at += 8
            if kind == GO:
                yield kind, seq, buffer, None
            elif kind == OK and at + 8 <= len(body):
                yield kind, seq, buffer, struct.unpack(">HHH", body[at:at + 6])
                at += 8
            elif kind == RESEND and at + 4 <= len(body):
                count = struct.unpack(">H", body[at:at + 2])[0]
                end = at + 4 + 2 * count
                if end > len(body):
                    raise ValueError("RESEND is longer than its packet")
                yield kind, seq, buffer, list(struct.unpack(f">{count}H", body[at + 4:end]))
                at = end + end % 4
            else:
                raise ValueError("unknown message")

    def name(self):
        return TYPES[self.kind]

    def names(self):
        """What --lose-list calls it: its type and, of CONTROL, the messages in it."""
        inside = {MESSAGES[kind] for kind, *_ in self.messages} if self.kind == CONTROL else set()
        return {self.name()} | inside


class Link:
    """The socket, with a path behind it that does what --lose and its like say, in each direction alike."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.held, self.ticket, self.counts, self.lost = [], 0, {}, 0
        self.wire = {"sent": 0, "received": 0}
        self.list, self.swallow = {}, lambda packet: False
        for word in options.lose_list or []:
            kind, numbers = word.split(":")
            self.list[kind] = numbers.split(",")
        family = socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.setblocking(False)
        host, port = (options.connect or options.listen).rsplit(":", 1)
        self.peer = (host, int(port)) if options.connect else None
        self.socket.bind(("127.0.0.1", 0) if options.connect else (host, int(port)))
        self.refused = 0

    def listed(self, packet):
        """Whether this is the n-th packet of a kind that is to be lost."""
        hit = False
        for kind in packet.names() & self.list.keys():
            n = self.counts[kind] = self.counts.get(kind, 0) + 1
            hit |= any(word == "all" or (word.endswith("+") and n >= int(word[:-1])) or word == str(n)
                       for word in self.list[kind])
        return hit

    def passed(self, raw, out, now):
        """Lets the path have one packet; it is due later, possibly damaged, or never."""
        options, chance = self.options, self.random.random
        try:
            known = Packet(raw)
        except ValueError:
            known = None
        drop = bool(known) and (self.listed(known) or self.swallow(known))
        if drop or chance() < options.lose:
            self.lost += 1
            return
        for _ in range(2 if chance() < options.duplicate else 1):
            copy = bytearray(raw)
            if chance() < options.corrupt:
                # One bit: the checksum finds every such damage.
                bit = self.random.randrange(min(len(raw), known.length if known else len(raw)) * 8)
                copy[bit // 8] ^= 1 << bit % 8
            late = self.random.uniform(0.002, 0.02) if chance() < options.reorder else 0
            self.ticket += 1
            heapq.heappush(self.held, (now + late + options.delay / 1000, self.ticket, out, bytes(copy)))

    def due(self):
        return self.held[0][0] if self.held else math.inf

    def pump(self, now):
        """Sends what is due to be sent; gives what is due to have arrived."""
        arrived = []
        while self.held and self.held[0][0] <= now:
            _, _, out, raw = heapq.heappop(self.held)
            if not out:
                arrived.append(raw)
            elif self.peer:
                self.wire["sent"] += len(raw)
                try:
                    self.socket.sendto(raw, self.peer)
                except OSError:
                    self.refused += 1
        return arrived

    def receive(self, until):
        """Waits for datagrams; those of strangers are given back, once there is a peer."""
        select.select([self.socket], [], [], max(0, until - time.monotonic()))
        for _ in range(64):
            try:
                raw, address = self.socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:
                # The peer's host says that the port is closed.
                self.refused += 1
                continue
            if self.peer is None and len(raw) >= 4 and raw[3] == OPEN:
                self.peer = address
            if address == self.peer:
                self.wire["received"] += len(raw)
                self.passed(raw, False, time.monotonic())
