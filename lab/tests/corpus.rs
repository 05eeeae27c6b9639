//! The corpora: sizes, what the sources state, and what their tables imply.

use wetstring_lab::corpus::Corpus;

fn bytes(name: &str) -> Vec<u8> {
    Corpus::named(name).unwrap_or_else(|| panic!("{name}")).bytes(1)
}

fn share(bytes: &[u8], of: impl Fn(u8) -> bool) -> f64 {
    bytes.iter().filter(|byte| of(**byte)).count() as f64 / bytes.len() as f64
}

/// Characters that Kermit sends for these bytes: runs of four and more as `~`, count and byte,
/// `#` before those of `control` and before the prefixes themselves.
fn kermit_len(bytes: &[u8], control: impl Fn(u8) -> bool) -> usize {
    let one = |byte: u8| 1 + usize::from(control(byte) || matches!(byte & 0x7F, b'#' | b'~'));
    let runs = bytes.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(94));
    runs.map(|run| (run.len() * one(run[0])).min(2 + one(run[0]))).sum()
}

const FEW: fn(u8) -> bool = |byte| matches!(byte, 0 | 1 | 129);
const ALL: fn(u8) -> bool = |byte| byte & 0x7F < 32 || byte & 0x7F == 127;

#[test]
fn sizes_are_those_of_the_sources_for_every_seed() {
    for (name, len) in [
        ("manual", 135_087),
        ("manual-crlf", 137_901),
        ("dos-exe", 197_928),
        ("sparc-small", 24_576),
        ("zip", 238_584),
        ("russian", 52_046),
        ("japanese", 29_706),
        ("c-source", 77_916),
        ("gzip", 85_153),
        ("sparc", 1_048_576),
    ] {
        let corpus = Corpus::named(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(corpus.len(), len);
        for seed in [1, 7] {
            assert_eq!(corpus.bytes(seed).len(), len, "{name}, seed {seed}");
        }
        assert_eq!(corpus.bytes(3), corpus.bytes(3), "{name}");
        assert_ne!(corpus.bytes(1), corpus.bytes(2), "{name}");
    }
    assert_eq!(Corpus::names().count(), 10);
    assert!(Corpus::named("bible").is_none());
}

#[test]
fn the_manual_has_its_lines_and_both_forms_are_one_text() {
    for seed in [1, 2] {
        let text = Corpus::named("manual").unwrap().bytes(seed);
        let crlf = Corpus::named("manual-crlf").unwrap().bytes(seed);
        assert_eq!(text.split(|byte| *byte == b'\n').count() - 1, 2814);
        assert!(text.iter().all(|byte| matches!(byte, b'\n' | 32..=126)), "plain ASCII");
        assert_eq!(String::from_utf8(crlf).unwrap().replace("\r\n", "\n").into_bytes(), text);
        let widest = text.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap();
        assert!((60..=80).contains(&widest), "{widest}");
    }
}

/// Table 1: MS-DOS Kermit took 72 s with all control characters prefixed, 69 s with three.
#[test]
fn runs_save_what_table_1_implies() {
    let text = bytes("manual-crlf");
    let (all, few) = (kermit_len(&text, ALL), kermit_len(&text, FEW));
    assert!((134_000..138_000).contains(&all), "{all}");
    assert!((128_500..132_500).contains(&few), "{few}");
    assert_eq!(all - few, 2 * 2814, "CR and LF of every line");
}

#[test]
fn executables_have_zero_runs() {
    // Table 2: 100 s for KERMIT.EXE at 1920 characters a second.
    let few = kermit_len(&bytes("dos-exe"), FEW);
    assert!((188_000..193_000).contains(&few), "{few}");
    // Table 4: 8 s for the SPARC program at 960.
    let few = kermit_len(&bytes("sparc-small"), FEW);
    assert!((6_800..8_100).contains(&few), "{few}");
    for name in ["dos-exe", "sparc-small", "sparc"] {
        let bytes = bytes(name);
        let runs = bytes.chunk_by(|a, b| a == b).filter(|run| run[0] == 0 && run.len() >= 512);
        assert!(runs.map(<[u8]>::len).sum::<usize>() * 20 > bytes.len(), "{name}");
    }
}

#[test]
fn compressed_files_are_incompressible() {
    for name in ["zip", "gzip"] {
        let bytes = bytes(name);
        let expected = bytes.len() as f64 / 256.0;
        let mut counts = [0u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((165.0..345.0).contains(&chi), "{name}: {chi}");
        // Three prefixed codes and four prefix characters of 256.
        let more = kermit_len(&bytes, FEW) - bytes.len();
        assert!((more * 1000 / bytes.len()).abs_diff(27) <= 2, "{name}: {more}");
    }
}

#[test]
fn texts_of_other_languages_have_their_share_of_8_bit_characters() {
    let russian = share(&bytes("russian"), |byte| byte >= 128);
    assert!((0.78..0.83).contains(&russian), "{russian}");
    let japanese = share(&bytes("japanese"), |byte| byte >= 128);
    assert!((0.96..0.99).contains(&japanese), "{japanese}");
    // Japanese comes in pairs: between two line ends there is an even number of bytes.
    let japanese = bytes("japanese");
    let lines: Vec<&[u8]> = japanese.split(|byte| *byte == b'\n').collect();
    assert!(lines.len() > 300);
    let whole = &lines[..lines.len() - 2];
    assert!(whole.iter().all(|line| line.strip_suffix(b"\r").is_some_and(|l| l.len() % 2 == 0)));
}

#[test]
fn c_source_looks_like_it() {
    let text = String::from_utf8(bytes("c-source")).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() > 2000);
    assert!(text.lines().filter(|line| line.starts_with('\t')).count() > 500);
    assert!(text.contains("#ifdef ") && text.contains("return("));
}
