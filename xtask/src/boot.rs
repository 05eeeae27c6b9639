//! `cargo xtask boot`: the boot loader of `boot/` in QEMU, for each processor and protocol, and what it takes.
//!
//! A program is sent to it over QEMU's serial socket by `wst`, lrzsz and C-Kermit; the loader checks its digest and
//! starts it, and it says so. `wst` sends once more over a line with noise. The table is of flash and RAM.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Target, and the machine of QEMU.
const MACHINES: [(&str, &str); 2] = [
    ("thumbv6m-none-eabi", "qemu-system-arm -M microbit"),
    ("riscv32imc-unknown-none-elf", "qemu-system-riscv32 -M virt -bios none"),
];
/// Features of the loader, a name, and who sends to it on the socket.
const LOADERS: [(&str, &str, &[&str]); 3] = [
    ("", "xmodem-crc", &["sx -q IMAGE", "WST send -q -P xmodem-crc IMAGE -"]),
    ("ymodem", "ymodem", &["sb -q IMAGE", "WST send -q -P ymodem IMAGE -"]),
    ("kermit", "kermit", &["WST send -q -P kermit IMAGE -", "C-KERMIT"]),
];
/// Noise that every transfer meets a few times.
const NOISE: &str = "115200,ber=2e-5,seed=3";
const LONGEST: Duration = Duration::from_secs(60);

/// Ended when it is dropped.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a loader takes, in bytes.
struct Takes {
    code: usize,
    constants: usize,
    ram: usize,
    memory: usize,
    stack: usize,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let home = root.join("target/boot");
    let mut table = String::new();
    for (target, machine) in MACHINES {
        for (features, protocol, senders) in LOADERS {
            let loader = build(root, &home, target, features)?;
            let elf = said(fs::read(&loader))?;
            let program = said(fs::read(loader.with_file_name("app")))?;
            let image = home.join("image.bin");
            said(fs::write(&image, image_of(&program)?))?;
            let noisy = format!("WST send -q -P {protocol} IMAGE NOISE");
            let mut told = String::new();
            for sender in senders.iter().copied().chain([&*noisy]) {
                told = loads(root, machine, &loader, &image, sender)
                    .map_err(|bad| format!("{target}, {protocol}, {sender}: {bad}"))?;
            }
            let Takes { code, constants, ram, memory, stack } = takes(&elf, &told)?;
            let row = [code, constants, memory, ram, stack].map(|len| len.to_string()).join(" | ");
            table.push_str(&["| ", target, " | ", protocol, " | ", &row, " |\n"].concat());
        }
    }
    println!(
        "| target | protocol | .text | .rodata | engine's memory | other static RAM | stack |"
    );
    println!("|---|---|---|---|---|---|---|\n{table}");
    Ok(())
}

fn build(root: &Path, home: &Path, target: &str, features: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root.join("boot")).env("CARGO_TARGET_DIR", home);
    cargo.args(["build", "--quiet", "--release", "--locked", "--target", target]);
    let status = said(cargo.args(["--features", features]).status())?;
    if !status.success() {
        return Err(format!("{cargo:?}: {status}"));
    }
    Ok(home.join(target).join("release/wst-boot"))
}

/// A little-endian number of an ELF file.
fn number(elf: &[u8], at: usize, len: usize) -> Result<usize, String> {
    let bytes = elf.get(at..at + len).ok_or("expected an ELF file")?;
    Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// What is loaded of a program, behind the header that the loader expects.
fn image_of(elf: &[u8]) -> Result<Vec<u8>, String> {
    let (table, count) = (number(elf, 28, 4)?, number(elf, 44, 2)?);
    let mut segments = Vec::new();
    for index in 0..count {
        let at = table + 32 * index;
        let (kind, from) = (number(elf, at, 4)?, number(elf, at + 4, 4)?);
        let (place, len) = (number(elf, at + 12, 4)?, number(elf, at + 16, 4)?);
        if kind == 1 && len > 0 {
            segments.push((place, elf.get(from..from + len).ok_or("expected a segment")?));
        }
    }
    let first = segments.iter().map(|(place, _)| *place).min().ok_or("expected segments")?;
    let end = segments.iter().map(|(place, bytes)| place + bytes.len()).max().unwrap_or(first);
    let mut program = vec![0; end - first];
    for (place, bytes) in segments {
        program[place - first..place - first + bytes.len()].copy_from_slice(bytes);
    }
    let mut crc = u32::MAX;
    for byte in &program {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    let mut image = b"WSTB".to_vec();
    image.extend((program.len() as u32).to_le_bytes());
    image.extend((!crc).to_le_bytes());
    image.extend([0; 4]);
    image.extend(program);
    Ok(image)
}

/// Runs the loader, sends to it, and returns what it and the program have said.
fn loads(
    root: &Path,
    machine: &str,
    loader: &Path,
    image: &Path,
    sender: &str,
) -> Result<String, String> {
    // The emulator connects to us: there is no moment at which it does not listen yet.
    let listener = said(TcpListener::bind("127.0.0.1:0"))?;
    let at = said(listener.local_addr())?;
    let mut words = machine.split(' ');
    let mut qemu = Command::new(words.next().unwrap_or_default());
    qemu.args(words).arg("-kernel").arg(loader).args(["-display", "none", "-monitor", "none"]);
    qemu.arg("-serial").arg(format!("tcp:{at}")).stdin(Stdio::null()).stderr(Stdio::null());
    let _emulator = Emulator(said(qemu.spawn())?);
    let (mut line, _) = said(listener.accept())?;
    let wst = root.join("target/debug/wst").display().to_string();
    let image = image.display().to_string();
    if sender == "C-KERMIT" || sender.ends_with(" NOISE") {
        let second = said(TcpListener::bind("127.0.0.1:0"))?;
        let port = said(second.local_addr())?.port();
        let to = format!("exec:{wst} line {NOISE} -a - -b tcp://127.0.0.1:{port}");
        let mut client = if sender == "C-KERMIT" {
            let binary = "set file type binary";
            let script = format!("set host 127.0.0.1 {port} /raw, {binary}, send {image}, exit");
            let mut kermit = Command::new("kermit");
            kermit.args(["-H", "-Y", "-Q", "-C"]).arg(script);
            kermit
        } else {
            words_of(sender, &wst, &image, &to)
        };
        client.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = said(client.spawn())?;
        let (stream, _) = said(second.accept())?;
        let (mut from, mut board) = (said(stream.try_clone())?, said(line.try_clone())?);
        // Ends with the client.
        let pump = std::thread::spawn(move || std::io::copy(&mut from, &mut board));
        let heard = listen(&mut line, Some(&stream))?;
        let status = said(child.wait())?;
        let _ = stream.shutdown(std::net::Shutdown::Both);
        let _ = pump.join();
        return if status.success() { Ok(heard) } else { Err(status.to_string()) };
    }
    let socket = OwnedFd::from(said(line.try_clone())?);
    let other = said(socket.try_clone())?;
    let mut command = words_of(sender, &wst, &image, "");
    let status = said(command.stdin(socket).stdout(other).status())?;
    if !status.success() {
        return Err(status.to_string());
    }
    listen(&mut line, None)
}

/// The command of these words.
fn words_of(sender: &str, wst: &str, image: &str, noise: &str) -> Command {
    let mut words = sender.split(' ').map(|word| match word {
        "WST" => wst,
        "IMAGE" => image,
        "NOISE" => noise,
        word => word,
    });
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stderr(Stdio::null());
    command
}

/// Reads until the program has said that it runs; also passes it on to a client.
fn listen(
    line: &mut std::net::TcpStream,
    client: Option<&std::net::TcpStream>,
) -> Result<String, String> {
    let (mut heard, mut buffer, began) = (Vec::new(), [0; 4096], Instant::now());
    said(line.set_nonblocking(false))?;
    said(line.set_read_timeout(Some(Duration::from_millis(200))))?;
    while began.elapsed() < LONGEST {
        if let Ok(len) = line.read(&mut buffer) {
            heard.extend_from_slice(&buffer[..len]);
            if let Some(mut client) = client {
                // The client has gone once it has sent everything.
                let _ = std::io::Write::write_all(&mut client, &buffer[..len]);
            }
        }
        let text = String::from_utf8_lossy(&heard);
        if text.contains("app: runs") {
            return Ok(text.into_owned());
        }
    }
    let text = String::from_utf8_lossy(&heard).into_owned();
    Err(format!("expected \"app: runs\" within {} s, got {text:?}", LONGEST.as_secs()))
}

/// The lengths of the sections, and what the loader has said of its memory.
fn takes(elf: &[u8], told: &str) -> Result<Takes, String> {
    let (table, count, names) = (number(elf, 32, 4)?, number(elf, 48, 2)?, number(elf, 50, 2)?);
    let names = number(elf, table + 40 * names + 16, 4)?;
    let section = |wanted: &str| -> Result<usize, String> {
        for index in 0..count {
            let at = table + 40 * index;
            let name = elf.get(names + number(elf, at, 4)?..).unwrap_or_default();
            if name.starts_with(wanted.as_bytes()) && name.get(wanted.len()) == Some(&0) {
                return number(elf, at + 20, 4);
            }
        }
        Ok(0)
    };
    let said = |what: &str| -> Result<usize, String> {
        let rest = told.split(what).nth(1).and_then(|rest| rest.split_whitespace().next());
        let number = rest.and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("expected {what:?} and a number, got {told:?}"))
    };
    let (memory, stack) = (said("boot: memory ")?, said("boot: stack ")?);
    let ram = section(".bss")?;
    Ok(Takes {
        code: section(".text")?,
        constants: section(".rodata")?,
        ram: ram.saturating_sub(memory),
        memory,
        stack,
    })
}

fn said<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|e| e.to_string())
}
