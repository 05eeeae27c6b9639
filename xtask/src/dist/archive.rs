//! Archives whose bytes depend on nothing but what is in them: sorted, owned by root, of one time.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use lzma_rust2::{XzOptions, XzWriter};
use tar::{EntryType, Header};

use super::tree::{Kind, Tree};

/// A tar archive of a tree; `before` is put before each path. All times are `epoch`, in seconds since 1970.
pub(super) fn tar(tree: &Tree, before: &str, epoch: u64) -> Result<Vec<u8>, String> {
    let mut archive = tar::Builder::new(Vec::new());
    let say = |e: std::io::Error| format!("tar: {e}");
    let mut all: Vec<(&str, Option<&Kind>)> =
        tree.directories().into_iter().map(|path| (path, None)).collect();
    all.extend(tree.entries().map(|(path, kind)| (path, Some(kind))));
    // A directory sorts before what is in it.
    all.sort_by_key(|(path, _)| *path);
    for (path, kind) in all {
        let (bytes, mode, entry) = match kind {
            None => (&[][..], 0o755, EntryType::Directory),
            Some(Kind::Program(bytes)) => (&bytes[..], 0o755, EntryType::Regular),
            Some(Kind::File(bytes)) => (&bytes[..], 0o644, EntryType::Regular),
            Some(Kind::Link(_)) => (&[][..], 0o777, EntryType::Symlink),
        };
        let mut header = Header::new_ustar();
        header.set_entry_type(entry);
        header.set_mode(mode);
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root").map_err(say)?;
        header.set_groupname("root").map_err(say)?;
        header.set_size(bytes.len() as u64);
        if let Some(Kind::Link(to)) = kind {
            header.set_link_name(to).map_err(say)?;
        }
        let end = if kind.is_none() { "/" } else { "" };
        archive.append_data(&mut header, format!("{before}{path}{end}"), bytes).map_err(say)?;
    }
    archive.into_inner().map_err(say)
}

/// The most that a reader needs to keep, in bytes: more than a program has.
const DICTIONARY: u32 = 16 << 20;

/// The bytes as `.xz`.
pub(super) fn xz(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let say = |e: std::io::Error| format!("xz: {e}");
    let mut options = XzOptions::with_preset(9);
    options.lzma_options.dict_size = DICTIONARY;
    let mut writer = XzWriter::new(Vec::new(), options).map_err(say)?;
    writer.write_all(bytes).map_err(say)?;
    writer.finish().map_err(say)
}

/// The bytes as `.gz`, with no name and no time.
pub(super) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    // A vector takes everything.
    let _ = writer.write_all(bytes);
    writer.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.file("b/z.txt", "last");
        tree.add("b/a", Kind::Program(b"run".to_vec()));
        tree.add("b-c", Kind::Link("b/a".to_owned()));
        tree
    }

    #[test]
    fn a_tar_has_everything_in_order_with_one_time() {
        let bytes = tar(&tree(), "x/", 86_400).unwrap();
        let mut read = tar::Archive::new(&bytes[..]);
        let mut found = Vec::new();
        for entry in read.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            assert_eq!(header.mtime().unwrap(), 86_400);
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let path = entry.path().unwrap().display().to_string();
            found.push(format!("{path} {:o} {text}", header.mode().unwrap()));
        }
        assert_eq!(found, ["x/b/ 755 ", "x/b-c 777 ", "x/b/a 755 run", "x/b/z.txt 644 last"]);
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let text = b"the quick brown fox ".repeat(5000);
        let mut back = Vec::new();
        let packed = xz(&text).unwrap();
        assert!(packed.len() < 500, "{}", packed.len());
        lzma_rust2::XzReader::new(&packed[..], false).read_to_end(&mut back).unwrap();
        assert_eq!(back, text);
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&gz(&text)[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, text);
    }
}
