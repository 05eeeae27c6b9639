//! RPM packages, by the crate that cargo-generate-rpm stands on.

use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

use super::Release;
use super::tree::{Kind, Tree};

/// What a package says of itself.
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    /// `noarch` for any.
    pub(super) arch: &'a str,
    pub(super) summary: &'a str,
    pub(super) description: &'a str,
    /// It is there instead of this package, which cannot be installed beside it.
    pub(super) instead_of: Option<&'a str>,
    /// It needs this package, of the same version.
    pub(super) needs: Option<&'a str>,
}

/// An RPM package: file name and bytes.
pub(super) fn package(
    release: &Release,
    about: &About<'_>,
    tree: &Tree,
) -> Result<(String, Vec<u8>), String> {
    let say = |e: rpm::Error| format!("{}: {e}", about.name);
    let epoch = u32::try_from(release.epoch).map_err(|_| "expected a date before 2106")?;
    let config = BuildConfig::v4()
        .compression(CompressionWithLevel::Gzip(9))
        .source_date(epoch)
        .reserved_space(None);
    let mut builder = PackageBuilder::new(
        about.name,
        &release.version,
        "MIT OR Apache-2.0",
        about.arch,
        about.summary,
    );
    builder
        .using_config(config)
        .release("1")
        .build_host("localhost")
        .url(super::REPOSITORY)
        .vendor("Wetstring")
        .description(about.description);
    if let Some(other) = about.instead_of {
        builder.provides(Dependency::any(other)).conflicts(Dependency::any(other));
    }
    if let Some(other) = about.needs {
        builder.requires(Dependency::eq(other, &release.version));
    }
    for (path, kind) in tree.entries() {
        let path = format!("/{path}");
        let is_page = path.starts_with("/usr/share/doc/") || path.starts_with("/usr/share/man/");
        match kind {
            Kind::Program(bytes) => {
                let options = FileOptions::new(path).permissions(0o755);
                builder.with_file_contents(bytes.clone(), options).map_err(say)?;
            }
            Kind::File(bytes) => {
                let options = FileOptions::new(path).permissions(0o644);
                let options = if is_page { options.doc() } else { options };
                builder.with_file_contents(bytes.clone(), options).map_err(say)?;
            }
            Kind::Link(to) => {
                builder.with_symlink(FileOptions::symlink(path, to)).map_err(say)?;
            }
        }
    }
    let mut bytes = Vec::new();
    builder.build().map_err(say)?.write(&mut bytes).map_err(say)?;
    Ok((format!("{}-{}-1.{}.rpm", about.name, release.version, about.arch), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &str) -> About<'_> {
        About {
            name,
            arch: "noarch",
            summary: "a test",
            description: "A test.",
            instead_of: Some("other"),
            needs: None,
        }
    }

    #[test]
    fn a_package_can_be_read_and_is_the_same_again() {
        let mut tree = Tree::default();
        tree.add("usr/bin/x", Kind::Program(b"run".to_vec()));
        tree.add("usr/bin/y", Kind::Link("x".to_owned()));
        let make = || package(&Release::example(), &about("w"), &tree).unwrap();
        let (name, bytes) = make();
        assert_eq!(name, "w-1.2.3-1.noarch.rpm");
        assert_eq!(make().1, bytes);
        let read = rpm::Package::parse(&mut &bytes[..]).unwrap();
        assert_eq!(read.metadata.get_name().unwrap(), "w");
        let files = read.metadata.get_file_paths().unwrap();
        let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(files, ["/usr/bin/x", "/usr/bin/y"]);
    }
}
