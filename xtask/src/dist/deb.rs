//! Debian packages: an `ar` archive with a tar of what dpkg has to know, and one of the files.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use super::Release;
use super::archive;
use super::tree::{Kind, Tree};

/// A Debian package: file name and bytes. `control` is the text of its control file, with
/// `@VERSION@`, `@ARCH@` and `@SIZE@` where these go.
pub(super) fn package(
    release: &Release,
    name: &str,
    arch: &str,
    control: &str,
    tree: &Tree,
) -> Result<(String, Vec<u8>), String> {
    let version = release.package_version();
    let kib = tree.size().div_ceil(1024).max(1);
    let control = control
        .replace("@VERSION@", &version)
        .replace("@ARCH@", arch)
        .replace("@SIZE@", &kib.to_string());
    let mut about = Tree::default();
    about.file("control", control);
    about.file("md5sums", sums(tree));
    let member = |tree: &Tree| archive::xz(&archive::tar(tree, "./", release.epoch)?);
    let bytes = ar(
        &[
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.xz", member(&about)?),
            ("data.tar.xz", member(tree)?),
        ],
        release.epoch,
    );
    Ok((format!("{name}_{version}_{arch}.deb"), bytes))
}

/// What `dpkg --verify` compares with.
fn sums(tree: &Tree) -> String {
    let mut text = String::new();
    for (path, kind) in tree.entries() {
        if let Kind::Program(bytes) | Kind::File(bytes) = kind {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}  {path}", super::hex(&Md5::digest(bytes)));
        }
    }
    text
}

/// An `ar` archive as dpkg reads it: deb(5).
fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let head = format!("{name:<16}{epoch:<12}0     0     100644  {:<10}`\n", content.len());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_begin_at_even_offsets_behind_heads_of_60_bytes() {
        let bytes = ar(&[("debian-binary", b"2.0\n".to_vec()), ("x", b"abc".to_vec())], 12);
        assert_eq!(bytes.len(), 8 + 60 + 4 + 60 + 4);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with(
            "!<arch>\ndebian-binary   12          0     0     100644  4         `\n2.0\n"
        ));
        assert!(text.ends_with("abc\n"));
    }

    #[test]
    fn the_control_file_is_filled_in() {
        let mut tree = Tree::default();
        tree.file("usr/x", vec![0; 3000]);
        let (name, bytes) =
            package(&Release::example(), "w", "amd64", "V: @VERSION@ @ARCH@ @SIZE@\n", &tree)
                .unwrap();
        assert_eq!(name, "w_1.2.3-1_amd64.deb");
        assert!(bytes.starts_with(b"!<arch>\ndebian-binary"));
        tree.file("usr/x", "");
        assert_eq!(sums(&tree), "d41d8cd98f00b204e9800998ecf8427e  usr/x\n");
    }
}
