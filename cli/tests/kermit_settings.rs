//! Every setting of `wst kermit` acts, or a value without effect is refused with the reason; every command has help.

use crate::peers;

use std::process::{Command, Stdio};

use peers::{LIMIT, Scene, ckermit, wst};
use wetstring_drive::disk::StoreSettings;
use wetstring_proto::kermit::Config as Kermit;
use wetstring_proto::settings::{Range, Setting as Row};
use wetstring_protocols::{FAMILIES, Family, Protocol};

/// What a run said on stdout and stderr, and its code.
fn kermit(scene: &Scene, script: &str) -> (String, i32) {
    let file = scene.file("here/script.ksc", script.as_bytes());
    let mut command = wst(["kermit".as_ref(), file.as_os_str()]);
    command.current_dir(scene.folder("here")).stdin(Stdio::null());
    let end = scene.start("kermit", &mut command).unwrap().wait(LIMIT).unwrap();
    (end.said, end.code)
}

/// A setting as HELP SET shows it.
#[derive(Debug)]
struct Setting {
    name: String,
    syntax: String,
    what: String,
}

fn settings(scene: &Scene) -> Vec<Setting> {
    let (said, _) = kermit(scene, "help set\n");
    let lines: Vec<&str> = said.lines().collect();
    let of_the_table = |what: &str| {
        what.contains("; default ")
            || what.ends_with("of the program.")
            || ["Only ", "Not supported: ", "Has no effect: "].iter().any(|b| what.starts_with(b))
    };
    let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("SET "));
    let all = pairs.filter(|pair| of_the_table(pair[1].trim())).map(|pair| {
        let words: Vec<&str> = pair[0][4..].split(' ').collect();
        let is_name =
            |word: &&&str| !word.starts_with('{') && !word.chars().any(char::is_lowercase);
        let count = words.iter().take_while(is_name).count();
        Setting {
            name: words[..count].join(" "),
            syntax: words[count..].join(" "),
            what: pair[1].trim().to_owned(),
        }
    });
    all.collect()
}

/// Values that may follow.
fn values(setting: &Setting) -> Vec<String> {
    let syntax = &setting.syntax;
    if let Some(words) = syntax.strip_prefix("{ ").and_then(|rest| rest.split(" }").next()) {
        return words.split(", ").map(str::to_owned).collect();
    }
    if let Some(range) = syntax.strip_prefix("number from ") {
        return range.split(" to ").map(str::to_owned).collect();
    }
    assert_eq!(syntax, "text", "{setting:?}");
    let text: &[&str] = match setting.name.as_str() {
        "ESCAPE-CHARACTER" => &["29"],
        "TRANSFER PROTOCOL" => &["zmodem", "kermit"],
        "FILE DOWNLOAD-DIRECTORY" => &["."],
        "FILE SYSTEM-ID" => &["UN"],
        "INPUT SCALE-FACTOR" => &["2"],
        "PROMPT" => &["{now? }"],
        "RECEIVE PATHNAMES" | "SEND PATHNAMES" => &["off", "relative", "absolute"],
        "SERVER LOGIN" => &["anna secret"],
        "TRANSMIT EOF" => &["end"],
        _ if !setting.what.contains("; default ") => &["something else"],
        name => panic!("a text for SET {name}"),
    };
    text.iter().map(|text| (*text).to_owned()).collect()
}

/// The values that are supported where only some are.
fn supported(setting: &Setting) -> Option<Vec<String>> {
    if setting.what.starts_with("Not supported: ") {
        return Some(Vec::new());
    }
    let rest = setting.what.strip_prefix("Only ")?;
    let parted = rest.split_once(" is supported: ").or_else(|| rest.split_once(" are supported: "));
    let (list, _) = parted?;
    Some(list.split(", ").flat_map(|values| values.split(" and ")).map(str::to_owned).collect())
}

#[test]
fn every_setting_acts_or_says_why_not() {
    let scene = Scene::new();
    let all = settings(&scene);
    assert!(all.len() > 100, "{}", all.len());
    let mut lines = Vec::new();
    let mut tried = Vec::new();
    for setting in &all {
        let only = supported(setting);
        let mut values = values(setting);
        values.extend(only.iter().flatten().cloned());
        for value in values {
            let at = tried.len();
            lines.push(format!("set {} {value}", setting.name));
            lines.push(format!("if success echo .{at}. taken"));
            lines.push(format!("else echo .{at}. refused"));
            let good = only.as_ref().is_none_or(|only| only.contains(&value));
            tried.push((format!("SET {} {value}", setting.name), good));
        }
    }
    let (said, _) = kermit(&scene, &(lines.join("\n") + "\n"));
    for (at, (what, good)) in tried.iter().enumerate() {
        let taken = said.contains(&format!(".{at}. taken"));
        assert!(taken || said.contains(&format!(".{at}. refused")), "{what}: {said}");
        assert_eq!(taken, *good, "{what}");
        let upper = format!("{} is not supported: ", what.to_uppercase());
        assert_eq!(said.contains(&upper), !good, "{what}");
    }
    println!("{} settings, {} values", all.len(), tried.len());
    assert_eq!(kermit(&scene, "set dial x\n").1, 1, "what is refused is an error");
}

/// Values of a row, of which the last is its default.
fn row_values(row: &'static Row) -> Vec<String> {
    let mut values = match row.range {
        Range::Number(low, high) => vec![low.to_string(), high.to_string()],
        Range::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        // Lists of codes, and names.
        Range::Text if row.name.starts_with("kermit.") => vec!["1,3,19".to_owned()],
        Range::Text => Vec::new(),
    };
    values.push(row.default.to_owned());
    values
}

/// Whether SET TRANSFER PROTOCOL has a protocol of the family.
fn acts(family: &Family) -> bool {
    Protocol::of_bytes().any(|protocol| protocol.family() == family)
}

/// A row that is added to a table is set and shown by its name, with nothing else to do. No transfer of the language is by
/// datagrams or from host to host: settings of such protocols are refused with that reason.
#[test]
fn every_row_of_the_table_is_set_and_shown_by_its_name() {
    let scene = Scene::new();
    let rows = FAMILIES.iter().filter(|family| acts(family)).flat_map(Family::table);
    let all: Vec<(&Row, String)> = rows
        .chain(StoreSettings::TABLE)
        .flat_map(|row| row_values(row).into_iter().map(move |value| (row, value)))
        .collect();
    let others: Vec<&Row> =
        FAMILIES.iter().filter(|family| !acts(family)).flat_map(Family::table).collect();
    assert!(all.len() > 250 && others.len() > 25, "{} {}", all.len(), others.len());
    // By its name, and by the name of its protocol and its own.
    let own = all.iter().enumerate().map(|(at, (row, value))| {
        let (name, words) = (row.name, row.name.replacen('.', " ", 1));
        let (set, show) = if at % 2 == 0 { (name, &*words) } else { (&*words, name) };
        format!("set {set} {value}\nif fail echo {name} {value} refused\nshow {show}\n")
    });
    let foreign = others.iter().map(|row| {
        let name = row.name;
        format!("set {name} {}\nif success echo {name} taken\nshow {name}\n", row.default)
    });
    let script = own.chain(foreign).collect::<Vec<_>>().concat();
    let (said, _) = kermit(&scene, &script);
    let mut shown = said.lines().filter(|line| !line.contains(": not supported: "));
    for (row, value) in &all {
        let words: Vec<&str> = shown.next().unwrap_or("").split_whitespace().collect();
        let expected: Vec<&str> = [row.name, value].into_iter().filter(|w| !w.is_empty()).collect();
        assert_eq!(words, expected, "{said}");
    }
    for row in &others {
        let line = shown.next().unwrap_or("");
        assert_eq!(line.trim(), format!("{:<28} {}", row.name, row.default).trim(), "{said}");
        let reason =
            format!("SET {}: not supported: no transfer of this script", row.name.to_uppercase());
        assert!(said.contains(&reason), "{}: {said}", row.name);
    }
    assert_eq!(shown.next(), None);
}

/// A row's own keyword and its name are one setting, and the words for values are C-Kermit's.
#[test]
fn a_keyword_and_the_name_of_its_row_are_one_setting() {
    let scene = Scene::new();
    let mut names: Vec<&str> = Kermit::TABLE
        .iter()
        .chain(StoreSettings::TABLE)
        .flat_map(|row| row.keywords)
        .copied()
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a keyword stands in two rows: {names:?}");
    for (set, shown) in [
        ("file collision overwrite", "store.collision replace"),
        ("block-check 4", "kermit.check B"),
        ("streaming automatic", "kermit.streaming auto"),
        ("kermit.stream on", "kermit.streaming on"),
        ("handshake xon", "kermit.handshake 17"),
        ("handshake 17", "kermit.handshake 17"),
        ("window 32", "kermit.window 31"),
        ("window 3", "kermit.window 3"),
        ("attributes", "kermit.attributes on"),
        ("zmodem window 4096", "zmodem.window 4096"),
        ("zm win 4096", "zmodem.window 4096"),
        ("xmodem block 1024", "xymodem.block 1024"),
        ("ymodem-g retries 7", "xymodem.retries 7"),
        ("uucp window 3", "uucp.window 3"),
        ("kermit window 3", "kermit.window 3"),
        ("store collision reject", "store.collision reject"),
    ] {
        let row = shown.split(' ').next().unwrap_or("");
        let (said, code) = kermit(&scene, &format!("set {set}\nshow {row}\n"));
        let words: Vec<&str> = said.split_whitespace().collect();
        assert_eq!((words.join(" ").as_str(), code), (shown, 0), "{set}");
    }
    for (bad, why) in [
        ("kermit.windows 3", "no such setting: kermit.windows"),
        ("kermit.s on", "ambiguous setting: kermit.s"),
        ("kermit.window 33", "expected 1 to 31 for KERMIT.WINDOW, got 33"),
        ("store.collision maybe", "got maybe"),
        ("zmodem windows 3", "got windows"),
        ("zmodem window -1", "expected 0 to"),
        ("emodem window 3", "no such setting: emodem"),
        ("protocol emodem", "expected one of kermit, "),
    ] {
        let (said, code) = kermit(&scene, &format!("set {bad}\n"));
        assert!(said.contains(why) && code == 1, "{bad}: {said}");
    }
}

/// SEND and RECEIVE are by the protocol that is set, with its settings; a server speaks Kermit.
#[test]
fn transfers_are_by_the_protocol_that_is_set() {
    let scene = Scene::new();
    let bytes = vec![b'x'; 5000];
    scene.file("here/sent", &bytes);
    for protocol in ["zmodem", "ymodem", "ymodem-g", "xmodem", "xmodem-1k", "uucp-g", "kermit"] {
        let into = scene.folder(&format!("in-{protocol}"));
        let (wst, to) = (env!("CARGO_BIN_EXE_wst"), into.display());
        // XMODEM sends no names, and pads the last block.
        let nameless = protocol.starts_with("xmodem");
        let name = if nameless { "--as got" } else { "" };
        let script = format!(
            "set receive confirm off\nset protocol {protocol}\n\
             set host /pipe {wst} receive -P {protocol} -o {to} {name} stdio:\n\
             send sent\nif fail exit 1\nset host\n\
             set host /pipe {wst} send -P {protocol} sent stdio:\n\
             receive again-{protocol}\nexit \\v(status)\n"
        );
        let (said, code) = kermit(&scene, &script);
        assert_eq!(code, 0, "{protocol}: {said}");
        let came = into.join(if nameless { "got" } else { "sent" });
        for file in [came, scene.path(&format!("here/again-{protocol}"))] {
            let came = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert!(came.starts_with(&bytes), "{}", file.display());
            assert!(nameless || came.len() == bytes.len(), "{}", file.display());
        }
    }
    let (said, code) = kermit(&scene, "set protocol zmodem\nset host /pipe cat\nget x\n");
    let expected = "expected SET TRANSFER PROTOCOL KERMIT for a server, got ZMODEM";
    assert!(said.contains(expected) && code == 1, "{said}");
    let (said, _) = kermit(&scene, "set protocol xmodem\nset host /pipe cat\nreceive\n");
    assert!(said.contains("expected RECEIVE with a name: XMODEM sends none"), "{said}");
    // Each setting has its help, by either name.
    for (words, row) in [("zmodem window", "zmodem.window"), ("uucp", "uucp.timeout")] {
        let (said, _) = kermit(&scene, &format!("help set {words}\n"));
        assert!(said.contains(&format!("SET {row} ")), "{said}");
    }
}

/// Scripts read what SHOW says: the labels are C-Kermit's.
#[test]
fn show_transfer_has_the_labels_of_ckermit() {
    let scene = Scene::new();
    let labels = |said: &str| -> Vec<String> {
        let labels =
            said.lines().filter_map(|line| line.strip_prefix(" Transfer ")?.split_once(':'));
        labels.map(|(label, _)| label.to_owned()).collect()
    };
    let (said, _) = kermit(&scene, "set transfer mode automatic\nset delay 5\nshow transfer\n");
    assert!(said.contains(" Transfer Mode: automatic\n"), "{said}");
    if ckermit().is_none() {
        return;
    }
    let mut theirs = Command::new("kermit");
    theirs.args(["-H", "-Y", "-C", "show transfer, exit"]).stdin(Stdio::null());
    let theirs = scene.start("kermit", &mut theirs).unwrap().wait(LIMIT).unwrap().said;
    assert!(labels(&said).len() > 10, "{said}");
    assert_eq!(labels(&said), labels(&theirs));
}

#[test]
fn show_transmit_has_what_was_set_and_what_holds_at_first() {
    let scene = Scene::new();
    let (said, _) = kermit(&scene, "set transmit pause 7\nshow transmit\n");
    let row = |name: &str| said.lines().find(|line| line.trim().starts_with(name));
    assert!(row("Transmit Pause").is_some_and(|line| line.contains(" 7 ")), "{said}");
    assert!(row("Transmit EOF").is_some_and(|line| line.ends_with("(none)")), "{said}");
}

#[test]
fn the_settings_of_the_language_act() {
    let scene = Scene::new();
    scene.file("here/.hidden", b"");
    scene.file("here/shown", b"");
    let script = "if = \\ffiles(*) 2 echo two\nset match dotfile on\necho <\\ffiles(*)>\n\
                  set wildcard-expansion off\necho <\\ffiles(*)>\n\
                  set bell off\nbeep\necho .\nset bell on\nbeep\n";
    let (said, code) = kermit(&scene, script);
    // The script itself is a file, too.
    assert!(said.contains("two") && said.contains("<3>") && said.contains("<0>"), "{said}");
    let (before, after) = said.split_once(".\n").unwrap_or_else(|| panic!("{said:?}"));
    assert!(!before.contains('\u{7}') && after.contains('\u{7}'), "{said:?}");
    assert_eq!(code, 0, "{said}");
}

/// TRANSMIT with its settings, into a program that writes down what comes.
#[test]
fn transmit_ends_lines_waits_and_ends_as_it_is_told() {
    let scene = Scene::new();
    scene.file("here/text", b"one\ntwo\nthree");
    let script = "set transmit pause 300\nset transmit linefeed on\nset transmit eof END\n\
                  set host /pipe cat > got\nassign t \\v(ftime)\ntransmit text\n\
                  evaluate d (\\fround((\\v(ftime)-\\m(t))*1000))\nclose\necho .\n";
    let began = std::time::Instant::now();
    let (said, _) = kermit(&scene, script);
    assert!(began.elapsed().as_millis() >= 900, "three lines, each with its pause");
    let got = std::fs::read(scene.path("here/got")).unwrap_or_default();
    assert_eq!(got, b"one\r\ntwo\r\nthreeEND", "{said}");
}

#[test]
fn every_command_has_help() {
    let scene = Scene::new();
    let (said, _) = kermit(&scene, "help\n");
    let list = said.lines().skip(1).filter(|line| line.starts_with(' '));
    let names: Vec<&str> = list.flat_map(str::split_whitespace).collect();
    assert!(names.len() > 90, "{said}");
    let lines: Vec<String> = names.iter().map(|name| format!("help {name}")).collect();
    let (said, code) = kermit(&scene, &(lines.join("\n") + "\n"));
    assert_eq!(code, 0, "{said}");
    for name in names {
        let big = name.to_uppercase();
        let has = |line: &str| line == big || line.starts_with(&format!("{big} "));
        assert!(said.lines().any(has), "{name}");
    }
}
