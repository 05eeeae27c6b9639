//! `libwetstring-dev`: the library for C as a Debian package, for every libc of its architecture, since it needs none. Its symbols
//! have a hash of where the source stands: the same bytes come of the same path alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tree::Tree;
use super::{Release, compile, read};
use crate::target::{Linux, Target};

pub(super) const NAME: &str = "libwetstring-dev";

/// The files of the package: header, static library, pkg-config's file, the examples.
pub(super) fn tree(release: &Release, target: &Target, linux: Linux) -> Result<Tree, String> {
    let mut cargo = crate::building::cargo();
    cargo.current_dir(release.root.join("capi"));
    cargo.args(["rustc", "--quiet", "--release", "--locked", "--all-features"]);
    cargo.args(["--target", target.triple, "--crate-type", "staticlib"]);
    compile::as_anywhere(&mut cargo, release)?;
    println!("== {NAME}, {}", target.triple);
    super::said(&mut cargo)?;
    let built = release.build.join(target.triple).join("release/libwetstring.a");
    let source = release.root.join("capi");
    let lib = format!("usr/lib/{}", linux.multiarch);
    let mut tree = Tree::default();
    tree.file(format!("{lib}/libwetstring.a"), read(&built)?);
    let about = String::from_utf8_lossy(&read(&source.join("wetstring.pc.in"))?).into_owned();
    let about = about.replace("@PREFIX@", "/usr").replace("${prefix}/lib", &format!("/{lib}"));
    tree.file(format!("{lib}/pkgconfig/wetstring.pc"), about);
    tree.file("usr/include/wetstring.h", read(&source.join("include/wetstring.h"))?);
    let documents = format!("usr/share/doc/{NAME}");
    tree.file(format!("{documents}/copyright"), read(&release.root.join("packaging/copyright"))?);
    for name in ["receive.c", "send.c"] {
        tree.file(format!("{documents}/examples/{name}"), read(&source.join("tests").join(name))?);
    }
    Ok(tree)
}

/// Unpacks the package in an empty directory, builds its example with what its pkg-config file says, and receives a file
/// from lrzsz's `sz` with it.
pub(super) fn attempt(release: &Release, package: &Path, linux: Linux) -> Result<(), String> {
    let here = release.build.join("c-package");
    let say = |e: std::io::Error| format!("{}: {e}", here.display());
    if here.exists() {
        std::fs::remove_dir_all(&here).map_err(say)?;
    }
    std::fs::create_dir_all(&here).map_err(say)?;
    super::said(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&here))?;
    let lib = here.join("usr/lib").join(linux.multiarch);
    let mut asked = Command::new("pkg-config");
    asked.args(["--static", "--cflags", "--libs", "wetstring"]);
    asked.env("PKG_CONFIG_SYSROOT_DIR", &here).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
    let flags = super::said(&mut asked)?;
    let example = format!("usr/share/doc/{NAME}/examples/receive.c");
    let mut gcc = Command::new("gcc");
    gcc.current_dir(&here).arg(example).args(flags.split_whitespace()).args(["-o", "receive"]);
    super::said(&mut gcc)?;
    let original = here.join("usr/include/wetstring.h");
    let got: PathBuf = here.join("got.h");
    let mut both = Command::new("socat");
    let send = format!("EXEC:sz -q {}", original.display());
    both.current_dir(&here).args(["EXEC:./receive got.h", &send]);
    super::said(&mut both)?;
    if read(&got)? != read(&original)? {
        return Err(format!("expected {} as sent, got another", got.display()));
    }
    println!("{NAME}: its example, built from an empty directory, has received a file from sz");
    Ok(())
}
