#!/usr/bin/env python3
"""A small UUCP with the g protocol, and a line that can be bad: the peer of the tests in uucp_python_peer.rs.

Written from the manuals alone, without a look at this repository's engine, so that the two do not share
their mistakes. Where a rule comes from is said beside it, by these marks:

  TM  the Taylor UUCP manual (uucp.texi, 1.07), chapter "UUCP Internals", by the title of the section
  PD  G. L. Chesson, "Packet Driver Protocol" (as TM, "g Protocol", gives its arithmetic)

Usage: uucp.py CONFIG.json. What the keys of the configuration are is said at DEFAULTS. The result is
written as one JSON object to the file that the key "result" names.
"""

import hashlib
import json
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # Python's -I leaves it out

from uucp_g import Ended, G, Line  # noqa: E402

DEFAULTS = {
    "role": "answer",       # "call" or "answer" (TM "The Initial Handshake": caller and called)
    "name": "pyuucp",       # our node name; empty: say "Shere" alone, as old systems do
    "link": "stdio",        # stdio, connect:HOST:PORT, listen:HOST:PORT, pty:PATH, or an argv to run in a PTY
    "window": 7,            # what we let the peer send (1..7)
    "packet": 64,           # data bytes of a packet that we let the peer send (32..4096)
    "features": 0o47,       # -N and ROKN mask; None: no extension at all
    "terminator": "\0",     # of handshake messages; "\n" in "a few systems"
    "wait": 0.0,            # seconds before Shere (a program that calls may flush its input), or before S
    "strict": False,        # as caller: the first message after our S is the answer to it
    "greeting": "",         # text before Shere, as a login banner is
    "protocols": "g",
    "rok": "",              # another answer than ROK, such as RLCK
    "banner_options": "",   # appended to ROK or S, such as " -R -U0x400"
    "dir": ".",             # where files go, and ~ for those that are asked for
    "sends": [],            # [{"path", "to", "from"?, "spool"?, "notify"?, "request"?}]
    "requests": [],         # [{"from", "to"}]: R commands
    "answers": [],          # answers to S, in order, instead of SY; the last one stays. "" is SY
    "finals": [],           # instead of CY, likewise
    "hangup": [],           # instead of HY/HN, likewise
    "refuse_r": "",         # an answer to every R
    "sn4": "next",          # what we do after SN4: the next job, "hangup" (as BSD: H), "drop" (as HDB)
    "no_h": False,          # as master: close the protocol instead of saying H
    "refuse_role": "",      # as master in the end: "close" or "drop" instead of taking HN
    "third_hy": False,      # the slave answers HY to the master's HY (TM "The H Command")
    "cym": False,           # say CYM when we have jobs (TM "The S Command")
    "final": "normal",      # final handshake: normal, six, none (TM "The Final Handshake"), noclose
    "short_commands": False,  # the end of a command in a short packet (TM "g Protocol")
    "small_packets": True,  # a short tail goes in the smallest packet that holds it
    "ack_every": 1,         # an RR for every Nth packet; the rest when the line is quiet
    "piggyback": True,
    "dirty": False,         # bytes of an older command behind the NUL of a command, the last byte NUL
    "bare_n": False,        # -N and ROKN without a number, which is 011: sizes in base 10
    "chosen": "g",          # as caller: what we say after U
    "raw": [],              # as master, before the jobs: commands as they are, and what they are answered
    "restart": {},          # {name: bytes kept from an earlier conversation}
    "inita_window": 0,      # another window in INITA than in INITC
    "ragged": False,        # file data in short packets of any length, the count in two bytes at times
    "timeout": 0.6, "retries": 25, "limit": 50.0,
    "seed": 1, "noise": 0.0, "drop": 0.0, "lose": 0.0, "double": 0.0, "late": 0.0,
    "die": "", "how": "close",  # at which state (see `at`), and close, silent, or closepacket
    "result": "",
}


def native(text):
    """A name as the system has it: on the wire it is bytes, of no named set."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def wire(text):
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


class Conversation:
    """The handshakes and the commands (TM "UUCP Protocol")."""

    def __init__(self, cfg):
        self.cfg, self.violations = cfg, []
        self.line = Line(cfg)
        self.g = G(self.line, cfg, self.note)
        self.jobs = [dict(job, kind="S") for job in cfg["sends"]]
        self.jobs += [dict(job, kind="R") for job in cfg["requests"]]
        self.sent, self.received, self.refused, self.log = [], [], [], []
        self.replies = []
        self.used, self.states, self.master = {}, [], cfg["role"] == "call"
        self.peer, self.sized, self.restarts, self.quoted = "", False, False, False
        self.decimal = False
        self.shook, self.finished = False, False

    def note(self, what):
        self.violations.append(what)

    def at(self, state):
        """Every step has its name, and a peer may die at any: at the Nth with "name:N"."""
        self.states.append(state)
        name, _, nth = self.cfg["die"].partition(":")
        if name != state or self.states.count(state) != int(nth or 1):
            return
        if self.cfg["how"] == "closepacket":
            self.g.stop()
        elif self.cfg["how"] == "silent":
            until = time.monotonic() + self.cfg["limit"]
            while time.monotonic() < until:
                self.line.move(0.2)
        self.line.flush(2)
        self.line.close()
        raise Ended(f"died at {self.cfg['die']}")

    def scripted(self, key, otherwise):
        """The next of a list of answers; the last one stays."""
        script = self.cfg[key]
        turn = self.used.get(key, 0)
        self.used[key] = turn + 1
        said = script[min(turn, len(script) - 1)] if script else ""
        return said or otherwise

    # The initial handshake.

    def say(self, text):
        self.log.append("> " + text)
        self.line.write(b"\x10" + text.encode() + self.cfg["terminator"].encode())

    def hear(self):
        """A message: from ^P to NUL, or to LF in a few systems (TM "The Initial Handshake")."""
        raw, until = self.g.raw, time.monotonic() + self.cfg["limit"] / 2
        while True:
            found = re.search(rb"\x10([^\x10\0\n]*)[\0\n]", raw)
            if found:
                self.g.raw = raw[found.end():]
                text = found[1].decode(errors="replace")
                self.log.append("< " + text)
                return text
            if time.monotonic() > until:
                raise Ended("no message of the handshake came")
            raw += self.line.move(0.1) or b""

    def expect(self, prefix):
        said = self.hear()
        if not said.startswith(prefix):
            raise Ended(f"expected {prefix}, got {said}")
        return said[len(prefix):]

    def features(self, words):
        """The octal mask after N; without a number it is 011 (TM "The Initial Handshake")."""
        for word in words:
            if word.startswith("N"):
                ours = 0o11 if self.cfg["bare_n"] else self.cfg["features"] or 0
                both = (int(word[1:], 8) if word[1:] else 0o11) & (ours | 0o10)
                self.decimal = self.cfg["bare_n"] or both & 0o10
                self.sized, self.restarts, self.quoted = both & 1, both & 2, both & 0o40
            elif word == "R" and self.cfg["features"] is None:
                self.restarts = "-R" in self.cfg["banner_options"]

    def handshake(self):
        cfg = self.cfg
        if cfg["role"] == "answer":
            time.sleep(cfg["wait"])
            self.line.write(cfg["greeting"].encode())
            self.at("shere")
            self.say("Shere=" + cfg["name"] if cfg["name"] else "Shere")
            self.at("system")
            words = self.expect("S").split()
            self.peer = words[0] if words else ""
            options = [word[1:] for word in words[1:] if word.startswith("-")]
            self.at("rok")
            extended = cfg["features"] is not None and any(w.startswith("N") for w in options)
            number = "" if cfg["bare_n"] else "0%o" % (cfg["features"] or 0)
            answer = cfg["rok"] or ("ROKN" + number if extended else "ROK")
            self.say(answer + cfg["banner_options"])
            if not answer.startswith("ROK"):
                raise Ended("refused by " + answer)
            self.features(options)
            self.at("protocols")
            self.say("P" + cfg["protocols"])
            self.at("use")
            chosen = self.expect("U")
        else:
            self.at("shere")
            self.peer = self.expect("Shere").lstrip("=")
            self.at("system")
            time.sleep(cfg["wait"])
            number = "" if cfg["bare_n"] else "0%o" % (cfg["features"] or 0)
            more = "" if cfg["features"] is None else " -R -N" + number
            self.say("S" + (cfg["name"] or "pyuucp") + more + cfg["banner_options"])
            self.at("rok")
            answer = self.hear()
            while answer.startswith("Shere") and not cfg["strict"]:
                answer = self.hear()  # said again by a called system that thought us lost
            if not answer.startswith("R"):
                raise Ended(f"expected R, got {answer}")
            answer = answer[1:]
            if not answer.startswith("OK"):
                raise Ended("refused by R" + answer)
            self.features([answer[2:].split(" ")[0]])
            self.at("protocols")
            offered = self.expect("P")
            chosen = cfg["chosen"] if "g" in offered else "N"
            self.at("use")
            self.say("U" + chosen)
        if chosen != "g":
            raise Ended(f"no protocol in common: {chosen}")
        self.line.flush(2)

    # Commands.

    def command(self, text):
        """Full packets, the rest of the last one NUL (TM "g Protocol": some want the last byte NUL)."""
        self.log.append("> " + text)
        data = text.encode("latin-1") + b"\0"
        while data:
            part, data = data[:self.g.size], data[self.g.size:]
            if len(part) == self.g.size or self.cfg["short_commands"]:
                self.g.send(part)
            else:
                # In the smallest full packet that holds it; 64 bytes is what every system takes.
                size = self.g.size
                while self.cfg["small_packets"] and size > 64 and len(part) <= size // 2:
                    size //= 2
                was, self.g.size = self.g.size, size
                stale = b"S older ~/older uucp -C D.9 0644\0" * 200 if self.cfg["dirty"] else b""
                part = (part + stale)[:size - 1]
                self.g.send(part.ljust(size, b"\0"))
                self.g.size = was

    def heard(self):
        data = b""
        while b"\0" not in data:
            if len(data) > 8192:
                raise Ended("a command without an end")
            data += self.g.receive()[1]
        text, _, rest = data.partition(b"\0")
        if rest.strip(b"\0"):
            self.note(f"after the NUL of a command there is {rest[:16].hex()}")
        text = text.decode("latin-1")
        self.log.append("< " + text)
        return text

    @staticmethod
    def unquote(text):
        """TM "UUCP Protocol Commands": a backslash, then a backslash or three octal digits."""
        return re.sub(r"\\(\\|[0-7]{3})", lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 8)), text)

    @staticmethod
    def quote(text):
        return "".join("\\\\" if c == "\\" else c if "!" <= c <= "~" else "\\%03o" % ord(c) for c in text)

    def send_file(self, data):
        size = self.g.size
        start = index = 0
        while start < len(data):
            if index < 40:
                self.at("data")
            # "normally be preceded by a short data packet": that others come before is not excluded.
            step = self.line.rng.randrange(1, size - 2) if self.cfg["ragged"] else size
            self.g.send(data[start:start + step])
            start, index = start + step, index + 1
        self.at("eof")
        self.g.send(b"", True)  # TM "g Protocol": a short packet with no valid byte ends the file
        self.at("sent")

    def take_file(self, data=b""):
        parts, count = [data], 0
        while True:
            kind, part = self.g.receive()
            if kind == 3 and not part:
                return b"".join(parts)
            count += 1
            if count <= 40:
                self.at("data")
            parts.append(part)

    # The slave.

    def name_for(self, source, to):
        """TM "The S Command", `to`: a directory takes the last part of `from`."""
        if to.endswith("/") or to == "~":
            to += "/" + source.rsplit("/", 1)[-1]
        return native(to.rsplit("/", 1)[-1])

    def slave_s(self, letter, words):
        options = words[4] if len(words) > 4 else "-"
        quoted = "q" in options
        plain = [self.unquote(w) if quoted else w for w in words]
        name = self.name_for(plain[1], plain[2])
        self.at("answer")
        kept = self.cfg["restart"].get(name, 0) if self.restarts else 0
        answer = self.scripted("answers", "SY 0x%x" % kept if self.restarts else "SY")
        answer = letter + answer[1:]
        record = {"name": name, "from": plain[1], "to": plain[2], "user": plain[3], "line": " ".join(words),
                  "answer": answer, "options": options, "mode": words[6] if len(words) > 6 else ""}
        self.command(answer)
        if not answer.startswith(letter + "Y"):
            self.refused.append(record)
            return
        before = b""
        if kept:
            with open(os.path.join(self.cfg["dir"], name), "rb") as file:
                before = file.read(kept)
        data = self.take_file(before)
        self.at("final")
        final = self.scripted("finals", "CYM" if self.cfg["cym"] and self.left() else "CY")
        if final.startswith("CY"):
            with open(os.path.join(self.cfg["dir"], name), "wb") as file:
                file.write(data)
            record.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
            sized = len(words) > 8 and words[8]
            if sized and self.decimal and not sized.isdigit():
                self.note(f"{sized} is not of base 10, which both ends have said (bit 010)")
            if sized and int(sized, 16 if sized.startswith("0x") else 10) != len(data):
                self.note(f"{sized} bytes were announced, {len(data)} came")
            self.received.append(record)
        else:
            self.refused.append(dict(record, answer=final))
        self.command(final)

    def slave_r(self, words):
        plain = [self.unquote(w) if "q" in words[4] else w for w in words]
        self.at("answer")
        path = os.path.join(self.cfg["dir"], native(plain[1].removeprefix("~/")))
        if self.cfg["refuse_r"]:
            self.command(self.cfg["refuse_r"])
            return
        if not plain[1].startswith("~/") or not os.path.isfile(path):
            self.command("RN2")
            return
        with open(path, "rb") as file:
            data = file.read()
        if len(words) > 5 and len(data) > int(words[5], 0):
            self.command("RN6")
            return
        self.command("RY 0666")
        self.send_file(data)
        said = self.heard()
        self.sent.append({"name": plain[1], "answer": said, "size": len(data)})

    def serve(self):
        """As slave. False when both are done, True when the roles change."""
        while True:
            self.at("command")
            text = self.heard()
            words = text.split(" ")
            if words[0] in ("S", "E") and len(words) >= 5:
                self.slave_s(words[0], words)
            elif words[0] == "R" and len(words) >= 5:
                self.slave_r(words)
            elif words[0] == "X":
                self.command("XN")
            elif text == "H":
                self.at("h")
                answer = self.scripted("hangup", "HN" if self.left() or self.unsaid() else "HY")
                self.command(answer)
                if answer.startswith("HN"):
                    return True
                self.at("hy")
                try:
                    last = self.heard()
                except Ended:
                    # The last HY was lost: CLOSE follows it without waiting for its acknowledgement, and all is said.
                    if not self.g.closed:
                        raise
                    last = "HY"
                if last != "HY":
                    self.note(f"after HY came {last}")
                self.finished = True
                if self.cfg["third_hy"]:
                    self.command("HY")
                return False
            else:
                raise Ended(f"not a command: {text[:80]!r}")

    # The master.

    def left(self):
        return [job for job in self.jobs if "outcome" not in job]

    def unsaid(self):
        return len(self.cfg["raw"]) > self.used.get("raw", 0)

    def outcome(self, job, answer, what):
        """`what`: done, refused (never succeeds, so it leaves the queue), or queued."""
        job.update(outcome=what, answer=answer)

    def refusal(self, job, answer):
        """TM "The S Command", "The R Command": 4, 6 and 9 might succeed later; 2, 7, 10 and CN5 will
        not; 8 means that the slave has the file already. Of others nothing is said: they stay."""
        number = answer[2:].split(" ")[0]
        what = "done" if number == "8" else "refused" if number in ("2", "5", "7", "10") else "queued"
        self.outcome(job, answer, what)

    def master_s(self, job):
        with open(job["path"], "rb") as file:
            data = file.read()
        temp = "D.%04d" % (self.jobs.index(job) + 1) if job.get("spool") else "D.0"
        names = [wire(job.get("from", job["path"])), wire(job["to"]), "uucp"]
        options = "-" + ("C" if job.get("spool") else "c") + "d" + ("q" if self.quoted else "")
        names = [self.quote(n) if self.quoted else n for n in names]
        text = f"S {' '.join(names)} {options} {temp} 0644"
        if self.sized:
            text += (' "" %d' if self.decimal else ' "" 0x%x') % len(data)
        self.at("request")
        self.command(job.get("request", text))
        answer = self.heard()
        if answer[:2] != "SY":
            return self.refusal(job, answer)
        start = int(answer.split(" ")[1], 0) if " " in answer else 0
        self.send_file(data[start:])
        answer = self.heard()
        if not answer.startswith("CY"):
            return self.refusal(job, answer)
        self.sent.append({"name": job["to"], "answer": answer, "size": len(data), "start": start,
                          "sha256": hashlib.sha256(data).hexdigest()})
        return self.outcome(job, answer, "done")

    def master_r(self, job):
        names = [self.quote(n) if self.quoted else n for n in map(wire, (job["from"], job["to"], "uucp"))]
        text = f"R {' '.join(names)} -{'q' if self.quoted else ''}" + (" 0x7fffffff" if self.sized else "")
        self.at("request")
        self.command(text)
        answer = self.heard()
        if not answer.startswith("RY"):
            return self.refusal(job, answer)
        data = self.take_file()
        with open(os.path.join(self.cfg["dir"], job["to"]), "wb") as file:
            file.write(data)
        self.command("CY")
        self.received.append({"name": job["to"], "from": job["from"], "size": len(data),
                              "sha256": hashlib.sha256(data).hexdigest()})
        return self.outcome(job, answer, "done")

    def order(self):
        """As master. False when both are done, True when the roles change."""
        for text in self.cfg["raw"][self.used.get("raw", 0):]:
            self.used["raw"] = self.used.get("raw", 0) + 1
            self.command(text)
            self.replies.append(self.heard())
        for job in self.left():
            (self.master_s if job["kind"] == "S" else self.master_r)(job)
            if job["answer"].startswith("CYM"):
                break  # TM "The S Command": the master should send H
            if job["answer"] == "SN4" and self.cfg["sn4"] != "next":
                if self.cfg["sn4"] == "drop":
                    raise Ended("dropped the line after SN4")
                break
        self.at("h")
        if self.cfg["no_h"]:
            return False
        self.command("H")
        answer = self.heard()
        if answer.startswith("HN"):
            return True
        if answer != "HY":
            raise Ended(f"H was answered by {answer}")
        self.at("hy")
        self.command("HY")
        return False

    def run(self):
        try:
            self.handshake()
            self.line.bad = True
            self.shook = True
            self.g.start(self.at)
            while self.order() if self.master else self.serve():
                self.master = not self.master
                self.at("role")
                if self.cfg["refuse_role"] and not self.master:
                    break
            self.finished = True
            self.at("close")
            if self.cfg["refuse_role"] != "drop" and self.cfg["final"] != "noclose":
                self.g.wait(lambda: not self.g.flying or self.g.closed)
                self.g.stop()
            self.line.bad = False
            if self.cfg["final"] in ("normal", "six") and self.cfg["refuse_role"] != "drop":
                self.at("final-handshake")
                count = 7 if self.cfg["role"] == "answer" and self.cfg["final"] == "normal" else 6
                self.say("O" * count)
                self.line.flush(1)
                self.last_words()
            error = ""
        except Ended as ended:
            error = str(ended)
        if self.line.open:
            self.line.close()
        return error

    def last_words(self):
        until = time.monotonic() + self.cfg["timeout"]
        while time.monotonic() < until:
            if b"OOOOOO" in self.g.raw:
                return
            self.g.raw += self.line.move(0.02) or b""

    def report(self, error):
        return {"error": error, "finished": self.finished, "peer": self.peer, "sent": self.sent,
                "received": self.received, "refused": self.refused, "jobs": self.jobs,
                "queue": [j for j in self.jobs if j.get("outcome", "queued") == "queued"],
                "violations": self.violations, "replies": self.replies, "counters": self.g.count, "line": self.line.count,
                "sizes": self.g.sizes, "window": self.g.window, "size": self.g.size, "log": self.log,
                "states": self.states}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cfg = {**DEFAULTS, **json.load(file)}
    unknown = set(cfg) - set(DEFAULTS)
    assert not unknown, f"unknown keys: {unknown}"
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the PTY hangs up before the result is written
    talk = Conversation(cfg)
    try:
        error = talk.run()
    except Exception as fault:  # a mistake of this program: it is not to look like the peer's
        error = f"peer: {fault!r}"
        raise
    finally:
        result = json.dumps(talk.report(error), indent=1)
        if cfg["result"]:
            with open(cfg["result"] + ".new", "w", encoding="utf-8") as file:
                file.write(result)
            os.rename(cfg["result"] + ".new", cfg["result"])
        else:
            sys.stderr.write(result + "\n")
    if talk.line.child:
        os.waitpid(talk.line.child, 0)


if __name__ == "__main__":
    main()
