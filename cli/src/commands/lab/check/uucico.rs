//! Taylor UUCP's `uucico` with a configuration of its own, called by us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wetstring_drive::in_words;

/// Where Debian has the program.
const UUCICO: &str = "/usr/lib/uucp/uucico";

/// Whether the program is installed.
pub(super) fn is_there() -> bool {
    Path::new(UUCICO).is_file()
}

/// The command of a system that is called and takes files into `dir/pub`.
pub(super) fn called(dir: &Path) -> Result<String, String> {
    let io = |e: std::io::Error| in_words(&e);
    let folders = ["spool", "pub", "log"].map(|name| dir.join(name));
    for folder in &folders {
        fs::create_dir_all(folder).map_err(io)?;
    }
    // The copy is not set-user-id: it uses our configuration. Started as root it becomes the user uucp.
    let copy: PathBuf = dir.join("uucico");
    run("cp", &[UUCICO, &copy.display().to_string()])?;
    run("chmod", &["755", &copy.display().to_string()])?;
    let open = folders.iter().map(|folder| folder.display().to_string());
    let mut args = vec!["777".to_owned(), dir.display().to_string()];
    args.extend(open);
    run("chmod", &args.iter().map(String::as_str).collect::<Vec<_>>())?;
    let at = dir.display();
    let config = format!(
        "nodename theirs\nspool {at}/spool\npubdir {at}/pub\nlockdir {at}\nlogfile {at}/log/Log\n\
         statfile {at}/log/Stats\ndebugfile {at}/log/Debug\nsysfile {at}/sys\nportfile {at}/port\n\
         dialfile {at}/nothing\ncallfile {at}/nothing\npasswdfile {at}/nothing\n"
    );
    let system = "system wetstring\ncall-login *\ncall-password *\ntime any\nport p\nchat \"\"\n\
                  protocol g\nlocal-send /\nremote-send /\nlocal-receive /\nremote-receive ~\n";
    for (name, text) in
        [("config", &*config), ("sys", system), ("port", "port p\ntype stdin\n"), ("nothing", "")]
    {
        fs::write(dir.join(name), text).map_err(io)?;
    }
    Ok(format!("./uucico -I {at}/config -p p"))
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let done = Command::new(program).args(args).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {}: {status}", args.join(" "))),
        Err(error) => Err(format!("{program}: {}", in_words(&error))),
    }
}
