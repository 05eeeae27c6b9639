//! The packages on a bare Debian: they install, the program runs, and nothing is left when they are gone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Where dpkg and apt keep their own account of what happened.
const ACCOUNTS: &[&str] = &["/var/lib/dpkg/", "/var/log/", "/var/cache/"];

/// Installs the package of the program and that of lrzsz's names into a copy of the Debian at `bare`, which is made if
/// there is none, and removes them.
pub(super) fn run(bare: &Path, program: &Path, links: &Path) -> Result<(), String> {
    if !bare.join("var/lib/dpkg/status").exists() {
        let bare = bare.display().to_string();
        // lrzsz is there to be replaced.
        let make = ["--variant=essential", "--include=lrzsz", "bookworm", &bare];
        command(as_root("mmdebstrap").arg("--quiet").args(make))?;
    }
    let copy = bare.with_extension("copy");
    command(as_root("rm").arg("-rf").arg(&copy))?;
    command(as_root("cp").arg("--archive").args([bare, &copy]))?;
    attempt(&copy, program, links)?;
    command(as_root("rm").arg("-rf").arg(&copy)).map(drop)
}

fn attempt(root: &Path, program: &Path, links: &Path) -> Result<(), String> {
    let before = files(root)?;
    let of_lrzsz = inside(root, &["dpkg", "--listfiles", "lrzsz"])?;
    install(root, program)?;
    for (args, expected) in [
        (&["wst", "--version", "--verbose"][..], "features: none"),
        (&["wst", "demo", "--faster", "100000"], "Equal: "),
    ] {
        says(root, args, expected)?;
    }
    // Takes the place of lrzsz, which is there.
    install(root, links)?;
    says(root, &["sz", "--version"], "sz (wetstring)")?;
    let wrong = inside(root, &["dpkg", "--verify", "wetstring", "wetstring-lrzsz"])?;
    if !wrong.is_empty() {
        return Err(format!("expected the files as they were packed, dpkg says\n{wrong}"));
    }
    inside(root, &["dpkg", "--purge", "wetstring-lrzsz", "wetstring"])?;
    let after = files(root)?;
    let left: Vec<&String> = after.difference(&before).collect();
    let lost: Vec<&String> =
        before.difference(&after).filter(|path| !of_lrzsz.lines().any(|of| of == *path)).collect();
    if !left.is_empty() || !lost.is_empty() {
        return Err(format!("expected the packages to be gone; left: {left:?}, lost: {lost:?}"));
    }
    println!("packages: installed, run and removed on a bare Debian of {} files", before.len());
    Ok(())
}

/// The program of these arguments succeeds and says this.
fn says(root: &Path, args: &[&str], expected: &str) -> Result<(), String> {
    let said = inside(root, args)?;
    if said.contains(expected) {
        return Ok(());
    }
    Err(format!("expected {args:?} to say {expected:?}, got {said}"))
}

/// Every path below the root but the accounts, from there.
fn files(root: &Path) -> Result<BTreeSet<String>, String> {
    fn walk(root: &Path, dir: &Path, found: &mut BTreeSet<String>) -> std::io::Result<()> {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap_or(&path).display();
            let name = format!("/{name}");
            let is_dir = entry.file_type()?.is_dir();
            let whole = if is_dir { format!("{name}/") } else { name.clone() };
            if ACCOUNTS.contains(&whole.as_str()) || name == "/proc" || name == "/sys" {
                continue;
            }
            found.insert(name);
            if is_dir {
                walk(root, &path, found)?;
            }
        }
        Ok(())
    }
    let mut found = BTreeSet::new();
    walk(root, root, &mut found).map_err(|e| format!("{}: {e}", root.display()))?;
    Ok(found)
}

/// Copies a package into the root, and installs it with what it takes the place of.
fn install(root: &Path, package: &Path) -> Result<(), String> {
    let inner = root.join("tmp/package.deb");
    command(as_root("cp").arg(package).arg(&inner))?;
    let done = inside(root, &["dpkg", "--install", "/tmp/package.deb"]);
    command(as_root("rm").arg(&inner))?;
    done.map(drop)
}

fn inside(root: &Path, args: &[&str]) -> Result<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let path = format!("PATH={path}");
    command(as_root("chroot").arg(root).args(["env", "-i", &path, "LC_ALL=C"]).args(args))
}

/// A command that only root may run.
fn as_root(program: &str) -> Command {
    let id = Command::new("id").arg("-u").output();
    if id.is_ok_and(|id| id.stdout == b"0\n") {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.arg(program);
    sudo
}

/// Runs a command to its end, and returns what it wrote to stdout, then to stderr.
fn command(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(format!("{command:?}: {}\n{said}", output.status))
}
