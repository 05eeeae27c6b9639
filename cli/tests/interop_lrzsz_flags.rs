//! What each flag of lrzsz does here, seen from outside: on the wire, in the directory, in what is
//! said and in the exit code. At the peer is lrzsz.
//!
//! Flags that change nothing (`-B`, `-S`, `-2`, `--syslog`, `--tcp`, `--errors`) are in the last
//! table: a file arrives with them. `-O` takes longer than a test. `-C`, `-U` and `-R` of `rz` are in
//! `personality_safety`, `-h`, `--version`, `-s` and refused flags in `personality_face`.

use crate::peers;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use peers::lrzsz::{Over, lrzsz};
use peers::wired::{Wired, line, wired};
use peers::{Scene, all, material};

const LIMIT: Duration = Duration::from_secs(40);
const LEN: usize = 60_000;

/// What can be seen after a transfer.
struct Seen {
    done: Wired,
    from: PathBuf,
    into: PathBuf,
}

impl Seen {
    fn has(&self, bytes: &[u8]) -> bool {
        self.count(bytes) > 0
    }

    fn count(&self, bytes: &[u8]) -> usize {
        self.done.from_ours.windows(bytes.len()).filter(|at| *at == bytes).count()
    }

    fn heard(&self, bytes: &[u8]) -> bool {
        self.done.to_ours.windows(bytes.len()).any(|at| at == bytes)
    }

    /// ZF0 and ZF1 of our ZFILE.
    fn file_flags(&self) -> Option<(u8, u8)> {
        let wire = &self.done.from_ours;
        let start = [[0x2A, 0x18, b'C', 4], [0x2A, 0x18, b'A', 4]];
        let at = wire.windows(4).position(|four| start.iter().any(|start| four == start))?;
        let mut rest = wire[at + 4..].iter();
        let mut data = [0; 4];
        for slot in &mut data {
            *slot = match rest.next()? {
                0x18 => rest.next()? ^ 0x40,
                byte => *byte,
            };
        }
        Some((data[3], data[2]))
    }

    /// Ends of subpackets: `h` to `k` behind ZDLE.
    fn ends(&self, kinds: &[u8]) -> usize {
        self.done.from_ours.windows(2).filter(|at| at[0] == 0x18 && kinds.contains(&at[1])).count()
    }

    /// The longest subpacket on the wire, with its escapes and check.
    fn longest(&self) -> usize {
        let wire = &self.done.from_ours;
        let is_end = |at: &usize| wire[*at] == 0x18 && b"hijk".contains(&wire[at + 1]);
        let ends: Vec<usize> = (0..wire.len() - 1).filter(is_end).collect();
        ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// The digits of our first ZRINIT: buffer length, low byte first, then ZF1 and ZF0.
    fn init(&self) -> Option<String> {
        let at = self.done.from_ours.windows(6).position(|at| at == b"**\x18B01")?;
        let digits = self.done.from_ours.get(at + 6..at + 14)?;
        String::from_utf8(digits.to_vec()).ok()
    }

    fn said(&self, text: &str) -> bool {
        self.done.ours.said.contains(text)
    }

    fn code(&self) -> i32 {
        self.done.ours.code
    }

    fn got(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.into.join(name)).ok()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.into).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// All byte values in order, as often as fits.
fn content() -> Vec<u8> {
    (0..=255).cycle().take(LEN).collect()
}

/// Our command line, lrzsz's, and what must be seen.
type Row = (&'static str, &'static str, fn(&Seen) -> bool);

/// Runs a row with `data.bin`, `text` and `sub/x.y` to be sent, and `data.bin` at the peer if
/// `there`.
fn check(row: &Row, there: Option<&[u8]>) -> Result<(), String> {
    let (ours, theirs, holds) = row;
    let scene = Scene::new();
    scene.file("from/data.bin", &content());
    // Subpackets grow while nothing is lost.
    scene.file("from/big", &content().repeat(20));
    scene.file("from/text", b"one\ntwo\n");
    scene.file("from/dos", b"one\r\ntwo\r\n\x1A");
    scene.file("from/sub/x.y", b"sub");
    scene.file("outside", b"outside");
    let (from, into) = (scene.folder("from"), scene.folder("in"));
    if let Some(bytes) = there {
        scene.file("in/data.bin", bytes);
    }
    let we_send = ours.starts_with('s') || ours.starts_with("ls");
    let (here, yonder) = if we_send { (&from, &into) } else { (&into, &from) };
    let program = line(&scene, true, ours, here);
    let peer = if theirs.starts_with("sleep") {
        let mut command = Command::new("sleep");
        command.arg(&theirs[6..]);
        command
    } else {
        line(&scene, false, theirs, yonder)
    };
    let done = wired(&scene, Over::Pipe, program, peer, LIMIT)?;
    let seen = Seen { done, from, into };
    if holds(&seen) {
        return Ok(());
    }
    let wire = |bytes: &[u8]| bytes[..bytes.len().min(160)].escape_ascii().to_string();
    Err(format!(
        "{:?}, flags {:?}, ends {}, longest {}, init {:?}, names {:?}, took {:?}, wire {} / {}",
        seen.done.ours,
        seen.file_flags(),
        seen.ends(b"hijk"),
        seen.longest(),
        seen.init(),
        seen.names(),
        seen.done.took,
        wire(&seen.done.from_ours),
        wire(&seen.done.to_ours)
    ))
}

fn table(rows: &[Row], there: Option<&[u8]>) {
    if lrzsz().is_some() {
        all(rows, 6, |row| check(row, there));
    }
}

#[test]
fn flags_of_sz_on_the_wire() {
    let rows: &[Row] = &[
        ("sz data.bin", "rz", |s| s.file_flags() == Some((0, 0)) && s.code() == 0),
        ("sz -b data.bin", "rz", |s| s.file_flags() == Some((1, 0))),
        ("sz --binary data.bin", "rz", |s| s.file_flags() == Some((1, 0))),
        ("sz -a text", "rz", |s| s.file_flags() == Some((2, 0))),
        ("sz -r data.bin", "rz", |s| s.file_flags() == Some((3, 0))),
        ("sz -b -N data.bin", "rz", |s| s.file_flags() == Some((1, 1))),
        ("sz -b -+ data.bin", "rz", |s| s.file_flags() == Some((1, 3))),
        ("sz -b -y data.bin", "rz", |s| s.file_flags() == Some((1, 4))),
        ("sz -b -n data.bin", "rz", |s| s.file_flags() == Some((1, 5))),
        ("sz -b -p data.bin", "rz", |s| s.file_flags() == Some((1, 7))),
        ("sz -b -E data.bin", "rz", |s| s.file_flags() == Some((1, 8))),
        ("sz -b -Y data.bin", "rz", |s| s.file_flags() == Some((1, 0x84))),
        // CRC-32 headers, or CRC-16.
        ("sz data.bin", "rz", |s| s.has(b"\x2A\x18C\x0A") && !s.has(b"\x2A\x18A\x0A")),
        ("sz -o data.bin", "rz", |s| s.has(b"\x2A\x18A\x0A") && !s.has(b"\x2A\x18C")),
        // What is escaped.
        ("sz data.bin", "rz", |s| s.has(b"\0\x01\x02") && s.has(b"\x0F\x18\x50\x18\x51")),
        ("sz -e data.bin", "rz", |s| s.has(b"\x18\x40\x18\x41\x18\x42") && !s.has(b"\0\x01")),
        ("sz -T data.bin", "rz", |s| s.has(b"\x0F\x10\x18\x51")),
        // Lengths of subpackets, and where an answer is waited for.
        ("sz -L 128 data.bin", "rz", |s| s.ends(b"hijk") >= LEN / 128),
        ("sz data.bin", "rz", |s| (1024..1200).contains(&s.longest())),
        ("sz -4 big", "rz", |s| (4000..5000).contains(&s.longest())),
        ("sz -5 big", "rz", |s| (4000..5000).contains(&s.longest())),
        ("sz -8 big", "rz", |s| (5001..10_000).contains(&s.longest())),
        ("sz -9 big", "rz", |s| (5001..10_000).contains(&s.longest())),
        // How soon the line is known to be fast goes by the peer's time.
        ("sz big", "rz", |s| s.ends(b"jk") < 20 * LEN / 8192),
        ("sz -w 4096 big", "rz", |s| s.ends(b"jk") >= 20 * LEN / 4096),
        ("sz -l 4096 big", "rz", |s| s.ends(b"jk") >= 20 * LEN / 4096),
        // Names.
        ("sz sub/x.y", "rz", |s| s.has(b"x.y\0") && !s.has(b"sub/x.y")),
        ("sz -f sub/x.y", "rz", |s| s.has(b"sub/x.y\0") && s.got("sub/x.y").is_some()),
        ("sz -d sub/x.y", "rz", |s| s.has(b"sub/x/y\0") && s.got("sub/x/y").is_some()),
        // Protocols.
        ("sz data.bin", "rz", |s| s.done.from_ours.starts_with(b"rz\r**\x18B00")),
        ("sz --ymodem data.bin", "rb", |s| s.done.from_ours.starts_with(b"\x01\0\xFFdata.bin\0")),
        ("sz -X data.bin", "rx data.bin", |s| s.done.from_ours.starts_with(b"\x01\x01\xFE\0\x01")),
        ("sx -k data.bin", "rx data.bin", |s| s.done.from_ours.starts_with(b"\x02\x01\xFE\0\x01")),
        ("sb -Z data.bin", "rz", |s| s.done.from_ours.starts_with(b"rz\r**\x18B00")),
        ("sx --ymodem data.bin", "rb", |s| s.done.from_ours.starts_with(b"\x01\0\xFFdata.bin\0")),
        // XMODEM and YMODEM have no word for text: their sender converts.
        ("sb -a text", "rb", |s| s.has(b"one\r\ntwo\r\n")),
    ];
    table(rows, None);
}

#[test]
fn flags_of_sz_that_are_no_words_of_the_protocol() {
    let rows: &[Row] = &[
        ("sz -q data.bin", "rz", |s| s.code() == 0 && s.done.ours.said.is_empty()),
        ("sz -vv data.bin", "rz", |s| s.said("ZFILE") || s.said("sent")),
        ("sz -u data.bin", "rz", |s| !s.from.join("data.bin").exists() && s.code() == 0),
        ("sz data.bin", "rz", |s| s.from.join("data.bin").exists()),
        ("sz -R ../outside data.bin", "rz", |s| s.names() == ["data.bin"] && s.code() == 1),
        ("sz ../outside", "rz", |s| s.names() == ["outside"] && s.code() == 0),
        ("sz --delay-startup 1 data.bin", "rz", |s| s.done.took >= Duration::from_secs(1)),
        ("sz data.bin missing", "rz", |s| s.code() == 1 && s.said("missing")),
        // No answer. -t: the first request is retransmitted sooner, and given up sooner.
        ("sz -m 1000000 -M 1 data.bin", "sleep 6", |s| {
            s.code() == 128 && s.done.took < Duration::from_secs(20)
        }),
        ("sz -s +1 data.bin", "sleep 3", |s| s.code() == 128 && s.said("stop time")),
        ("sz -t 10 data.bin", "sleep 5", |s| s.count(b"**\x18B00") >= 3),
        ("sz data.bin", "sleep 5", |s| s.count(b"**\x18B00") <= 2),
    ];
    table(rows, None);
}

#[test]
fn flags_of_rz_on_the_wire() {
    let rows: &[Row] = &[
        ("rz", "sz data.bin", |s| s.init().is_some_and(|init| init.starts_with("0000"))),
        ("rz", "sz data.bin", |s| s.init().is_some_and(|init| &init[6..] == "23")),
        ("rz -e", "sz data.bin", |s| s.init().is_some_and(|init| &init[6..] == "63")),
        ("rz -e", "sz data.bin", |s| s.heard(b"\x18\x40\x18\x41\x18\x42") && s.code() == 0),
        ("rz -w 1024", "sz data.bin", |s| s.init().is_some_and(|init| init.starts_with("0004"))),
        ("rx data.bin", "sx data.bin", |s| s.done.from_ours.starts_with(b"\x15")),
        ("rx -c data.bin", "sx data.bin", |s| s.done.from_ours.starts_with(b"C")),
        ("rz -X -c data.bin", "sx data.bin", |s| s.done.from_ours.starts_with(b"C")),
        ("rz --ymodem", "sb data.bin", |s| s.done.from_ours.starts_with(b"C")),
        ("rb -Z", "sz data.bin", |s| s.done.from_ours.starts_with(b"**\x18B01")),
        ("rz -q", "sz data.bin", |s| s.code() == 0 && s.done.ours.said.is_empty()),
        ("rz -j", "sz -f sub/x.y", |s| s.names() == ["x.y"]),
        ("rz", "sz -f sub/x.y", |s| s.names() == ["sub"] && s.got("sub/x.y").is_some()),
        ("rz -R", "sz -f sub/x.y", |s| s.names().is_empty() && s.code() == 1),
        ("rz -D", "sz data.bin", |s| s.names().is_empty() && s.code() == 0),
        // Text, by the sender's word or the receiver's, which takes an end of file for one.
        ("rz", "sz -a dos", |s| s.got("dos").as_deref() == Some(b"one\ntwo\n\x1A")),
        ("rz", "sz dos", |s| s.got("dos").as_deref() == Some(b"one\r\ntwo\r\n\x1A")),
        ("rz -a", "sz dos", |s| s.got("dos").as_deref() == Some(b"one\ntwo\n")),
        ("rb -a", "sb dos", |s| s.got("dos").as_deref() == Some(b"one\ntwo\n")),
        ("rz -s +1", "sleep 3", |s| s.code() == 128 && s.said("stop time")),
        ("rz -m 1000000 -M 1", "sleep 6", |s| s.code() == 128 && s.names().is_empty()),
    ];
    table(rows, None);
}

#[test]
fn flags_of_rz_about_files_that_are_here() {
    const PART: usize = 10_000;
    fn part() -> Vec<u8> {
        content()[..PART].to_vec()
    }
    let rows: &[Row] = &[
        ("rz", "sz data.bin", |s| s.got("data.bin") == Some(part()) && s.code() == 1),
        ("rz -p", "sz data.bin", |s| s.got("data.bin") == Some(part()) && s.code() == 0),
        ("rz -y", "sz data.bin", |s| {
            s.names() == ["data.bin"] && s.got("data.bin") == Some(content())
        }),
        ("rz", "sz -y data.bin", |s| s.got("data.bin") == Some(part()) && s.code() == 1),
        ("rz -E", "sz data.bin", |s| {
            s.names() == ["data.bin", "data.bin.0"] && s.got("data.bin.0") == Some(content())
        }),
        ("rz -+", "sz data.bin", |s| s.got("data.bin") == Some([part(), content()].concat())),
        ("rz -r", "sz -r data.bin", |s| {
            s.got("data.bin") == Some(content()) && s.done.to_ours.len() < 55_000
        }),
        ("rz -r", "sz data.bin", |s| {
            s.got("data.bin") == Some(content()) && s.done.to_ours.len() < 55_000
        }),
        ("rx data.bin", "sx data.bin", |s| s.got("data.bin.~1~") == Some(part()) && s.code() == 0),
        ("rx -y data.bin", "sx data.bin", |s| s.names() == ["data.bin"] && s.code() == 0),
        ("rx -p data.bin", "sx data.bin", |s| s.got("data.bin") == Some(part())),
        ("rb -y", "sb data.bin", |s| s.got("data.bin") == Some(content()) && s.code() == 0),
        ("rb -E", "sb data.bin", |s| s.got("data.bin.0") == Some(content())),
        // And the flags of our sender about files that are there.
        ("sz data.bin", "rz -p", |s| s.got("data.bin") == Some(part()) && s.code() == 1),
        ("sz -p data.bin", "rz -p", |s| s.got("data.bin") == Some(part()) && s.code() == 0),
        ("sz -y data.bin", "rz", |s| s.got("data.bin") == Some(content())),
        ("sz -+ data.bin", "rz", |s| s.got("data.bin") == Some([part(), content()].concat())),
        ("sz -r data.bin", "rz", |s| {
            s.got("data.bin") == Some(content()) && s.done.from_ours.len() < 55_000
        }),
    ];
    table(rows, Some(&part()));
}

#[test]
fn flags_that_change_nothing_are_taken() {
    let rows: &[Row] = &[
        ("sz -2 -B 4096 -S --syslog=off --tcp -O -b data.bin", "rz", arrives),
        ("rz -B 4096 -S --syslog --errors 7 -O --o-sync -u -U", "sz -b data.bin", arrives),
        ("rb -u", "sb data.bin", arrives),
        // Bundled, cut short, joined, and mixed with files.
        ("sz data.bin -bew8192 --bin", "rz", arrives),
        ("rz -bye --bufs=4096", "sz data.bin", arrives),
    ];
    table(rows, None);
}

fn arrives(seen: &Seen) -> bool {
    seen.code() == 0 && seen.got("data.bin") == Some(content())
}

/// `--tcp-server` says how to reach it; lrzsz's `--tcp-client` does.
#[test]
fn over_tcp_by_themselves() {
    let Some(_) = lrzsz() else { return };
    for (send, receive, we_send) in [("sz", "rz", true), ("sz", "rz", false), ("sb", "rb", true)] {
        let scene = Scene::new();
        let bytes = material::random(100_000, 95);
        let file = scene.file("from/data.bin", &bytes);
        let (from, into) = (scene.folder("from"), scene.folder("in"));
        let (ours, theirs) = if we_send {
            (format!("{send} --tcp-server data.bin"), format!("{receive} --tcp-client"))
        } else {
            (format!("{receive} --tcp-server"), format!("{send} data.bin --tcp-client"))
        };
        let (here, yonder) = if we_send { (&from, &into) } else { (&into, &from) };
        let mut server =
            scene.start("ours", &mut line(&scene, true, &ours, here)).expect("it starts");
        let at = server.line_after("listening on ").unwrap_or_else(|why| panic!("{why}"));
        let at = at.replace("0.0.0.0", "127.0.0.1");
        let mut command = line(&scene, false, &theirs, yonder);
        let mut client = scene.start("lrzsz", command.arg(&at)).expect("it starts");
        let ends = [server.wait(LIMIT), client.wait(LIMIT)];
        let well = ends.iter().all(|end| end.as_ref().is_ok_and(|end| end.code == 0));
        assert!(well, "{ours}, {theirs} {at}: {ends:?}");
        peers::same(&file, &into.join("data.bin")).unwrap_or_else(|why| panic!("{ours}: {why}"));
    }
}
