//! Which measurements there are, and those of Kermit.

use std::fs;
use std::path::{Path, PathBuf};

use super::run::{Figure, Setting};
use super::tables::{Bar, Contender, group, material, verdict};
use super::{Bench, netblt, netblt_live, netblt_path, plain, serve, slip, small, wrapper, xyz};

const STREAMING: Setting =
    Setting { flags: &[], commands: &["set streaming on", "set reliable on"] };

const WINDOW: Setting = Setting {
    flags: &["--streaming=off", "--window=31", "--length=9024"],
    commands: &["set streaming off", "set reliable off", "set clear-channel off", "set window 31"],
};

/// Everything.
pub(super) fn all(bench: &Bench, only: &str) -> Result<(), String> {
    let wanted = |word: &str| only.is_empty() || only == word;
    let mib = bench.len >> 20;
    println!(
        "files of {mib} MiB, median of {} rounds in turn after one to warm up\n",
        bench.rounds
    );
    let random = make(bench, "random.bin", material::random(bench.len, 60))?;
    if wanted("tcp") {
        let text = make(bench, "text.c", material::c_source(bench.len))?;
        let zeros = make(bench, "zeros.bin", vec![0; bench.len])?;
        tcp(bench, "random", &random, &[(1, 0, 5.0), (1, 4, 0.6)])?;
        tcp(bench, "C source text", &text, &[(1, 0, 5.0), (1, 4, 0.6)])?;
        tcp(bench, "zeros", &zeros, &[])?;
    }
    if wanted("window") {
        let rows: Vec<Contender<'_>> = vec![
            ("C-Kermit to C-Kermit", Box::new(|| bench.ckermit_itself(&random, WINDOW))),
            ("wst to wst", Box::new(|| bench.own(&random, WINDOW))),
            ("wst to C-Kermit", Box::new(|| bench.wst_sends_ckermit(&random, WINDOW))),
            ("C-Kermit to wst", Box::new(|| bench.ckermit_sends(&random, WINDOW))),
        ];
        group(bench, "TCP, window 31 x 9024, no streaming, random", &rows, &[(1, 0, 3.0)])?;
    }
    if wanted("pty") {
        pty(bench, &random)?;
    }
    if wanted("xyz") {
        xyz::all(bench, &random)?;
    }
    if wanted("netblt") {
        netblt::all(bench)?;
    }
    // Minutes long, and only for root: if asked.
    if only == "netblt-path" {
        netblt_path::all(bench)?;
    }
    if only == "netblt-live" {
        netblt_live::all(bench)?;
    }
    if only == "netblt-load" {
        netblt_live::loaded(bench)?;
    }
    if only == "slip" {
        slip::all(bench)?;
    }
    if only == "serve" {
        serve::all(bench)?;
    }
    if only == "small" {
        small::all(bench)?;
    }
    if only == "wrapper" {
        wrapper::all(bench)?;
    }
    if wanted("wire") {
        wire(bench, &random)?;
    }
    if wanted("memory") {
        memory(bench, &random)?;
    }
    Ok(())
}

fn make(bench: &Bench, name: &str, bytes: Vec<u8>) -> Result<PathBuf, String> {
    let path = bench.path(name);
    fs::write(&path, bytes).map_err(|e| e.to_string())?;
    Ok(path)
}

fn tcp(bench: &Bench, what: &str, file: &Path, bars: &[Bar]) -> Result<(), String> {
    let plain = move |to: Option<PathBuf>| plain::sockets(file, to.as_deref()).map(Figure::speed);
    let copy = bench.path("copy");
    let rows: Vec<Contender<'_>> = vec![
        ("C-Kermit to C-Kermit", Box::new(|| bench.ckermit_itself(file, STREAMING))),
        ("wst to wst", Box::new(|| bench.own(file, STREAMING))),
        ("wst to C-Kermit", Box::new(|| bench.wst_sends_ckermit(file, STREAMING))),
        ("C-Kermit to wst", Box::new(|| bench.ckermit_sends(file, STREAMING))),
        ("plain sockets, CRC-16 at both ends", Box::new(move || plain(None))),
        ("the same with files", Box::new(move || plain(Some(copy.clone())))),
    ];
    group(bench, &format!("TCP loopback, streaming, {what}"), &rows, bars)
}

fn pty(bench: &Bench, file: &Path) -> Result<(), String> {
    let own = format!("exec-pty:{} receive -q -o INTO -", bench.wst);
    let rows: Vec<Contender<'_>> = vec![
        ("C-Kermit to C-Kermit", Box::new(|| bench.ckermit_pty(file))),
        ("wst to wst", Box::new(move || bench.wst_sends_command(file, &own, &[]))),
        ("plain copy", Box::new(|| plain::pty(bench.len).map(Figure::speed))),
        (
            "wst to G-Kermit",
            Box::new(|| {
                let line = "exec-pty:cd INTO; gkermit -q -i -w -e 9000 -r";
                bench.wst_sends_command(file, line, &[])
            }),
        ),
        ("G-Kermit to G-Kermit, on pipes", Box::new(|| bench.gkermit_pipes(file))),
    ];
    group(bench, "PTY, streaming, random", &rows, &[(1, 0, 1.0), (1, 2, 0.0)])
}

fn wire(bench: &Bench, file: &Path) -> Result<(), String> {
    println!("Wire bytes over the file's size, random, clear channel, both directions");
    let over = |figure: Figure| (figure.wire / bench.len as f64 - 1.0) * 100.0;
    let own = over(bench.own(file, STREAMING)?);
    verdict("wst to wst", &format!("{own:.2} %"), "at most 1.5 %", own <= 1.5);
    let theirs = over(bench.wst_sends_ckermit(file, STREAMING)?);
    verdict("wst to C-Kermit", &format!("{theirs:.2} %"), "at most 2.7 %", theirs <= 2.7);
    let minimal = Setting { commands: &["set prefixing minimal"], ..STREAMING };
    println!("    C-Kermit to itself: {:.2} %", over(bench.ckermit_wire(file, STREAMING)?));
    println!(
        "    C-Kermit to itself, minimal prefixing: {:.2} %\n",
        over(bench.ckermit_wire(file, minimal)?)
    );
    Ok(())
}

fn memory(bench: &Bench, random: &Path) -> Result<(), String> {
    let huge = bench.path("huge.bin");
    let block = fs::read(random).map_err(|e| e.to_string())?;
    let mut out = fs::File::create(&huge).map_err(|e| e.to_string())?;
    for _ in 0..bench.huge / block.len() as u64 {
        std::io::Write::write_all(&mut out, &block).map_err(|e| e.to_string())?;
    }
    let peak = bench.memory(&huge)? / f64::from(1 << 20);
    println!("Peak memory of wst send, {} MiB", bench.huge >> 20);
    verdict("resident", &format!("{peak:.1} MiB"), "under 20 MiB", peak > 0.0 && peak < 20.0);
    Ok(())
}
