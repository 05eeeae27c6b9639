#!/usr/bin/env python3
"""A NETBLT peer written from RFC 998 and RFC 1030 alone, for tests of other implementations.

Both roles (sender and receiver of data), both ways to open, in UDP datagrams that hold NETBLT packets as they stand.
Nothing of the program under test was read for it. "RFC" without a number is RFC 998; D marks a decision where it says
nothing. The client string is the bare name of the file. A link that loses, repeats, reorders and damages is built in.

The last line on stdout is a JSON object: how it ended, and what was seen.
"""

import argparse
import heapq
import json
import math
import struct
import sys

from netblt_connection import Connection, Ended
from netblt_wire import (CONTROL, DATA, DONE, FLAG_L, GO, KEEPALIVE, LDATA, MESSAGES, NULL_ACK, OK, RESEND, after,
                         checksum)


class Sender(Connection):
    """The sending NETBLT: no timers but death and dally (RFC 5.2.3, 5.3.1)."""

    wants_write = True

    def __init__(self, options):
        super().__init__(options)
        with open(options.file, "rb") as file:
            self.file = file.read()
        self.high, self.ahead, self.base = 0, set(), None
        self.granted, self.done, self.queue, self.queued, self.went = set(), set(), [], set(), {}
        self.burst_at, self.in_burst, self.control_timer, self.holes = 0, 0, 500, set()

    def contents(self):
        return self.file

    def names_file(self):
        return True

    def transfer_size(self):
        return 0 if self.options.size_unknown else len(self.file)

    def begin(self):
        # D: a transfer of no bytes is one buffer with one LDATA of no bytes.
        self.total = max(1, -(-len(self.file) // self.buffer_size))
        self.holes = self.holes_of(self.options.hole)
        self.link.swallow = self.swallow

    def packets(self, buffer):
        return max(1, -(-len(self.slice(buffer)) // self.packet_size))

    def slice(self, buffer):
        at = (buffer - 1) * self.buffer_size
        return self.file[at:at + self.buffer_size]

    def holes_of(self, word):
        """The packets that --hole loses until there is nothing else left to send."""
        end, n = self.total, self.packets(self.total)
        return {None: set(), "last": {(end, max(0, n - 2))}, "last-first": {(end, 0)}, "last-ldata": {(end, n - 1)},
                "last-tail": {(end, k) for k in range(max(0, n - 3), n)}, "last-all": {(end, k) for k in range(n)},
                "first": {(1, 0)}, "both": {(1, 0), (end, max(0, n - 2))}}[word]

    def swallow(self, p):
        """A hole stays one until it has been asked for, and all other buffers that may be sent are OK. The last one need
        not be: RFC 5.3.1 has the receiver close after its OK, so that may wait until all is in its place."""
        if p.kind not in (DATA, LDATA) or ((p.buffer - self.base) % 2**32 + 1, p.number) not in self.holes:
            return False
        others = {b for b in self.granted if b < self.total} - {b for b, _ in self.holes}
        again = self.went.get(((p.buffer - self.base) % 2**32 + 1, p.number), 0) > 1
        return not (again and others <= self.done and not self.queue)

    def take(self, p):
        if p.kind == DONE:
            # RFC 5.3.1: DONE ends the dally.
            if len(self.done) == self.total:
                raise Ended("done", "DONE came")
            self.fault("DONE before the sender had OK for all its buffers (RFC 5.3.1)")
        elif p.kind == CONTROL:
            self.on_control(p)
        elif p.kind != KEEPALIVE:
            self.fault(f"{p.name()} came to the sender of data (RFC 8)")

    def on_control(self, p):
        """RFC 5.2.1: act on new messages, also those out of sequence; acknowledge the consecutive ones."""
        changed = False
        for kind, seq, buffer, body in p.messages:
            if not after(seq, self.high) or seq in self.ahead:
                continue
            # RFC 8: buffer numbers increase; none is said to be the first. D: that of message 1 is, wait for it.
            if self.base is None and seq == 1:
                self.base = buffer
            if self.base is None:
                continue
            buffer = (buffer - self.base) % 2**32 + 1
            name = MESSAGES[kind]
            self.messages["received"][name] = self.messages["received"].get(name, 0) + 1
            self.ahead.add(seq)
            if kind == GO:
                self.on_go(buffer)
            elif kind == OK:
                changed |= self.on_ok(buffer, *body)
            else:
                self.on_resend(buffer, body)
        while (self.high + 1) % 65536 in self.ahead:
            self.high = (self.high + 1) % 65536
            self.ahead.discard(self.high)
        # RFC 5.2.1: NULL-ACK if no data can be sent; RFC 4: burst values that changed are told in one.
        if changed or not self.queue or self.now < self.pause_until:
            self.send(NULL_ACK, struct.pack(">HHHH", self.high, self.burst, self.interval, 0))
        if len(self.done) == self.total:
            # RFC 5.3.1: long enough for the receiver's control timer to expire. D: four times.
            self.finish_timer = self.now + max(1.0, 4 * self.control_timer / 1000)

    def on_go(self, buffer):
        if len(self.granted - self.done) >= self.buffers and buffer <= self.total:
            self.fault("more buffers granted than may be outstanding (RFC 8)")
        if buffer in self.granted:
            self.fault("GO for a buffer for the second time, with a new number (RFC 5.2.1)")
            return
        self.granted.add(buffer)
        # D: the receiver does not know the end, and may grant buffers after the last.
        if buffer <= self.total:
            for number in range(self.packets(buffer)):
                self.put(buffer, number)
            if buffer == self.options.pause_before:
                self.pause_until = self.now + self.options.pause

    def on_ok(self, buffer, burst, interval, timer):
        if buffer not in self.granted or buffer > self.total:
            self.fault("OK for a buffer that was not sent (RFC 5.2)")
            return False
        self.done.add(buffer)
        self.control_timer = timer
        # RFC 4: the sender may make the offered values more restrictive.
        burst, interval = max(1, min(burst or 1, self.options.burst)), max(interval, self.options.interval)
        changed, self.burst, self.interval = (burst, interval) != (self.burst, self.interval), burst, interval
        return changed

    def on_resend(self, buffer, numbers):
        if not numbers:
            self.fault("RESEND without packets (RFC 8)")
        if buffer in self.done or not 0 < buffer <= self.total:
            return
        last = self.packets(buffer) - 1
        # D: a peer that asks for packets beyond the end has not seen the LDATA.
        for number in {min(number, last) for number in numbers}:
            self.put(buffer, number)

    def may_quit(self):
        return not self.queue or len(self.queue) % self.per_buffer == 0

    def put(self, buffer, number):
        if (buffer, number) not in self.queued:
            self.queued.add((buffer, number))
            # RFC 5.2: the lowest buffer first; nothing is said of the order within.
            heapq.heappush(self.queue, (buffer, -number if self.options.reverse else number))

    def tick(self):
        """RFC 4: bursts, whose starts are the interval apart; RFC 5.2: the lowest buffer first."""
        if len(self.done) == self.total:
            if self.now >= self.finish_timer:
                raise Ended("done", "the dally timer expired")
            return
        while self.queue and self.now >= self.pause_until:
            if self.in_burst >= self.burst:
                if self.now < self.burst_at + self.interval / 1000:
                    return
                self.in_burst = 0
            if self.in_burst == 0:
                self.burst_at = self.now
            self.in_burst += 1
            buffer, number = heapq.heappop(self.queue)
            entry = (buffer, abs(number))
            self.queued.discard(entry)
            if entry[0] not in self.done:
                self.send_data(*entry)
                if self.options.die_after is not None and self.seen_data >= self.options.die_after:
                    return

    def next_tick(self):
        if len(self.done) == self.total:
            return self.finish_timer
        if not self.queue:
            return math.inf
        return max(self.pause_until, self.burst_at + self.interval / 1000 if self.in_burst >= self.burst else 0)

    def send_data(self, buffer, number):
        whole = self.slice(buffer)
        data = whole[number * self.packet_size:(number + 1) * self.packet_size]
        # RFC 3: the last packet of every buffer is an LDATA; RFC 5.3.1: L is on every packet of the last buffer.
        kind = LDATA if number == self.packets(buffer) - 1 else DATA
        self.went[buffer, number] = self.went.get((buffer, number), 0) + 1
        self.seen_data += 1
        self.first_data = self.first_data or self.now
        self.last_data = self.now
        name, total = (self.base + buffer - 1) % 2**32, checksum(data) if self.c else 0
        body = struct.pack(">IHHHH", name, self.high, number, total, FLAG_L if buffer == self.total else 0)
        self.send(kind, body, data)


class Buffer:
    """RFC 5.2.2: a receiving buffer; its state is ack-wait, acked, receiving or received."""

    def __init__(self, packets):
        self.state, self.packets, self.known, self.got, self.timer = "ack-wait", packets, False, {}, math.inf

    def missing(self):
        return [n for n in range(self.packets) if n not in self.got]


class Receiver(Connection):
    """The receiving NETBLT: it has the control timer and a data timer for each buffer (RFC 5.2.1, 5.2.2)."""

    wants_write = False

    def __init__(self, options):
        super().__init__(options)
        self.buffers_by, self.whole, self.next_go, self.last, self.holes = {}, {}, 1, None, {}
        self.closing = 0
        self.fifo, self.seq, self.control_at, self.sent_at, self.again = [], 0, math.inf, 0, False
        # RFC 5.2.1: the first value of the control timer is arbitrary.
        self.rtt, self.deviation, self.gap, self.arrived_at = 0.1, 0.05, None, None

    def contents(self):
        return b"".join(self.whole[n] for n in sorted(self.whole))

    def names_file(self):
        return self.active and bool(self.options.name)

    def transfer_size(self):
        return 0

    def begin(self):
        self.link.swallow = self.swallow
        self.gap = self.interval / 1000 / max(1, self.burst)
        if self.options.pause_before != 1:
            self.grant()
        else:
            self.pause_until = self.now + self.options.pause

    def swallow(self, p):
        """--hole for the receiver: what is lost is kept away until all else has come. --lose-closing: see there."""
        if self.last is not None and p.kind in (DATA, LDATA, NULL_ACK) and self.all_here():
            self.closing += 1
            return self.closing <= self.options.lose_closing
        if self.options.hole is None or p.kind not in (DATA, LDATA):
            return False
        first, n = p.buffer == self.options.first_buffer, p.number
        wanted = {"first": first and n == 0, "last": p.last and n == 0, "last-ldata": p.last and p.kind == LDATA,
                  "last-first": p.last and n == 0, "last-all": p.last, "last-tail": p.last and n > 0,
                  "both": n == 0 and (first or p.last)}[self.options.hole]
        if not wanted:
            return False
        count = self.holes[p.buffer, n] = self.holes.get((p.buffer, n), 0) + 1
        return count == 1 or (first and count < 4 and self.last is None)

    # Control messages (RFC 5.2.1).

    def wire(self, buffer):
        """Buffer numbers here begin with 1; on the wire with whatever --first-buffer says (RFC 8: they increase)."""
        return (buffer - 1 + self.options.first_buffer) % 2**32

    def message(self, kind, buffer, body=b""):
        self.seq = (self.seq + 1) % 65536
        self.fifo.append((self.seq, buffer, struct.pack(">BBHI", kind, 0, self.seq, self.wire(buffer)) + body))
        name = MESSAGES[kind]
        self.messages["sent"][name] = self.messages["sent"].get(name, 0) + 1

    def transmit(self, again=False):
        """All unacknowledged messages, in as many packets as they need. RFC 5.2.1: 1000 bytes are typical."""
        part, fifo = b"", self.fifo
        if self.options.separate:
            # Each in a packet of its own, the last first: "out-of-sequence control messages".
            fifo = fifo[::-1]
        for _, _, raw in fifo:
            if len(part) + len(raw) > (0 if self.options.separate and part else 1000):
                self.send(CONTROL, part)
                part = b""
            part += raw
        if part:
            self.send(CONTROL, part)
            self.again, self.sent_at = again, self.now
            self.control_at = self.now + self.control_timer()

    def control_timer(self):
        """RFC 5.2.1: the smoothed round trip plus a variance."""
        return min(2, max(0.05, self.rtt + 4 * self.deviation))

    def acknowledge(self, high):
        if after(high, self.seq):
            self.fault(f"acknowledges control message {high}, the last was {self.seq} (RFC 5.2.1)")
            return
        gone = [m for m in self.fifo if not after(m[0], high)]
        self.fifo = self.fifo[len(gone):]
        if gone and not self.fifo:
            self.control_at = math.inf
            if not self.again:
                took = self.now - self.sent_at
                self.deviation += (abs(took - self.rtt) - self.deviation) / 4
                self.rtt += (took - self.rtt) / 8
        waiting = {buffer for _, buffer, _ in self.fifo}
        for _, number, _ in gone:
            buffer = self.buffers_by.get(number)
            if buffer and buffer.state == "ack-wait" and number not in waiting:
                buffer.state = "acked"
                self.set_timer(number)

    # Buffers (RFC 5.2.2).

    def grant(self):
        """GO for as many buffers as may be outstanding; after the last nothing is granted."""
        while self.last is None and self.next_go - len(self.whole) <= self.buffers:
            self.message(GO, self.next_go)
            self.buffers_by[self.next_go] = Buffer(self.per_buffer)
            self.next_go += 1
        self.transmit()

    def set_timer(self, number):
        """RFC 5.2.2 and 1030 7: the packets still expected up to this buffer, by the average time between arrivals."""
        expected = sum(len(b.missing()) for n, b in self.buffers_by.items() if n <= number)
        self.buffers_by[number].timer = self.now + expected * self.gap + self.options.data_margin

    def take(self, p):
        if p.kind in (DATA, LDATA):
            p.buffer = (p.buffer - self.options.first_buffer) % 2**32 + 1
        if p.kind in (DATA, LDATA, NULL_ACK):
            self.acknowledge(p.high)
        if p.kind in (DATA, LDATA):
            self.on_data(p)
        elif p.kind not in (KEEPALIVE, NULL_ACK):
            self.fault(f"{p.name()} came to the receiver of data (RFC 8)")
        self.close()

    def on_data(self, p):
        if self.c and checksum(p.data) != p.sum:
            self.bad["data checksum"] = self.bad.get("data checksum", 0) + 1
            return
        if self.arrived_at is not None:
            self.gap += (min(1, self.now - self.arrived_at) - self.gap) / 16
        self.arrived_at = self.last_data = self.now
        self.first_data = self.first_data or self.now
        if p.buffer in self.whole:
            return
        buffer = self.buffers_by.get(p.buffer)
        if buffer is None:
            self.fault(f"DATA for buffer {p.buffer}, which was not granted (RFC 4)")
            return
        if p.last:
            self.last = p.buffer
        elif p.buffer == self.last:
            self.fault("a packet of the last buffer without the L flag (RFC 5.3.1)")
        if len(p.data) > self.packet_size or (p.kind == DATA and len(p.data) != self.packet_size):
            self.fault(f"{p.name()} of {len(p.data)} bytes, agreed are {self.packet_size} (RFC 3)")
        if p.number >= self.per_buffer:
            self.fault(f"packet {p.number} of a buffer of {self.per_buffer} packets (RFC 3)")
            return
        buffer.got.setdefault(p.number, p.data)
        if p.kind == LDATA:
            buffer.packets, buffer.known = p.number + 1, True
        if not buffer.missing() and buffer.known:
            self.complete(p.buffer, buffer)
        elif buffer.state == "acked":
            buffer.state = "receiving"
            self.set_timer(p.buffer)
            for number, lower in self.buffers_by.items():
                if number < p.buffer and lower.state == "acked":
                    self.set_timer(number)

    def may_quit(self):
        return not self.options.die_after or bool(self.whole)

    def complete(self, number, buffer):
        self.whole[number] = b"".join(buffer.got[n] for n in range(buffer.packets))
        if number != self.last and len(self.whole[number]) != self.buffer_size:
            self.fault(f"a buffer of {len(self.whole[number])} bytes is not the last (RFC 3)")
        del self.buffers_by[number]
        self.message(OK, number, struct.pack(">HHHH", self.options.offer_burst or self.burst,
                                             self.options.offer_interval or self.interval,
                                             int(self.control_timer() * 1000), 0))
        if self.options.pause and number + 1 == self.options.pause_before:
            self.pause_until = self.now + self.options.pause
        # RFC 1030: OK(n) and GO(n + 1) go together.
        if self.now >= self.pause_until:
            self.grant()
        else:
            self.transmit()

    def tick(self):
        if self.pause_until and self.now >= self.pause_until:
            self.pause_until = 0
            self.grant()
        asked = False
        for number, buffer in self.buffers_by.items():
            if buffer.timer > self.now:
                continue
            buffer.timer = math.inf
            # Buffers after the last are not coming.
            if self.last is not None and number > self.last:
                continue
            missing = buffer.missing()
            for at in range(0, len(missing), 400):
                part = missing[at:at + 400]
                raw = struct.pack(f">HH{len(part)}H", len(part), 0, *part)
                self.message(RESEND, number, raw + bytes(-len(raw) % 4))
                asked = True
            buffer.state = "ack-wait"
        if asked:
            self.transmit()
        elif self.now >= self.control_at:
            self.transmit(again=True)

    def next_tick(self):
        timers = [b.timer for n, b in self.buffers_by.items()]
        return min([self.control_at, self.pause_until or math.inf, *timers])

    def all_here(self):
        return all(n in self.whole for n in range(1, self.last + 1))

    def close(self):
        """RFC 5.3.1: L seen, all control messages acknowledged, nothing missing; a DONE may go."""
        if self.last is not None and not self.fifo and self.all_here():
            if not self.options.no_done:
                self.send(DONE)
            raise Ended("done", "all received")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("role", choices=["send", "receive"])
    add("--connect", metavar="HOST:PORT", help="be active")
    add("--listen", metavar="HOST:PORT", help="be passive; the address is told on stderr")
    add("--file", help="to send, or to write what was received to")
    add("--name", default="", help="client string")
    add("--size-unknown", action="store_true", help="transfer size 0")
    add("--buffer-size", type=int, default=14320)
    add("--packet-size", type=int, default=1432)
    add("--first-buffer", type=int, default=1, help="the number of the first buffer, as a receiver")
    add("--buffers", type=int, default=4, help="most outstanding")
    add("--burst", type=int, default=5)
    add("--interval", type=int, default=10, help="ms between the starts of bursts")
    add("--offer-burst", type=int, help="in OK messages")
    add("--offer-interval", type=int)
    add("--checksum", action=argparse.BooleanOptionalAction, default=True)
    add("--death", type=int, default=20, help="own death timer, s")
    add("--open-timer", type=float, default=1.0)
    add("--tries", type=int, default=8)
    add("--quit-timer", type=float, default=0.5)
    add("--dally", type=float, default=1.5, help="after a QUITACK, s")
    add("--data-margin", type=float, default=0.15)
    add("--timeout", type=float, default=60)
    add("--service-port", type=int, default=7000)
    add("--version", type=int, default=1, help="RFC 998 gives none")
    add("--no-done", action="store_true")
    add("--refuse", metavar="REASON")
    add("--pause", type=float, default=0, help="s that the client is not ready")
    add("--pause-before", type=int, default=0, metavar="BUFFER")
    add("--seed", type=int, default=1)
    for name in ("lose", "duplicate", "reorder", "corrupt"):
        add(f"--{name}", type=float, default=0.0, metavar="P", help="of each packet, in each direction")
    add("--delay", type=float, default=0, metavar="MS", help="of the path, each way")
    add("--lose-list", action="append", metavar="KIND:N,N", help="the n-th of a kind; N+ from there on; all")
    add("--lose-closing", type=int, default=0, metavar="N", help="the first N that acknowledge when all is here")
    add("--hole", choices=["last", "last-first", "last-ldata", "last-tail", "last-all", "first", "both"])
    add("--separate", action="store_true", help="each control message in its own packet, the last first")
    add("--reverse", action="store_true", help="the packets of a buffer from the last to the first")
    add("--open-again", type=int, metavar="N", help="OPENs after N packets of data, with the same and another ID")
    add("--nonsense", type=float, default=0.0, metavar="P", help="probability that nonsense follows a packet")
    add("--die-after", type=int, metavar="N", help="DATA and LDATA packets")
    add("--die-with", choices=["silence", "close", "quit", "abort"], default="silence")
    add("--verbose", action="store_true")
    options = parser.parse_args()
    if bool(options.connect) == bool(options.listen):
        parser.error("one of --connect and --listen")
    connection = (Sender if options.role == "send" else Receiver)(options)
    if options.listen:
        print("listening on %s:%d" % connection.link.socket.getsockname(), file=sys.stderr, flush=True)
    result = connection.run()
    if options.role == "receive" and options.file:
        with open(options.file, "wb") as file:
            file.write(connection.contents())
    print(json.dumps(result))
    return 0 if result["state"] == "done" else 1


if __name__ == "__main__":
    sys.exit(main())
