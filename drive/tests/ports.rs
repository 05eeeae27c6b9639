//! Ports: pairs of real ends on this machine.
#![cfg(unix)]

mod common;

use common::pattern;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wetstring_drive::event::{self, Interest};
use wetstring_drive::port::OpenError;
use wetstring_drive::{LineSpec, Port, Signals, open};
use wetstring_testkit::handle_terminal_signals;

const LONG: Duration = Duration::from_secs(20);

fn open_noting(spec: &str) -> (Box<dyn Port>, Vec<String>) {
    handle_terminal_signals();
    let spec: LineSpec = spec.parse().unwrap();
    let mut notes = Vec::new();
    let port = open(&spec, None, &mut |note| notes.push(note.to_owned())).unwrap();
    (port, notes)
}

fn open_error(spec: &str) -> OpenError {
    let spec: LineSpec = spec.parse().unwrap();
    match open(&spec, None, &mut |_| {}) {
        Ok(_) => panic!("{spec} opened"),
        Err(error) => error,
    }
}

/// A listening port on a thread, and the address that it reports.
fn listen() -> (JoinHandle<Box<dyn Port>>, String) {
    let (tell, told) = std::sync::mpsc::channel();
    let listener = std::thread::spawn(move || {
        let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
        open(&spec, None, &mut |note| drop(tell.send(note.to_owned()))).unwrap()
    });
    let note = told.recv_timeout(LONG).unwrap();
    let address = note.strip_prefix("listening on ").unwrap().to_owned();
    assert!(!address.ends_with(":0"), "{address}");
    (listener, address)
}

fn wait(interest: Interest<'_>) {
    assert!(event::wait(&mut [interest], Some(LONG)).unwrap(), "nothing came in time");
}

/// Writes all, waiting where the port is full.
fn write_all(port: &mut dyn Port, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match port.write(bytes).unwrap() {
            Some(len) => bytes = &bytes[len..],
            None => wait(Interest::write(port.write_source())),
        }
    }
}

/// Reads until this many bytes have arrived or the peer has closed.
fn read_up_to(port: &mut dyn Port, len: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 100_000];
    while all.len() < len {
        match port.read(&mut buffer).unwrap() {
            Some(0) => break,
            Some(got) => all.extend_from_slice(&buffer[..got]),
            None => wait(Interest::read(port.read_source())),
        }
    }
    all
}

#[test]
fn tcp_carries_both_directions_and_loses_nothing_at_close() {
    let (listener, address) = listen();
    let (mut near, _) = open_noting(&format!("tcp://{address}"));
    let mut far = listener.join().unwrap();
    let facts = near.facts();
    assert_eq!((facts.reliable, facts.clear, facts.local), (Some(true), true, true));
    assert_eq!((facts.rate_bps, facts.name.as_str()), (None, address.as_str()));
    assert!(facts.segment_len.is_some_and(|len| len >= 500), "{facts:?}");

    let content = pattern(3_000_000);
    let expected = content.clone();
    let reader = std::thread::spawn(move || {
        // Unread input must not destroy the last bytes at close.
        write_all(&mut *far, b"unread");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(read_up_to(&mut *far, usize::MAX), expected);
        far.finish(LONG).unwrap();
    });
    write_all(&mut *near, &content);
    near.finish(LONG).unwrap();
    reader.join().unwrap();
}

#[test]
fn empty_reads_and_full_writes_return_at_once() {
    let (listener, address) = listen();
    let (mut near, _) = open_noting(&format!("tcp://{address}"));
    let far = listener.join().unwrap();
    assert_eq!(near.read(&mut [0; 10]).unwrap(), None);
    let block = pattern(1 << 20);
    let mut taken = 0;
    while let Some(len) = near.write(&block).unwrap() {
        assert!(len > 0);
        taken += len;
        assert!(taken < 1 << 30, "the buffers have no end");
    }
    drop(far);
}

#[test]
fn a_unix_socket_carries_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a socket");
    let spec = format!("unix:{}", path.display());
    assert!(open_error(&spec).is_missing());
    let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (mut near, _) = open_noting(&spec);
    let (mut far, _) = server.accept().unwrap();
    let facts = near.facts();
    assert_eq!((facts.reliable, facts.clear, facts.name.as_str()), (Some(true), true, &*spec));
    assert_eq!(near.read(&mut [0; 10]).unwrap(), None);
    let content = pattern(1_000_000);
    let expected = content.clone();
    let reader = std::thread::spawn(move || {
        far.write_all(b"unread").unwrap();
        let mut came = vec![0; expected.len()];
        far.read_exact(&mut came).unwrap();
        assert!(came == expected);
        far.write_all(b"all").unwrap();
    });
    write_all(&mut *near, &content);
    assert_eq!(read_up_to(&mut *near, 9), b"unreadall");
    reader.join().unwrap();
    // A child that another test has started a moment ago may hold the peer's end until it runs its program.
    assert_eq!(read_up_to(&mut *near, 1), b"", "closed by the peer");
    near.finish(LONG).unwrap();
}

#[test]
fn tcp_buffering_is_limited() {
    let (listener, address) = listen();
    let (mut near, _) = open_noting(&format!("tcp://{address}"));
    let far = listener.join().unwrap();
    let bytes = vec![0; 256 * 1024];
    let (mut taken, began) = (0, Instant::now());
    // Nothing reads: accepted data is in this system's queues, and in the window.
    while began.elapsed() < Duration::from_millis(500) && taken < 1 << 26 {
        match near.write(&bytes).unwrap() {
            Some(len) => taken += len,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    assert!((1..600_000).contains(&taken), "{taken} bytes were taken");
    drop((near, far));
}

#[test]
fn tcp_errors_name_the_address() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = open_error(&format!("tcp://{unused}")).to_string();
    assert!(said.starts_with(&format!("could not connect to {unused}: ")), "{said}");
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = open_error(&format!("tcp-listen://{}", holder.local_addr().unwrap())).to_string();
    assert!(said.starts_with("could not listen on 127.0.0.1:"), "{said}");
}

#[test]
fn a_signal_ends_the_wait_for_a_connection() {
    let signals = Signals::detached().unwrap();
    let from = signals.clone();
    let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
    let error = open(&spec, Some(&signals), &mut |_| from.raise(2)).err().unwrap();
    assert!(matches!(error, OpenError::Interrupted(2)), "{error}");
}

#[test]
fn exec_runs_a_command_and_reports_its_exit() {
    let (mut port, _) = open_noting("exec:cat; exit 3");
    assert_eq!((port.facts().reliable, port.facts().clear), (Some(true), true));
    let content = pattern(200_000);
    write_all(&mut *port, &content);
    assert_eq!(read_up_to(&mut *port, content.len()), content);
    let status = port.finish(LONG).unwrap().unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(port.finish(LONG).unwrap(), Some(status));
}

#[test]
fn a_command_that_ends_closes_the_line() {
    for spec in ["exec:printf gone", "exec-pty:printf gone"] {
        let (mut port, _) = open_noting(spec);
        assert_eq!(read_up_to(&mut *port, usize::MAX), b"gone", "{spec}");
        assert_eq!(port.finish(LONG).unwrap().unwrap().code(), Some(0), "{spec}");
    }
}

/// lrzsz's rx answers the last block, flushes its terminal and is gone; the answer is read.
#[test]
fn the_last_output_of_a_command_in_a_pty_is_read() {
    const WORD: &[u8] = b"the last word";
    if std::env::var_os("WST_TEST_FLUSH").is_some() {
        rustix::io::write(rustix::stdio::stdout(), WORD).unwrap();
        let both = rustix::termios::QueueSelector::IOFlush;
        rustix::termios::tcflush(rustix::stdio::stdin(), both).unwrap();
        std::process::exit(0);
    }
    let program = std::env::current_exe().unwrap();
    let test = "the_last_output_of_a_command_in_a_pty_is_read";
    let spec = format!(
        "exec-pty:WST_TEST_FLUSH=1 exec '{}' --exact {test} --nocapture",
        program.display()
    );
    for run in 0..50 {
        let (mut port, _) = open_noting(&spec);
        let said = read_up_to(&mut *port, usize::MAX);
        assert!(said.ends_with(WORD), "run {run}: {}", said.escape_ascii());
        assert_eq!(port.finish(LONG).unwrap().unwrap().code(), Some(0));
    }
}

#[test]
fn all_output_of_a_command_in_a_pty_is_read() {
    let (mut port, _) = open_noting("exec-pty:echo a; echo b >&2; echo c >/dev/tty; echo d >&0");
    let said = String::from_utf8(read_up_to(&mut *port, usize::MAX)).unwrap();
    let mut lines: Vec<&str> = said.lines().collect();
    // One terminal keeps the order, two do not.
    lines.sort_unstable();
    assert_eq!(lines, ["a", "b", "c", "d"]);
}

#[test]
fn a_command_that_does_not_exit_is_killed() {
    for (spec, signal) in [
        ("exec:exec sleep 1000", 15),
        ("exec:trap '' TERM; while :; do sleep 0.1; done", 9),
        // Hanging up is enough here.
        ("exec-pty:exec sleep 1000", 1),
    ] {
        use std::os::unix::process::ExitStatusExt;
        let (mut port, _) = open_noting(spec);
        let start = Instant::now();
        // A quarter of it is how long a busy machine may take to hang up.
        let status = port.finish(Duration::from_secs(1)).unwrap().unwrap();
        assert_eq!(status.signal(), Some(signal), "{spec}");
        assert!(start.elapsed() < Duration::from_secs(3), "{spec}");
    }
}

#[test]
fn finish_takes_at_most_twice_its_patience() {
    for spec in
        ["exec:trap '' TERM; while :; do sleep 0.1; done", "exec-pty:exec sleep 1000", "pty:"]
    {
        for patience in [0, 400].map(Duration::from_millis) {
            // On a busy machine it is late at times, and not each time.
            let mut times = (0..8).map(|_| {
                let (mut port, _) = open_noting(spec);
                // The peer reads nothing of this.
                while port.write(&[0; 4096]).unwrap().is_some() {}
                let start = Instant::now();
                port.finish(patience).unwrap();
                start.elapsed()
            });
            let most = 2 * patience + Duration::from_millis(200);
            assert!(times.any(|took| took <= most), "{spec}: never within {most:?}");
        }
    }
}

/// The last packet tells the peer that the transfer is over; on a loaded machine the peer reads it late.
#[test]
fn a_command_that_has_sent_something_reads_the_last_packet() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("last");
    // The shell has a process that reads, as it has where a command is more than one word.
    let spec = format!("exec:printf data; sleep 1; cat > '{}'; :", into.display());
    let (mut port, _) = open_noting(&spec);
    assert_eq!(read_up_to(&mut *port, 4), b"data");
    write_all(&mut *port, b"CLOSE");
    port.finish(Duration::from_millis(100)).unwrap();
    assert_eq!(std::fs::read(&into).unwrap_or_default(), b"CLOSE");
}

#[test]
fn exec_pty_is_a_raw_terminal_in_its_own_session() {
    let (mut port, _) = open_noting("exec-pty:tty; ps -o sid= -p $$ | tr -d ' '; echo $$; cat");
    let facts = port.facts();
    assert_eq!((facts.reliable, facts.clear, facts.local), (Some(true), false, true));
    let mut said = String::new();
    while said.matches('\n').count() < 3 {
        said.push_str(&String::from_utf8(read_up_to(&mut *port, 1)).unwrap());
    }
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{said:?}");
    assert_eq!(lines[1], lines[2], "leader of its own session");
    // All byte values pass, and nothing is echoed.
    let all: Vec<u8> = (0..=255).cycle().take(20_000).collect();
    let mut echoed = Vec::new();
    for chunk in all.chunks(2000) {
        write_all(&mut *port, chunk);
        echoed.extend(read_up_to(&mut *port, chunk.len()));
    }
    assert_eq!(echoed, all);
}

#[test]
fn a_pty_delivers_its_last_output_before_closing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("out");
    let content = pattern(3000);
    let command = format!("exec-pty:sleep 0.3; exec dd bs=1 count=3000 of='{}'", file.display());
    let (mut port, _) = open_noting(&format!("{command} 2>/dev/null"));
    write_all(&mut *port, &content);
    assert_eq!(port.finish(LONG).unwrap().unwrap().code(), Some(0));
    assert_eq!(std::fs::read(&file).unwrap(), content);

    let (mut port, notes) = open_noting("pty:");
    let name = PathBuf::from(notes[0].strip_prefix("pty ").unwrap());
    let mut slave = std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
    write_all(&mut *port, &content);
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        let mut got = vec![0; 3000];
        slave.read_exact(&mut got).unwrap();
        got
    });
    port.finish(LONG).unwrap();
    drop(port);
    assert_eq!(reader.join().unwrap(), content);
}

#[test]
fn a_pty_can_be_linked_and_outlives_its_peers() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("modem");
    std::os::unix::fs::symlink("/nowhere", &link).unwrap();
    let (mut port, notes) = open_noting(&format!("pty:{}", link.display()));
    let device = port.facts().name.clone();
    assert_eq!(notes, [format!("pty {} -> {device}", link.display())]);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new(&device));
    for _ in 0..2 {
        let mut peer = std::fs::OpenOptions::new().read(true).write(true).open(&link).unwrap();
        peer.write_all(b"\x00\x11\x13\xffhello").unwrap();
        assert_eq!(read_up_to(&mut *port, 9), b"\x00\x11\x13\xffhello");
        write_all(&mut *port, b"\x03\x04\r\n");
        let mut got = [0; 4];
        peer.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"\x03\x04\r\n");
    }
    assert_eq!(port.read(&mut [0; 10]).unwrap(), None, "gone peers do not close it");
    drop(port);
    assert!(std::fs::symlink_metadata(&link).is_err(), "the link goes with the pty");

    std::fs::write(&link, "precious").unwrap();
    let said = open_error(&format!("pty:{}", link.display())).to_string();
    assert!(said.contains("File exists"), "{said}");
    assert_eq!(std::fs::read_to_string(&link).unwrap(), "precious");
}

#[test]
fn a_serial_port_is_raw_exclusive_and_restored() {
    let (mut far, notes) = open_noting("pty:");
    let device = notes[0].strip_prefix("pty ").unwrap().to_owned();
    let terminal = std::fs::File::open(&device).unwrap();
    let mut cooked = rustix::termios::tcgetattr(&terminal).unwrap();
    cooked.local_modes |= rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON;
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &cooked).unwrap();

    let (stopped, _) = open_noting(&format!("serial:{device}?flow=xonxoff"));
    assert!(stopped.facts().xon_xoff);
    drop(stopped);
    let (mut near, _) = open_noting(&format!("serial:{device}?baud=9600&flow=rtscts"));
    let facts = near.facts();
    assert_eq!((facts.seven_bit, facts.xon_xoff), (false, false));
    assert_eq!((facts.reliable, facts.rate_bps), (Some(false), Some(9600)));
    assert_eq!(facts.name, device);
    let settings = rustix::termios::tcgetattr(&terminal).unwrap();
    assert_eq!(settings.output_speed(), 9600);
    assert!(settings.control_modes.contains(rustix::termios::ControlModes::CRTSCTS));
    assert!(!settings.control_modes.contains(rustix::termios::ControlModes::HUPCL));

    let error = open_error(&device);
    // The second lock of one process is a conflict too, as each open file locks for itself.
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");

    let all: Vec<u8> = (0..=255).collect();
    write_all(&mut *far, &all);
    assert_eq!(read_up_to(&mut *near, 256), all);
    write_all(&mut *near, &all);
    assert_eq!(read_up_to(&mut *far, 256), all);
    assert_eq!(near.read(&mut [0; 10]).unwrap(), None, "an empty line is not a closed one");

    // Where damage is marked, FF is doubled. A PTY reports no damage.
    assert!(near.mark_damage().unwrap() && !far.mark_damage().unwrap());
    write_all(&mut *far, &[1, 0xFF, 0, 0x41]);
    assert_eq!(read_up_to(&mut *near, 5), [1, 0xFF, 0xFF, 0, 0x41]);

    near.finish(LONG).unwrap();
    let settings = rustix::termios::tcgetattr(&terminal).unwrap();
    let marks = rustix::termios::InputModes::PARMRK | rustix::termios::InputModes::INPCK;
    assert!(!settings.input_modes.intersects(marks), "{:?}", settings.input_modes);
    assert!(settings.local_modes.contains(rustix::termios::LocalModes::ICANON));
    drop(near);
    let (again, _) = open_noting(&device);
    drop(again);
}

#[test]
fn opening_a_non_serial_device_reports_why() {
    let said = open_error("/dev/wetstring-none").to_string();
    assert!(said.starts_with("could not open /dev/wetstring-none: No such file"), "{said}");
    let said = open_error("/dev/null").to_string();
    assert!(said.starts_with("could not open /dev/null: "), "{said}");
}

#[test]
fn ports_are_listed_in_order() {
    let found = wetstring_drive::port::ports().unwrap();
    assert!(found.is_sorted_by(|a, b| a.path < b.path), "{found:?}");
}

/// This process's stdin and stdout need a process of their own: this test runs again, behind
/// pipes and behind a PTY, and echoes.
#[test]
fn stdio_is_a_line_and_restores_shared_descriptors() {
    const START: &[u8] = b"\x01\x02start\x03";
    if std::env::var_os("WST_TEST_ECHO").is_some() {
        let flags = || rustix::fs::fcntl_getfl(rustix::stdio::stdout()).unwrap();
        let before = flags();
        let (mut port, _) = open_noting("-");
        assert_eq!((port.facts().reliable, port.facts().local), (None, false));
        assert_eq!(port.read(&mut [0; 1]).unwrap(), None, "nothing has come yet");
        assert_eq!(flags(), before, "what others share is still blocking");
        write_all(&mut *port, START);
        let got = read_up_to(&mut *port, 50_000);
        write_all(&mut *port, &got);
        port.finish(LONG).unwrap();
        return;
    }
    let program = std::env::current_exe().unwrap();
    let test = "stdio_is_a_line_and_restores_shared_descriptors";
    for form in ["exec", "exec-pty"] {
        let spec = format!(
            "{form}:WST_TEST_ECHO=1 exec '{}' --exact {test} --nocapture --quiet",
            program.display()
        );
        let (mut port, _) = open_noting(&spec);
        let mut said = Vec::new();
        while !said.ends_with(START) {
            let more = read_up_to(&mut *port, 1);
            assert!(!more.is_empty(), "{form}: {}", said.escape_ascii());
            said.extend(more);
        }
        let content = pattern(50_000);
        write_all(&mut *port, &content);
        assert!(read_up_to(&mut *port, content.len()).starts_with(&content), "{form}");
        assert_eq!(port.finish(LONG).unwrap().unwrap().code(), Some(0), "{form}");
    }
}
