//! `cargo xtask boot [--write]`: the boot loaders of `boot/` in QEMU, for each processor and protocol, and what they take.
//!
//! A program is sent to each over QEMU's serial socket by `wst`, lrzsz and C-Kermit, and over a line with noise; the loader checks its
//! digest and starts it, and it says so. The table is of flash and RAM; `--write` puts it into its page. A loader of the small receivers
//! that takes more than it may, or that has a function for panics in it, is an error.

use std::fs;
use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Target, and the machine of QEMU.
const MACHINES: [(&str, &str); 2] = [
    ("thumbv6m-none-eabi", "qemu-system-arm -M microbit"),
    ("riscv32imc-unknown-none-elf", "qemu-system-riscv32 -M virt -bios none"),
];

/// A loader.
struct Loader {
    program: &'static str,
    features: &'static str,
    /// As the table says it.
    name: &'static str,
    /// Who sends to it; with `NOISE` before it over a line with noise.
    senders: &'static [&'static str],
    /// Most bytes of code and constants, and of RAM beside the memory for blocks or packets.
    most: Option<(usize, usize)>,
}

/// Those of the small receivers, and those of the engines.
const LOADERS: [Loader; 6] = [
    Loader {
        program: TINY,
        features: "",
        name: "XMODEM-CRC",
        senders: &[
            "sx -q IMAGE",
            "WST -P xmodem-1k",
            "NOISE WST -P xmodem-crc",
            "NOISE sx -q IMAGE",
        ],
        most: Some((3000, 512)),
    },
    Loader {
        program: TINY,
        features: "ymodem",
        name: "YMODEM",
        senders: &["sb -q IMAGE", "WST -P ymodem", "NOISE WST -P ymodem", "NOISE sb -q IMAGE"],
        most: Some((5000, 512)),
    },
    Loader {
        program: TINY,
        features: "kermit",
        name: "Kermit, packets of 1024 bytes",
        senders: &["C-KERMIT", "WST -P kermit", "NOISE WST -P kermit", "NOISE C-KERMIT"],
        most: Some((10_000, 512)),
    },
    Loader {
        program: ENGINES,
        features: "",
        name: "XMODEM-CRC",
        senders: &["sx -q IMAGE", "WST -P xmodem-crc", "NOISE WST -P xmodem-crc"],
        most: None,
    },
    Loader {
        program: ENGINES,
        features: "ymodem",
        name: "YMODEM",
        senders: &["sb -q IMAGE", "WST -P ymodem", "NOISE WST -P ymodem"],
        most: None,
    },
    Loader {
        program: ENGINES,
        features: "kermit",
        name: "Kermit, packets of 500 bytes",
        senders: &["WST -P kermit", "C-KERMIT", "NOISE WST -P kermit"],
        most: None,
    },
];
const TINY: &str = "wst-boot-tiny";
const ENGINES: &str = "wst-boot";

/// The page with the table, and what stands around it there.
const PAGE: &str = "docs/reference/bare-metal-sizes.md";
const MARKS: [&str; 2] = ["<!-- cargo xtask boot --write -->\n\n", "<!-- end -->"];
const HEADINGS: &str = "\
| target | made of | protocol | .text | .rodata | drivers | block or packet, engine's memory | other static RAM | stack |
|---|---|---|---|---|---|---|---|---|
";

/// Noise that every transfer meets a few times.
const NOISE: &str = "115200,ber=2e-5,seed=3";
const LONGEST: Duration = Duration::from_secs(60);

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
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
    drivers: usize,
    ram: usize,
    memory: usize,
    stack: usize,
}

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let write = match args {
        [] => false,
        [word] if word == "--write" => true,
        other => return Err(format!("expected --write or nothing, got {}", other.join(" "))),
    };
    let mut table = HEADINGS.to_owned();
    // The processors side by side: a transfer mostly waits.
    let rows = std::thread::scope(|scope| {
        let of = MACHINES.map(|(target, machine)| scope.spawn(|| rows(root, target, machine)));
        of.map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".to_owned())))
    });
    for rows in rows {
        table.push_str(&rows?);
    }
    println!("{table}");
    if !write {
        return Ok(());
    }
    let path = root.join(PAGE);
    let page = said(fs::read_to_string(&path))?;
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).ok_or("expected the mark of the table")?;
    let (_, after) = rest.split_once(end).ok_or("expected the mark of the table's end")?;
    said(fs::write(path, [before, begin, &table, "\n", end, after].concat()))
}

/// Builds the loaders for a processor, sends to each, and returns their rows.
fn rows(root: &Path, target: &str, machine: &str) -> Result<String, String> {
    let home = root.join("target/boot");
    let mut table = String::new();
    for loader in &LOADERS {
        let program = build(root, &home, target, loader)?;
        let elf = said(fs::read(&program))?;
        let image = home.join(target).join("image.bin");
        said(fs::write(&image, image_of(&said(fs::read(program.with_file_name("app")))?)?))?;
        let mut told = String::new();
        for sender in loader.senders {
            let began = Instant::now();
            told = loads(root, machine, &program, &image, sender).map_err(|bad| {
                format!("{target}, {}, {}, {sender}: {bad}", loader.program, loader.name)
            })?;
            eprintln!("{target}, {}, {sender}: {:.1?}", loader.program, began.elapsed());
        }
        let takes = takes(&elf, &told)?;
        within(loader, &elf, &takes).map_err(|bad| format!("{target}, {}: {bad}", loader.name))?;
        let Takes { code, constants, drivers, ram, memory, stack } = takes;
        let made_of = if loader.program == TINY { "`tiny`" } else { "engine" };
        let row = [code, constants, drivers, memory, ram, stack].map(with_commas);
        let target = target.split_once('-').map_or(target, |(processor, _)| processor);
        let cells = [target, made_of, loader.name, &row.join(" | ")].join(" | ");
        table.push_str(&["| ", &cells, " |\n"].concat());
    }
    Ok(table)
}

/// A number as pages have it.
fn with_commas(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

/// Whether it takes no more than it may.
fn within(loader: &Loader, elf: &[u8], takes: &Takes) -> Result<(), String> {
    let Some((most_code, most_ram)) = loader.most else { return Ok(()) };
    let (code, ram) = (takes.code + takes.constants, takes.ram + takes.stack);
    if code > most_code {
        return Err(format!(
            "expected at most {most_code} bytes of code and constants, got {code}"
        ));
    }
    if ram > most_ram {
        return Err(format!("expected at most {most_ram} bytes of other RAM and stack, got {ram}"));
    }
    match symbols(elf)?.into_iter().find(|name| name.contains("panic") || name.contains("unwind")) {
        Some(name) => Err(format!("expected no function for panics, got {name}")),
        None => Ok(()),
    }
}

fn build(root: &Path, home: &Path, target: &str, loader: &Loader) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root.join("boot")).env("CARGO_TARGET_DIR", home);
    cargo.args(["build", "--quiet", "--release", "--locked", "--target", target, "--bin", "app"]);
    cargo.args(["--bin", loader.program, "--features", loader.features]);
    let status = said(cargo.status())?;
    if !status.success() {
        return Err(format!("{cargo:?}: {status}"));
    }
    Ok(home.join(target).join("release").join(loader.program))
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
    let _emulator = Running(said(qemu.spawn())?);
    let (mut line, _) = said(listener.accept())?;
    let wst = root.join("target/debug/wst");
    let (noise, sender) = match sender.strip_prefix("NOISE ") {
        Some(sender) => (true, sender),
        None => (false, sender),
    };
    let (mut client, mut far) = said(client(sender, &wst, image))?;
    let _noise = if noise {
        let listener = said(TcpListener::bind("127.0.0.1:0"))?;
        let to = format!("tcp://{}", said(listener.local_addr())?);
        let mut line = Command::new(wst);
        line.args(["line", NOISE, "-a", "-", "-b", &to]).stderr(Stdio::null());
        let stdin = OwnedFd::from(said(far.try_clone())?);
        let running = Running(said(line.stdin(stdin).stdout(OwnedFd::from(far)).spawn())?);
        (far, _) = said(listener.accept())?;
        Some(running)
    } else {
        None
    };
    let (mut from, mut board) = (said(far.try_clone())?, said(line.try_clone())?);
    // Ends with the client.
    let pump = std::thread::spawn(move || std::io::copy(&mut from, &mut board));
    let heard = listen(&mut line, &far)?;
    let status = said(client.0.wait())?;
    let _ = far.shutdown(Shutdown::Both);
    let _ = pump.join();
    if status.success() { Ok(heard) } else { Err(status.to_string()) }
}

/// Starts the program that sends, and returns our end of its line.
fn client(sender: &str, wst: &Path, image: &Path) -> std::io::Result<(Running, TcpStream)> {
    if sender == "C-KERMIT" {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (port, image) = (listener.local_addr()?.port(), image.display());
        let binary = "set file type binary";
        let script = format!("set host 127.0.0.1 {port} /raw, {binary}, send {image}, exit");
        let mut kermit = Command::new("kermit");
        kermit.args(["-H", "-Y", "-Q", "-C"]).arg(script);
        let child = kermit.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        return Ok((Running(child), listener.accept()?.0));
    }
    let words = sender.split(' ');
    let mut words =
        words.map(|word| if word == "IMAGE" { image.as_os_str() } else { word.as_ref() });
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(if program == "WST" { wst.as_os_str() } else { program });
    if program == "WST" {
        command.args(["send", "-q"]).args(words).arg(image).arg("-");
    } else {
        command.args(words);
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let its = OwnedFd::from(TcpStream::connect(listener.local_addr()?)?);
    let (ours, _) = listener.accept()?;
    let child = command.stdin(its.try_clone()?).stdout(its).stderr(Stdio::null()).spawn()?;
    Ok((Running(child), ours))
}

/// Reads until the program has said that it runs, and passes it on to the client.
fn listen(line: &mut TcpStream, mut client: &TcpStream) -> Result<String, String> {
    let (mut heard, mut buffer, began) = (Vec::new(), [0; 4096], Instant::now());
    said(line.set_nonblocking(false))?;
    said(line.set_read_timeout(Some(Duration::from_millis(200))))?;
    while began.elapsed() < LONGEST {
        if let Ok(len) = line.read(&mut buffer) {
            heard.extend_from_slice(&buffer[..len]);
            // The client has gone once it has sent everything.
            let _ = client.write_all(&buffer[..len]);
        }
        let text = String::from_utf8_lossy(&heard);
        if text.contains("app: runs") {
            return Ok(text.into_owned());
        }
    }
    let text = String::from_utf8_lossy(&heard).into_owned();
    Err(format!("expected \"app: runs\" within {} s, got {text:?}", LONGEST.as_secs()))
}

/// A section of an ELF file: where its header stands.
fn section(elf: &[u8], wanted: &str) -> Result<Option<usize>, String> {
    let (table, count, names) = (number(elf, 32, 4)?, number(elf, 48, 2)?, number(elf, 50, 2)?);
    let names = number(elf, table + 40 * names + 16, 4)?;
    for index in 0..count {
        let at = table + 40 * index;
        if name_at(elf, names + number(elf, at, 4)?) == wanted {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// The text that stands here, up to a NUL.
fn name_at(elf: &[u8], at: usize) -> String {
    let bytes = elf.get(at..).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The names of everything that is in a program, as `nm` lists them.
fn symbols(elf: &[u8]) -> Result<Vec<String>, String> {
    let table = section(elf, ".symtab")?.ok_or("expected symbols")?;
    let names = number(elf, section(elf, ".strtab")?.ok_or("expected names")? + 16, 4)?;
    let (from, len) = (number(elf, table + 16, 4)?, number(elf, table + 20, 4)?);
    let all = (from..from + len).step_by(16);
    all.map(|at| Ok(name_at(elf, names + number(elf, at, 4)?))).collect()
}

/// The lengths of the sections, and what the loader has said of its memory.
fn takes(elf: &[u8], told: &str) -> Result<Takes, String> {
    let len = |wanted: &str| -> Result<usize, String> {
        section(elf, wanted)?.map_or(Ok(0), |at| number(elf, at + 20, 4))
    };
    let said = |what: &str| -> Result<usize, String> {
        let rest = told.split(what).nth(1).and_then(|rest| rest.split_whitespace().next());
        let number = rest.and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("expected {what:?} and a number, got {told:?}"))
    };
    let (memory, stack) = (said("boot: memory ")?, said("boot: stack ")?);
    Ok(Takes {
        code: len(".text")?,
        constants: len(".rodata")?,
        drivers: len(".driver")?,
        ram: len(".bss")?.saturating_sub(memory),
        memory,
        stack,
    })
}

fn said<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_that_takes_more_than_it_may_is_refused() {
        let takes =
            |code, stack| Takes { code, constants: 100, drivers: 900, ram: 8, memory: 1024, stack };
        let refused = |takes: &Takes| within(&LOADERS[0], &[], takes).unwrap_err();
        assert_eq!(
            refused(&takes(2901, 100)),
            "expected at most 3000 bytes of code and constants, got 3001"
        );
        assert_eq!(
            refused(&takes(2900, 505)),
            "expected at most 512 bytes of other RAM and stack, got 513"
        );
        // Both are within, and what this is has no symbols.
        assert_eq!(refused(&takes(2900, 504)), "expected an ELF file");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1000, 20_446].map(with_commas), ["0", "999", "1,000", "20,446"]);
    }
}
