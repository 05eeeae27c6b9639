//! Names from a hostile peer.

use proptest::prelude::*;
use wetstring_drive::disk::names::{BadName, MAX_LEN, NameRule, PathRule, confine};

fn last(wire: &[u8]) -> Result<(String, Option<NameRule>), NameRule> {
    match confine(wire, PathRule::LastOnly) {
        Ok(safe) => {
            assert!(safe.directories.is_empty());
            Ok((String::from_utf8_lossy(&safe.name).into_owned(), safe.rule))
        }
        Err(BadName(rule)) => Err(rule),
    }
}

#[test]
fn honest_names_are_unchanged() {
    for name in [
        "a",
        "README",
        ".profile",
        "a b",
        "a.tar.gz",
        "größe.txt",
        "12:30",
        "...",
        "..a",
        "a..",
        "console",
        "COM",
        "COM10",
        "nul-1",
        "~",
        "-rf",
        "a.part",
        "x:y",
    ] {
        let foreign = Some(NameRule::Foreign);
        let windows = [
            ("12:30", ("12%3A30", foreign)),
            ("...", ("..%2E", foreign)),
            ("a..", ("a.%2E", foreign)),
        ];
        let known = windows.into_iter().find(|(known, _)| cfg!(windows) && *known == name);
        let expected = if let Some((_, expected)) = known {
            expected
        } else if name == "x:y" {
            ("y", Some(NameRule::Absolute))
        } else {
            (name, None)
        };
        assert_eq!(last(name.as_bytes()), Ok((expected.0.into(), expected.1)), "{name}");
    }
}

#[test]
fn invalid_names_are_refused() {
    for (wire, rule) in [
        (&b""[..], NameRule::Empty),
        (b"/", NameRule::Empty),
        (b"C:", NameRule::Empty),
        (b"C:\\", NameRule::Empty),
        (b"dir/", NameRule::Empty),
        (b".", NameRule::Dots),
        (b"..", NameRule::Dots),
        (b"/..", NameRule::Dots),
        (b"a/..", NameRule::Dots),
        (b"a\\..", NameRule::Dots),
        (b"C:..", NameRule::Dots),
        (b"a/C:..", NameRule::Dots),
    ] {
        assert_eq!(last(wire), Err(rule), "{}", wire.escape_ascii());
    }
}

#[test]
fn names_that_lead_outside_are_confined() {
    for (wire, name, rule) in [
        (&b"/etc/passwd"[..], "passwd", NameRule::Absolute),
        (b"../../etc/passwd", "passwd", NameRule::Directories),
        (b"a/../b", "b", NameRule::Directories),
        (b"//host/share/x", "x", NameRule::Absolute),
        (b"\\\\host\\share\\x", "x", NameRule::Absolute),
        (b"C:\\WINDOWS\\WIN.INI", "WIN.INI", NameRule::Absolute),
        (b"c:autoexec.bat", "autoexec.bat", NameRule::Absolute),
        (b"..\\..\\boot.ini", "boot.ini", NameRule::Directories),
        (b"a\nb", "a_b", NameRule::Control),
        (b"\x1b[2Jx", "_[2Jx", NameRule::Control),
        (b"a\0b", "a_b", NameRule::Control),
        (b"\x7f", "_", NameRule::Control),
        ("a\u{9b}b".as_bytes(), "a_b", NameRule::Control),
        (b"CON", "_CON", NameRule::Device),
        (b"nul.txt", "_nul.txt", NameRule::Device),
        (b"Aux .c", "_Aux .c", NameRule::Device),
        (b"com1", "_com1", NameRule::Device),
        (b"LPT9.x.y", "_LPT9.x.y", NameRule::Device),
        ("COM¹".as_bytes(), "_COM¹", NameRule::Device),
        (b"/dev/CON", "_CON", NameRule::Absolute),
    ] {
        assert_eq!(last(wire), Ok((name.into(), Some(rule))), "{}", wire.escape_ascii());
    }
}

#[test]
fn long_names_are_truncated_and_keep_their_extension() {
    let (name, rule) = last("ä".repeat(200).as_bytes()).unwrap();
    assert_eq!((name.len(), rule), (MAX_LEN, Some(NameRule::TooLong)));
    let (name, _) = last(format!("{}.tar.gz", "x".repeat(300)).as_bytes()).unwrap();
    assert!(name.len() == MAX_LEN && name.ends_with("x.gz"), "{name}");
    let (name, _) = last(format!("é{}", "x".repeat(249)).as_bytes()).unwrap();
    assert_eq!(name.len(), MAX_LEN);
    assert_eq!(last("x".repeat(250).as_bytes()).unwrap().1, None);
}

#[test]
fn paths_stay_below_the_directory() {
    let relative = |wire: &[u8]| {
        confine(wire, PathRule::Relative).map(|safe| {
            let mut parts = safe.directories;
            parts.push(safe.name);
            String::from_utf8(parts.join(&b'/')).unwrap()
        })
    };
    assert_eq!(relative(b"a/b/c"), Ok("a/b/c".into()));
    assert_eq!(relative(b"./a//b"), Ok("a/b".into()));
    assert_eq!(relative(b"/etc/passwd"), Ok("etc/passwd".into()));
    assert_eq!(relative(b"D:\\a\\b"), Ok("a/b".into()));
    assert_eq!(relative(b"a/nul/b"), Ok("a/_nul/b".into()));
    assert_eq!(relative(b"a/../b"), Err(BadName(NameRule::Dots)));
    assert_eq!(relative(b"../b"), Err(BadName(NameRule::Dots)));
    assert_eq!(relative("d/".repeat(33).as_bytes()), Err(BadName(NameRule::Empty)));
    let deep = format!("{}f", "d/".repeat(33));
    assert_eq!(relative(deep.as_bytes()), Err(BadName(NameRule::TooDeep)));
}

/// Names as an attacker builds them: from the pieces that hurt.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"..".to_vec()),
        Just(b".".to_vec()),
        Just(b"/".to_vec()),
        Just(b"\\".to_vec()),
        Just(b"C:".to_vec()),
        Just(b"CON".to_vec()),
        Just(b"lpt1".to_vec()),
        Just(b"\0".to_vec()),
        Just(b"\x1b".to_vec()),
        Just(b" ".to_vec()),
        Just("é".repeat(130).into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn check_component(component: &[u8]) {
    assert!(!component.is_empty() && component.len() <= MAX_LEN);
    assert!(component != b"." && component != b"..");
    assert!(!component.iter().any(|byte| matches!(byte, b'/' | b'\\') || byte.is_ascii_control()));
}

proptest! {
    #[test]
    fn any_name_stays_inside(wire in hostile()) {
        for paths in [PathRule::LastOnly, PathRule::Relative] {
            match confine(&wire, paths) {
                Ok(safe) => {
                    safe.directories.iter().for_each(|part| check_component(part));
                    check_component(&safe.name);
                    prop_assert!(paths == PathRule::Relative || safe.directories.is_empty());
                    // A safe name is safe: nothing is done to it a second time.
                    let again = confine(&safe.name, PathRule::LastOnly).unwrap();
                    // On Windows a % before two digits is escaped, so that every name can be read back.
                    if cfg!(unix) || !safe.name.contains(&b'%') {
                        prop_assert_eq!((again.name, again.rule), (safe.name, None));
                    }
                }
                Err(BadName(rule)) => prop_assert!(rule.refuses()),
            }
        }
    }
}

#[test]
fn batch_names_are_unique() {
    use wetstring_drive::disk::distinct;
    let same = |name: &[u8]| name.to_vec();
    for (names, wanted) in [
        (&["f", "g", "f", "f"][..], &["f", "g", "f.~1~", "f.~2~"][..]),
        // What comes later keeps its own name.
        (&["f", "f", "f.~1~", "f"], &["f", "f.~2~", "f.~1~", "f.~3~"]),
        (&["f.~1~", "f.~1~", "f", "f"], &["f.~1~", "f.~1~.~1~", "f", "f.~2~"]),
    ] {
        let mut got: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let renamed = distinct(&mut got, same);
        let text: Vec<&str> = got.iter().map(|name| std::str::from_utf8(name).unwrap()).collect();
        assert_eq!(text, wanted);
        for one in renamed {
            assert_eq!((one.own, &one.wire), (names[one.index].into(), &got[one.index]));
        }
    }
    let mut names = [b"a b".to_vec(), b"A_B".to_vec(), b"c".to_vec()];
    let upper = |name: &[u8]| {
        name.to_ascii_uppercase().iter().map(|b| if *b == b' ' { b'_' } else { *b }).collect()
    };
    let renamed = distinct(&mut names, upper);
    assert_eq!(renamed.len(), 1);
    assert_eq!(names[1], b"A_B.~1~");
    // A hundred thousand of one name do not take long.
    let mut many = vec![b"f".to_vec(); 100_000];
    assert_eq!(distinct(&mut many, same).len(), 99_999);
    assert_eq!(many[99_999], b"f.~99999~");
}
