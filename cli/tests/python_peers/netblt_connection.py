"""A connection of NETBLT by RFC 998: setup, death timer, keepalive, close; what both roles have in common."""

import hashlib
import math
import os
import struct
import sys
import time

from netblt_wire import (ABORT, CONTROL, DATA, FLAG_C, FLAG_M, KEEPALIVE, LDATA, OPEN, QUIT, QUITACK, REFUSED, RESPONSE,
                         TYPES, Link, Packet, checksum, packet, text)


class Ended(Exception):
    """The connection is over: the state, and why."""


class Connection:
    """What both roles have in common: setup, death timer, keepalive, close."""

    wants_write = None

    def __init__(self, options):
        self.options, self.link = options, Link(options)
        self.active = bool(options.connect)
        # RFC 5.1: the active end has a unique port, the passive end listens on a well-known one.
        self.ours = os.getpid() * 7919 % 50000 + 10000 if self.active else None
        self.theirs = options.service_port if self.active else None
        self.uid = int.from_bytes(os.urandom(4), "big") if self.active else None
        self.open, self.end, self.finish = False, None, None
        self.sent, self.received, self.messages = {}, {}, {"sent": {}, "received": {}}
        self.faults, self.bad, self.client, self.opened_by = [], {}, None, None
        self.seen_data, self.began, self.first_data, self.last_data = 0, time.monotonic(), None, None
        self.now, self.dead_at, self.last_sent = self.began, math.inf, self.began
        self.tries, self.open_at = 0, (self.began if self.active else math.inf)
        self.quit_at, self.dally_until, self.mute, self.got_quitack = math.inf, math.inf, False, False
        self.peer_death, self.reason, self.pause_until = 60, None, 0
        self.second, self.opens_again = False, options.open_again

    # Sending.

    def send(self, kind, body=b"", data=b""):
        self.last_sent = self.now
        if self.mute:
            return
        raw = packet(kind, (self.ours, self.theirs), body, data, self.options.version)
        self.sent[TYPES[kind]] = self.sent.get(TYPES[kind], 0) + 1
        self.say("->", raw)
        self.link.passed(raw, True, self.now)
        if self.open and self.link.random.random() < self.options.nonsense:
            self.nonsense()

    def say(self, arrow, raw):
        if not self.options.verbose:
            return
        try:
            p = Packet(raw)
            more = {"data": lambda: (p.buffer, p.number, p.high, p.last, len(p.data)), "control": lambda: p.messages,
                    "null-ack": lambda: (p.high, p.burst, p.interval), "quit": lambda: p.reason,
                    "abort": lambda: p.reason, "refused": lambda: p.reason,
                    "open": lambda: (p.buffer_size, p.size, p.packet_size, p.burst, p.interval, p.death, p.flags,
                                     p.buffers, p.client)}
            more["ldata"], more["response"] = more["data"], more["open"]
            words = f"{p.name()} {more.get(p.name(), lambda: '')()}"
        except ValueError as why:
            words = f"bad: {why} {raw[:16].hex()}"
        print(f"{self.now - self.began:8.3f} {arrow} {words[:200]}", file=sys.stderr, flush=True)

    def fault(self, words):
        """Something the peer did against the RFC; each is told once."""
        if words not in self.faults and len(self.faults) < 20:
            self.faults.append(words)

    # Setup (RFC 5.1).

    def offer(self):
        """RFC 8: what OPEN and RESPONSE say. The sender names the file and, if it may, its size."""
        o = self.options
        flags = (FLAG_M if self.write else 0) | (FLAG_C if self.c else 0)
        size = self.transfer_size()
        return struct.pack(">IIIHHHHHH", self.uid, self.buffer_size, size, self.packet_size, self.burst, self.interval,
                           o.death, flags, self.buffers) + text(o.name if self.names_file() else "")

    def propose(self):
        o = self.options
        self.buffer_size, self.packet_size, self.burst, self.interval = (o.buffer_size, o.packet_size, o.burst,
                                                                        o.interval)
        self.buffers, self.c = o.buffers, o.checksum
        # RFC 8: M is 1 for WRITE, 0 for READ, as the active client sees it.
        self.write = (self.wants_write == self.active)

    def on_open(self, p):
        """RFC 5.1: the passive end may only make the values more restrictive."""
        if self.open:
            if p.uid != self.uid:
                self.send(ABORT, text("this pair of ports has a connection already"))
            elif not self.active:
                self.send(RESPONSE, self.offer())
            return
        if self.active:
            return
        self.propose()
        self.ours, self.theirs, self.uid = p.ours, p.theirs, p.uid
        if bool(p.flags & FLAG_M) == self.wants_write:
            self.send(REFUSED, text("the other direction is served here"))
            return
        if self.options.refuse:
            self.send(REFUSED, text(self.options.refuse))
            raise Ended("refused", "as told")
        self.opened_by = vars(p)
        self.buffer_size, self.packet_size = min(self.buffer_size, p.buffer_size), min(self.packet_size, p.packet_size)
        self.burst, self.interval = min(self.burst, p.burst), max(self.interval, p.interval)
        self.buffers, self.c = min(self.buffers, p.buffers), bool(p.flags & FLAG_C)
        self.write, self.client, self.peer_death = bool(p.flags & FLAG_M), p.client, p.death
        self.send(RESPONSE, self.offer())
        self.opened()

    def on_response(self, p):
        if p.uid != self.uid:
            self.send(ABORT, text("unknown connection"))
        elif not self.open and self.active:
            for word, got, most in (("buffer size", p.buffer_size, self.buffer_size),
                                    ("packet size", p.packet_size, self.packet_size), ("burst", p.burst, self.burst),
                                    ("buffers", p.buffers, self.buffers), ("interval", -p.interval, -self.interval)):
                if got > most:
                    self.fault(f"RESPONSE makes the {word} less restrictive: {got} over {most} (RFC 4)")
            if bool(p.flags & FLAG_M) != self.write:
                self.fault("RESPONSE has another transfer mode than OPEN (RFC 8)")
            self.opened_by = vars(p)
            self.buffer_size, self.packet_size, self.buffers = p.buffer_size, p.packet_size, p.buffers
            self.burst, self.interval, self.c = p.burst, p.interval, bool(p.flags & FLAG_C)
            self.client, self.peer_death = p.client, p.death
            self.opened()

    def opened(self):
        self.open, self.open_at = True, math.inf
        self.dead_at = self.now + self.options.death
        self.per_buffer = max(1, -(-self.buffer_size // self.packet_size))
        self.begin()

    # Events.

    def on_packet(self, raw):
        try:
            p = Packet(raw)
        except ValueError as why:
            self.bad[str(why)] = self.bad.get(str(why), 0) + 1
            self.say("<-", raw)
            return
        self.say("<-", raw)
        self.received[p.name()] = self.received.get(p.name(), 0) + 1
        if self.mute:
            return
        for words in p.faults:
            self.fault(words)
        if p.kind == OPEN:
            self.on_open(p)
            return
        if (p.ours, p.theirs) != (self.ours, self.theirs):
            self.fault(f"{p.name()} for ports {p.theirs} -> {p.ours}, not {self.theirs} -> {self.ours} (RFC 5.1)")
            return
        # RFC 5.2.3: every packet resets the death timer.
        if self.open:
            self.dead_at = self.now + self.options.death
        if p.kind == RESPONSE:
            self.on_response(p)
        elif p.kind == REFUSED:
            if not self.open:
                raise Ended("refused-by-peer", p.reason)
        elif p.kind == ABORT and self.second:
            # RFC 5.1: the answer to an OPEN with another ID, which is not about this connection.
            self.second = False
        elif p.kind == ABORT:
            # RFC 5.3.3: close immediately.
            raise Ended("abort-by-peer", p.reason)
        elif p.kind == QUIT:
            # RFC 5.3.2: tell the client, send a QUITACK, dally to answer repeats.
            self.reason, self.finish = p.reason, "quit-by-peer"
            self.send(QUITACK)
            if self.dally_until == math.inf:
                self.dally_until = self.now + self.options.dally
        elif p.kind == QUITACK:
            self.got_quitack = True
            if self.quit_at < math.inf:
                raise Ended("quit", "acknowledged")
        elif self.open and self.finish not in ("quit-by-peer", "quit"):
            if p.kind in (DATA, LDATA):
                self.seen_data += 1
            self.take(p)

    def may_quit(self):
        """RFC 5.3.2: QUIT comes between buffers."""
        return True

    def die(self):
        """What --die-with says: silence with the port kept, the port closed, QUIT or ABORT."""
        how = self.options.die_with
        self.options.die_after = None
        if how == "abort":
            self.send(ABORT, text("this peer gives up"))
            raise Ended("aborted", "as told")
        if how == "close":
            raise Ended("died", "closed its port")
        if how == "silence":
            self.mute, self.dally_until, self.finish = True, self.now + self.options.timeout, "died"
            self.dead_at = math.inf
            return
        # RFC 5.3.2: the QUIT is repeated until a QUITACK comes or the death timer expires.
        self.finish, self.quit_at = "quit", self.now

    def open_again(self):
        """RFC 5.1: a late OPEN with the same ID is answered by RESPONSE, one with another ID by ABORT."""
        self.opens_again = None
        mine = self.offer()
        self.send(OPEN, mine)
        self.second = True
        self.send(OPEN, struct.pack(">I", self.uid ^ 0x55) + mine[4:])

    def nonsense(self):
        """Something that is not for this connection, or not for this role, or nothing at all."""
        ports, o = (self.ours, self.theirs), self.options
        late = struct.pack(">IHHHH", 0x7FFFFFF0, 0, 0, 0, 0)
        raw = self.link.random.choice([
            b"", b"\0" * 11, bytes(range(40)), packet(200, ports), packet(KEEPALIVE, ports, version=99),
            packet(KEEPALIVE, (ports[0] ^ 1, ports[1])), packet(KEEPALIVE, ports)[:8],
            packet(CONTROL, ports, b"\x09\0\0\x01\0\0\0\x01"),
            packet(CONTROL, ports, b"\x02\0\0\x01\0\0\0\x01\xff\xff"),
            packet(DATA, ports, late, b"\0" * 8), packet(LDATA, ports, late), packet(DATA, ports, late[:6])])
        if o.nonsense:
            self.link.passed(raw, True, self.now)

    def timers(self):
        o = self.options
        if self.now >= self.open_at:
            if self.tries >= o.tries:
                raise Ended("open-failed", f"{self.tries} OPENs, no RESPONSE")
            self.tries += 1
            self.open_at = self.now + o.open_timer
            if self.tries == 1:
                self.propose()
            self.send(OPEN, self.offer())
        if self.now >= self.dally_until:
            raise Ended(self.finish, self.reason or "")
        if self.now >= self.dead_at:
            # RFC 5.2.3: the peer has died.
            raise Ended("death", "nothing came for the death timer" + (", QUIT unanswered" if self.finish else ""))
        if self.open and o.die_after is not None and self.seen_data >= o.die_after and (
                o.die_with != "quit" or self.may_quit()):
            self.die()
        if self.open and self.opens_again is not None and self.seen_data >= self.opens_again:
            self.open_again()
        if self.now >= self.quit_at:
            self.send(QUIT, text("this peer quits"))
            self.quit_at = self.now + o.quit_timer
        if self.open and self.finish is None:
            self.tick()
        # RFC 5.2.3: KEEPALIVE when nothing else can be sent, four to each death timer of the peer.
        if self.open and self.now >= self.last_sent + self.peer_death / 4:
            self.send(KEEPALIVE)

    def deadline(self):
        times = [self.open_at, self.dally_until, self.dead_at, self.quit_at, self.link.due(), self.now + 0.5]
        if self.open:
            times.append(self.last_sent + self.peer_death / 4)
            if self.finish is None:
                times.append(self.next_tick())
        return min(times)

    def arrive(self):
        """What has come to the end of the path."""
        self.now = time.monotonic()
        for raw in self.link.pump(self.now):
            self.on_packet(raw)

    def run(self):
        """Until it has ended; returns the JSON object."""
        state, why = "timeout", ""
        limit = self.began + self.options.timeout
        try:
            while time.monotonic() < limit:
                self.now = time.monotonic()
                self.timers()
                self.arrive()
                self.link.receive(min(self.deadline(), limit))
                self.arrive()
        except Ended as end:
            state, why = end.args
        # What is under way still arrives.
        while self.link.held and state != "died":
            self.link.pump(math.inf)
        return self.result(state, why)

    def result(self, state, why):
        whole = self.contents()
        span = (self.last_data - self.first_data) if self.first_data is not None else 0
        params = ("buffer_size", "packet_size", "burst", "interval", "buffers", "c")
        return {"state": state, "why": why, "bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest(),
                "sent": self.sent, "received": self.received, "messages": self.messages, "bad": self.bad,
                "faults": self.faults, "client": (self.client or b"").decode("utf-8", "replace"),
                "params": {key: getattr(self, key, None) for key in params},
                "transfer_size": (self.opened_by or {}).get("size"), "peer_death": self.peer_death,
                "quitack": self.got_quitack, "icmp": self.link.refused, "lost": self.link.lost,
                "wire": self.link.wire,
                "data_seconds": round(span, 3), "seconds": round(time.monotonic() - self.began, 3)}
