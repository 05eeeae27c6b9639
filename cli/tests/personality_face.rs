//! `sz`, `rz` and the others by their names: links, help, flags, exit codes, signals.

use crate::common;

use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::desktop::Desktop;
use common::{Desk, Running, WST, run, tame, wst};
use rustix::process::Signal;
use rustix::termios::LocalModes;

/// The program by another name.
fn called<S: AsRef<std::ffi::OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(WST);
    command.arg0(name).args(args);
    tame(&mut command);
    command.env_remove("ZMODEM_RESTRICTED").env_remove("ONAME").env("SHELL", "/bin/sh");
    command
}

#[test]
fn help_matches_the_snapshots() {
    for name in ["sz", "rz", "rx"] {
        let ran = run(called(name, ["--help"]));
        ran.expect(0);
        assert_eq!(ran.stderr, "");
        let path = format!("{}/tests/snapshots/help-{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("WETSTRING_UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, &ran.stdout).expect("the snapshot can be written");
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(wanted == ran.stdout, "{name} differs from its snapshot:\n{}", ran.stdout);
    }
}

#[test]
fn the_name_makes_the_program() {
    for name in ["sz", "lsz", "-sz", "/usr/bin/sb", "lsx", "vsz"] {
        let ran = run(called(name, ["--version"]));
        ran.expect(0);
        assert!(ran.stdout.contains("(wetstring)"), "{name}: {}", ran.stdout);
    }
    // A command pasted behind the name is how lrzsz runs one. It selects no personality here.
    run(called("rzrmail", ["--version"])).expect(0);
    assert!(run(called("rzrmail", ["--version"])).stdout.starts_with("wst "));
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for (name, args) in [
        ("sz", &[][..]),
        ("sz", &["--nosuch", "f"]),
        ("sz", &["-j", "f"]),
        ("sz", &["-L", "31", "f"]),
        ("sz", &["-w", "many", "f"]),
        ("sz", &["-c", "true", "f"]),
        ("sb", &["-c", "true"]),
        ("sz", &["--tcp-client", "nowhere", "f"]),
        ("sx", &["a", "b"]),
        ("rz", &["name"]),
        ("rx", &[]),
        ("rx", &["a", "b"]),
        ("rz", &["-s", "25:00"]),
    ] {
        let ran = run(called(name, args));
        assert_eq!(ran.code(), 2, "{name} {args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{name} {args:?}");
        assert!(ran.stderr.starts_with(&format!("{name}: ")), "{}", ran.stderr);
    }
}

#[test]
fn flags_of_lrzsz_are_all_understood() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    let send = "-+ -2 -4 -5 -8 -9 -a -b -e -E -f -k -n -N -o -O -p -q -r -R -S -T -u -U -v -vv -y -Y \
        -X -Z -d --ymodem --xmodem --zmodem --append --twostop --try-4k --start-4k --try-8k \
        --start-8k --ascii --binary --dot-to-slash --escape --rename --full-path --1k --newer \
        --newer-or-longer --16-bit-crc --disable-timeouts --protect --resume --restricted --quiet \
        --unlink --unrestrict --verbose --overwrite --overwrite-or-skip --timesync --turbo --tcp \
        --syslog --syslog=off -B1024 --bufsize=auto -L512 --packetlen=512 -l1024 --framelen=1024 \
        -m1 --min-bps=1 -M10 --min-bps-time=10 -s+10 --stop-at=23:59 -w8192 --windowsize=8192 -t100 \
        -ctrue --command=true -itrue --immediate-command=true -C3 --command-tries=3";
    let receive = "-+ -a -b -c -C -D -e -E -j -O -p -q -r -R -S -u -U -v -X -y -Z --ymodem --append \
        --ascii --binary --with-crc --allow-remote-commands --allow-commands --null --escape --rename --o-sync \
        --protect --quiet --resume --restricted --timesync --syslog --syslog=off --keep-uppercase \
        --unrestrict --verbose --xmodem --overwrite --zmodem --junk-path -B32768 --errors=7 -m1 \
        -M10 -s+10 -t100 -w1024 --delay-startup=0";
    // The help is asked for last, so that a flag that is not known is found and nothing is moved.
    for (name, flags) in [("sz", send), ("rz", receive)] {
        for flag in flags.split_whitespace() {
            let mut args = vec![flag, "--help"];
            args.extend((name == "sz").then_some(data.as_str()));
            let ran = run(called(name, &args));
            assert_eq!(ran.code(), 0, "{name} {flag}: {}", ran.stderr);
        }
    }
}

#[test]
fn nothing_that_can_be_sent_is_told_to_both() {
    let desk = Desk::new(10);
    for (name, file) in [("sz", "missing"), ("sx", "missing"), ("sb", "in")] {
        let ran = run(called(name, [desk.path(file)]));
        ran.expect(128);
        assert!(ran.stdout.contains("\u{18}\u{18}\u{18}\u{18}\u{18}"), "{:?}", ran.stdout);
        assert!(ran.stderr.contains(file), "{}", ran.stderr);
    }
}

#[test]
fn a_signal_cancels_the_peer_and_sets_the_exit_code() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    for (name, arg) in [("sz", &*data), ("rz", "-v"), ("sb", &data), ("rx", "f")] {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let mut command = called(name, [arg]);
            command.stdin(Stdio::piped()).current_dir(desk.path("in"));
            command.stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("the program starts");
            // Kept open: the line has not closed.
            let input = child.stdin.take();
            std::thread::sleep(Duration::from_millis(300));
            let pid = rustix::process::Pid::from_child(&child);
            let began = std::time::Instant::now();
            rustix::process::kill_process(pid, signal).expect("the child is there");
            let out = child.wait_with_output().expect("the child ends");
            drop(input);
            assert_eq!(out.status.code(), Some(code), "{name}");
            assert!(began.elapsed() < Duration::from_secs(2), "{name}: {:?}", began.elapsed());
            let told = out.stdout.windows(5).any(|bytes| bytes == [0x18; 5]);
            assert!(told, "{name}: {:?}", out.stdout);
        }
    }
}

#[test]
fn the_line_that_ends_is_a_failure() {
    let desk = Desk::new(10);
    for (name, arg) in [("sz", desk.path("data.bin")), ("rz", "-q".to_owned())] {
        let mut command = called(name, [arg]);
        command.current_dir(desk.path("in"));
        let ran = run(command);
        ran.expect(128);
        assert!(ran.elapsed < Duration::from_secs(5), "{name}: {:?}", ran.elapsed);
    }
}

#[test]
fn a_time_to_stop_stops() {
    let mut command = called("rz", ["-s", "+1"]);
    command.stdin(Stdio::piped());
    let ran = Running::start(command).end();
    ran.expect(128);
    assert!(ran.elapsed < Duration::from_secs(4), "{:?}", ran.elapsed);
    assert!(ran.stderr.contains("stop time"), "{}", ran.stderr);
}

#[test]
fn links_are_made_and_foreign_files_stay() {
    let desk = Desk::new(10);
    let into = desk.path("in");
    std::fs::write(desk.path("in/rz"), "lrzsz").expect("a file");
    symlink("/bin/true", desk.path("in/sx")).expect("a link");
    let ran = run(wst(["install-links", &into]));
    ran.expect(1);
    assert!(ran.stderr.contains("rz is not a link to this program"), "{}", ran.stderr);
    let counted = "wst: 2 of 13 names are taken, 11 links made\n";
    assert!(ran.stderr.ends_with(counted), "{}", ran.stderr);
    assert_eq!(std::fs::read(desk.path("in/rz")).expect("the file"), b"lrzsz");
    assert_eq!(desk.names().len(), 13, "{:?}", desk.names());
    let mut sz = Command::new(desk.path("in/sz"));
    sz.arg("--version");
    tame(&mut sz);
    assert!(run(sz).stdout.starts_with("sz (wetstring)"));
    run(wst(["install-links", "--force", &into])).expect(0);
    assert!(std::fs::symlink_metadata(desk.path("in/rz")).expect("the link").is_symlink());
    // A second time there is nothing to do.
    let again = run(wst(["install-links", &into]));
    again.expect(0);
    assert_eq!(again.stderr, "all 13 links exist already\n");
    assert_eq!(desk.names().len(), 13, "{:?}", desk.names());
    run(wst(["install-links", &desk.path("nowhere")])).expect(5);
    // One that cannot be made keeps no other from it, and is counted.
    std::fs::create_dir_all(desk.path("more/sz/inside")).expect("a directory");
    let some = run(wst(["install-links", "--force", &desk.path("more")]));
    some.expect(5);
    assert!(
        some.stderr.contains("more/sz") && some.stderr.contains("; 12 of 13 links made"),
        "{}",
        some.stderr
    );
    assert_eq!(common::names(desk.path("more").as_ref()).len(), 13);
}

/// The settings of a terminal that a raw mode changes.
fn modes(terminal: &std::fs::File) -> (u32, u32, u32) {
    let all = rustix::termios::tcgetattr(terminal).expect("a terminal");
    (all.local_modes.bits(), all.input_modes.bits(), all.output_modes.bits())
}

#[test]
fn the_terminal_comes_back_as_it_was() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    // SIGQUIT, for which a user may want a core dump, leaves the terminal as it was, too.
    for (name, arg, signal) in
        [("sz", &*data, Signal::INT), ("rz", "-v", Signal::INT), ("rz", "-v", Signal::QUIT)]
    {
        let both = wetstring_testkit::terminal().expect("a terminal");
        let open = || both.open().expect("the program's side");
        let (terminal, stdin) = (open(), open());
        let before = modes(&terminal);
        let mut command = called(name, [arg]);
        command.current_dir(desk.path("in"));
        command.stdin(stdin).stdout(open()).stderr(open());
        let mut child = command.spawn().expect("the program starts");
        drop(command);
        std::thread::sleep(Duration::from_millis(300));
        assert_ne!(modes(&terminal), before, "{name}: raw while it runs");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).expect("the child is there");
        // What it writes must be read, or it waits.
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while matches!(rustix::io::read(&both.master, &mut buffer), Ok(1..)) {}
        });
        let status = child.wait().expect("the child ends");
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130), "{name}");
        } else {
            assert_eq!(status.signal(), Some(signal.as_raw()), "{name}");
        }
        assert_eq!(modes(&terminal), before, "{name}");
        drop(terminal);
        reader.join().expect("the reader ends");
    }
}

/// A program for ZMODEM that was typed in a terminal which does not know it must let go at once.
#[test]
fn ctrl_c_or_five_ctrl_x_typed_at_it_end_it() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    let (sz, rx) = ([&*data], ["came.bin"]);
    let programs: [(&str, &[&str]); 6] =
        [("rz", &[]), ("sz", &sz), ("rb", &[]), ("sb", &sz), ("rx", &rx), ("sx", &sz)];
    for (name, args) in programs {
        for keys in [&b"\x03"[..], b"\x18\x18\x18\x18\x18"] {
            let inbox = desk.path("in");
            let mut user = Desktop::start_called(name, args, |command| {
                command.current_dir(&inbox);
            });
            user.until("a raw terminal", |user| !user.modes().contains(LocalModes::ICANON));
            // One key after the other, as fingers press them.
            for key in keys {
                user.press(&[*key]);
            }
            let typed = std::time::Instant::now();
            let status = user.end();
            let took = typed.elapsed();
            let shown = user.screen();
            assert_eq!(status.code(), Some(128), "{name} {keys:?}: {shown}");
            assert!(took < Duration::from_secs(3), "{name} {keys:?} took {took:?}");
            assert!(shown.contains(&format!("{name}: ")), "{name} {keys:?} says nothing: {shown}");
        }
    }
}

/// A slow line delivers a block character by character, and 03 is one of them.
#[test]
fn the_character_03_of_the_first_block_is_no_ctrl_c() {
    let desk = Desk::new(10);
    let inbox = desk.path("in");
    let mut user = Desktop::start_called("rx", &["came.bin"], |command| {
        command.current_dir(&inbox);
    });
    user.until("a request for the file", |user| user.screen().contains('\u{15}'));
    // With the sum of 128 times 3.
    let mut block = [3; 132];
    block[..3].copy_from_slice(&[1, 1, 0xFE]);
    block[131] = 0x80;
    for byte in block {
        user.press(&[byte]);
        std::thread::sleep(Duration::from_millis(1));
    }
    user.until("ACK", |user| user.screen().contains('\u{6}'));
    user.press(b"\x04");
    user.until("NAK or a second ACK", |user| {
        let screen = user.screen();
        screen.rsplit('\u{6}').next().is_some_and(|last| last.contains('\u{15}'))
            || screen.matches('\u{6}').count() > 1
    });
    user.press(b"\x04");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
    assert_eq!(std::fs::read(desk.path("in/came.bin")).expect("the file"), [3; 128]);
}
