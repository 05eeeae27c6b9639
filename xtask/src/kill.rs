//! `cargo xtask kill`: the kills of the test kit, as many as wished.

use std::path::{Path, PathBuf};

use wetstring_testkit::kill::{Wanted, run};

use crate::peers;

const USAGE: &str = "expected --kills N, --seed S, --only PROTOCOL, --case NUMBER or --wst PATH";

/// Reads the words of a command line, and the path of the program if it is among them.
fn parse(args: &[String]) -> Result<(Wanted, Option<PathBuf>), String> {
    let (mut kills, mut seed, mut program) = (1000, 1, None);
    let (mut only, mut case) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        let number = || value.parse::<u64>().map_err(|_| USAGE.to_owned());
        match arg.as_str() {
            "--kills" => kills = number()? as usize,
            "--seed" => seed = number()?,
            "--case" => case = Some(number()? as usize),
            "--only" => only = Some(value),
            "--wst" => program = Some(PathBuf::from(value)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let wanted = Wanted::new(kills, seed);
    let wanted = only.map_or(Ok(wanted), |name| wanted.only(name))?;
    Ok((case.map_or(wanted, |number| wanted.case(number)), program))
}

/// Kills the program at `--wst`, or else the release build, which is made.
pub(crate) fn chore(args: &[String]) -> Result<(), String> {
    let (wanted, program) = parse(args)?;
    let program = match program {
        Some(program) => program,
        None => peers::build()?.into(),
    };
    wanted.check(run(Path::new(&program), &wanted)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let read =
            |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let (wanted, program) = read("--kills 3 --only zmodem --wst ./wst").unwrap();
        assert_eq!(program, Some(PathBuf::from("./wst")));
        assert!(wanted.check(3).is_ok() && wanted.check(2).is_err());
        let (wanted, _) = read("--case 7").unwrap();
        assert!(wanted.check(0).is_ok(), "a single case may miss");
        assert!(read("--only xyz").is_err() && read("--kills").is_err() && read("--x 1").is_err());
    }
}
