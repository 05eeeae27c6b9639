//! `cargo xtask ci [STEP...]`: what CI runs, or the steps that are named, and how long each took.
//!
//! What fails soon comes first; a few steps run only if they are named. Two long builds take what processor the tests leave.
//! `.ci/run` installs what a bare machine lacks and calls this.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A step of CI.
struct Step {
    name: &'static str,
    /// In the environment of its commands.
    env: &'static [(&'static str, &'static str)],
    /// Arguments of `cargo`, for each command.
    commands: &'static [&'static str],
}

const PEERS: (&str, &str) = ("WETSTRING_REQUIRE_PEERS", "1");
const WINE: (&str, &str) = ("WETSTRING_WINE", "1");
/// Most tests of the program wait for lines: on two cores five at once take half the time of two.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "5");

const STEPS: &[Step] = &[
    Step { name: "fmt", env: &[], commands: &["fmt --all --check"] },
    Step { name: "licences", env: &[], commands: &["xtask deny"] },
    Step {
        name: "bare-metal",
        env: &[],
        commands: &["build -p wetstring-proto --target thumbv6m-none-eabi --locked"],
    },
    Step {
        name: "wasm",
        env: &[],
        commands: &["build -p wetstring-proto --target wasm32-unknown-unknown --locked"],
    },
    Step {
        name: "clippy",
        env: &[],
        // With all features. The program without object storage is looked at for Windows; the test that it says so is compiled only.
        commands: &[
            "clippy --workspace --all-targets --locked --features xtask/api,xtask/packages,wetstring/objects -- -D warnings",
        ],
    },
    Step {
        name: "docs",
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        commands: &["doc --workspace --no-deps --locked --features wetstring/objects"],
    },
    Step { name: "book", env: &[], commands: &["xtask book"] },
    // One build for all that follows: what is built for one package alone has other features, and lasts as long again.
    Step { name: "build", env: &[], commands: &["test --workspace --locked --no-run"] },
    // Programs for shells of other processors, each run under qemu-user; the tests need that of this machine.
    Step { name: "mini", env: &[], commands: &["xtask mini --run"] },
    Step {
        name: "test",
        env: &[PEERS, THREADS],
        commands: &["test --workspace --locked --no-fail-fast"],
    },
    Step {
        name: "objects",
        env: &[PEERS],
        commands: &[
            "test -p wetstring -p wetstring-objects --locked --features wetstring/objects --test tree --test objects",
        ],
    },
    // The crate of the protocols for others: each feature alone, its example; its interface, and the oldest compiler. Its front page
    // and its loops are tested with the rest.
    Step {
        name: "library",
        env: &[PEERS],
        commands: &[
            "check -p wetstring-proto --locked --no-default-features --target thumbv6m-none-eabi",
            "check -p wetstring-proto --locked --no-default-features --features kermit --target thumbv6m-none-eabi",
            "check -p wetstring-proto --locked --no-default-features --features tiny --target thumbv6m-none-eabi",
            "check -p wetstring-proto --locked --no-default-features --features zmodem,std --example xyz",
            "xtask api",
        ],
    },
    Step {
        name: "c",
        env: &[PEERS],
        commands: &["fmt --manifest-path capi/Cargo.toml --check", "xtask capi"],
    },
    Step {
        name: "boot",
        env: &[PEERS],
        commands: &["fmt --manifest-path boot/Cargo.toml --check", "xtask boot"],
    },
    // The package for Python, with the program that the tests have built as a peer.
    Step {
        name: "python",
        env: &[PEERS],
        commands: &["fmt --manifest-path python/Cargo.toml --check", "xtask python"],
    },
    // The package for browsers, the page in the program, and both in Chromium.
    Step {
        name: "web",
        env: &[],
        commands: &[
            "xtask web build",
            // With the features of the whole workspace, of which all else is built already: a test of the program brings it along.
            "test --workspace --locked --features wetstring/web --test wine --no-run",
            "xtask web test",
        ],
    },
    // The program of Windows and the tests of what asks something of the system, under Wine.
    Step {
        name: "windows",
        env: &[
            PEERS,
            THREADS,
            WINE,
            ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", ".ci/wine"),
            // Clippy looks at what the program is made of; of its tests the compiler's own warnings are enough.
            ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS", "-D warnings"),
        ],
        commands: &[
            // The program and the tests in one build; its own tests run here, and are empty there.
            "test -p wetstring -p wetstring-script -p wetstring-drive --lib --test all --test disk --test ports --test shell --test signals --test zone --locked --target x86_64-pc-windows-gnu --no-run",
            "test --workspace --locked --test wine",
            "clippy -p wetstring --locked --target x86_64-pc-windows-gnu -- -D warnings",
            "test -p wetstring -p wetstring-script -p wetstring-drive --lib --test all --test disk --test ports --test shell --test signals --test zone --locked --target x86_64-pc-windows-gnu --no-fail-fast",
        ],
    },
    Step {
        name: "freebsd",
        env: &[],
        commands: &["check -p wetstring --locked --target x86_64-unknown-freebsd"],
    },
    // ring has C, for which Apple's compiler would be asked, with flags that only that one has.
    Step {
        name: "macos",
        env: &[
            ("CC_aarch64_apple_darwin", "python-zig cc -target aarch64-macos"),
            ("CRATE_CC_NO_DEFAULTS", "1"),
        ],
        commands: &["check -p wetstring --locked --target aarch64-apple-darwin"],
    },
];

/// They take the processor that the tests of [`STEPS`] leave, in folders of their own: a second `cargo xtask ci`, when nothing else runs.
const BESIDE: &[Step] = &[
    // All that is made for one target, how large it is, and the Debian packages where nothing else is installed.
    Step {
        name: "packages",
        env: &[],
        commands: &[
            "test -p xtask --locked --features packages dist::",
            "run --quiet -p xtask --locked --features packages -- dist x86_64-unknown-linux-musl --bare target/bare",
        ],
    },
    Step { name: "demo", env: &[], commands: &["run --release --locked -- demo"] },
];

/// With the release that has been built beside.
const LAST: &[Step] = &[
    Step { name: "tables", env: &[], commands: &["xtask audit"] },
    Step { name: "pictures", env: &[], commands: &["xtask docs --check"] },
];

/// Those that run only if they are named.
const NAMED: &[Step] = &[
    // The engines and the laboratory under Wine: they ask nothing of the system, and take minutes to build.
    Step {
        name: "windows-engines",
        env: &[THREADS, ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", ".ci/wine")],
        commands: &[
            "test -p wetstring-proto -p wetstring-lab --lib --locked --target x86_64-pc-windows-gnu",
            "test -p wetstring-proto --tests --locked --target x86_64-pc-windows-gnu",
        ],
    },
];

/// A name, and how long it took.
type Timed = (&'static str, Duration);

/// What has been done.
#[derive(Default)]
struct Report {
    /// Of each step, and of its commands if it has several.
    times: Vec<(Timed, Vec<Timed>)>,
    /// cargo's lines of what it tested, and what came of it.
    tests: Vec<String>,
    /// What the tests that failed said.
    failures: Failures,
    /// What runs beside.
    beside: Option<Beside>,
}

/// Runs the steps of these names, or all.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<(), String> {
    let mut report = Report::default();
    let began = Instant::now();
    let result = if names.is_empty() {
        all(root, &mut report)
    } else {
        steps(root, chosen(names)?, &mut report)
    };
    print!("{}", report.text(began.elapsed()));
    result
}

fn all(root: &Path, report: &mut Report) -> Result<(), String> {
    let (before, tests) =
        STEPS.split_at(STEPS.iter().take_while(|step| step.name != "test").count());
    steps(root, before, report)?;
    report.beside = Some(Beside::start(root)?);
    let result = steps(root, tests, report);
    let began = Instant::now();
    if let Some(beside) = report.beside.take() {
        if result.is_err() {
            beside.signal("KILL");
        }
        let done = beside.finish();
        report.times.push((("waiting for what ran beside", began.elapsed()), Vec::new()));
        result.and(done)?;
    }
    steps(root, LAST, report)
}

/// Runs these, one after another, up to the first that fails.
fn steps<'a>(
    root: &Path,
    steps: impl IntoIterator<Item = &'a Step>,
    report: &mut Report,
) -> Result<(), String> {
    steps.into_iter().try_for_each(|step| {
        let began = Instant::now();
        let mut commands = Vec::new();
        let result = step.commands.iter().try_for_each(|command| {
            println!("\n== {}: cargo {command}", step.name);
            let began = Instant::now();
            let done = cargo(root, step, command, report);
            commands.push((*command, began.elapsed()));
            done
        });
        report.times.push(((step.name, began.elapsed()), commands));
        result
    })
}

/// The steps of [`BESIDE`], in a process of their own, which leads a group.
struct Beside {
    process: Child,
    log: PathBuf,
}

impl Beside {
    fn start(root: &Path) -> Result<Self, String> {
        let log = root.join("target/ci-beside.log");
        let failed = |e: std::io::Error| format!("{}: {e}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut idle = Command::new("chrt");
        idle.args(["--idle", "0"]).arg(program).arg("ci").args(BESIDE.iter().map(|step| step.name));
        idle.current_dir(root).stderr(output.try_clone().map_err(failed)?).stdout(output);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut idle, 0);
        let process = idle.spawn().map_err(|e| format!("chrt: {e}"))?;
        Ok(Self { process, log })
    }

    /// Waits for it, and shows what it printed.
    fn finish(mut self) -> Result<(), String> {
        let status = self.process.wait().map_err(|e| format!("what ran beside: {e}"))?;
        let text = std::fs::read(&self.log).unwrap_or_default();
        println!("\n== beside the tests\n{}", String::from_utf8_lossy(&text));
        if status.success() { Ok(()) } else { Err("a step beside the tests failed".to_owned()) }
    }

    /// Sends a signal to all of it.
    fn signal(&self, name: &str) {
        // It may have ended.
        let kill = format!("kill -s {name} -- -{}", self.process.id());
        let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
    }

    /// Tests that measure times have the machine alone: `running` is a line that names a test program.
    fn make_way(&self, running: &str) {
        self.signal(if running.contains(" tests/timed.rs ") { "STOP" } else { "CONT" });
    }
}

/// Every step there is, in the order in which they are shown.
fn every() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().chain(BESIDE).chain(LAST).chain(NAMED)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Step>, String> {
    let find = |name: &String| {
        every().find(|step| step.name == name).ok_or_else(|| {
            let all: Vec<&str> = every().map(|step| step.name).collect();
            format!("expected steps of CI ({}), got {name}", all.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Runs one command of a step; its output is shown, and its results are kept.
fn cargo(root: &Path, step: &Step, command: &str, report: &mut Report) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", step.name);
    let mut cargo = crate::building::cargo();
    cargo.current_dir(root).args(command.split(' ')).envs(step.env.iter().copied());
    let before = report.tests.len();
    let status = if command.starts_with("test ") {
        let (said, into) = std::io::pipe().map_err(failed)?;
        cargo.stdout(into.try_clone().map_err(failed)?).stderr(into);
        let mut child = cargo.spawn().map_err(failed)?;
        // The command holds the ends for writing.
        drop(cargo);
        for line in BufReader::new(said).split(b'\n') {
            let mut line = line.map_err(failed)?;
            report.failures.take(&String::from_utf8_lossy(&line));
            if let Some(line) = of_a_result(&String::from_utf8_lossy(&line)) {
                if let Some(beside) = report.beside.as_ref().filter(|_| line.contains(" Running "))
                {
                    beside.make_way(&line);
                }
                report.tests.push(line);
            }
            line.push(b'\n');
            std::io::stdout().write_all(&line).map_err(failed)?;
        }
        child.wait().map_err(failed)?
    } else {
        cargo.status().map_err(failed)?
    };
    if !status.success() {
        return Err(format!("step {} of CI failed: cargo {command}", step.name));
    }
    let only_built = command.ends_with(" --no-run");
    if command.starts_with("test ") && !only_built && passed(&report.tests[before..]) == 0 {
        return Err(format!("expected step {} of CI to run a test, it ran none", step.name));
    }
    Ok(())
}

/// A line of `cargo test` that names a test program, or its result.
fn of_a_result(line: &str) -> Option<String> {
    let begins = ["     Running ", "   Doc-tests ", "test result: "];
    begins.iter().any(|begin| line.starts_with(begin)).then(|| line.to_owned())
}

/// How many tests have passed, by these lines.
fn passed(lines: &[String]) -> u64 {
    let number = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|word| *word == "passed;")?;
        words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
    };
    lines.iter().filter_map(number).sum()
}

/// What `cargo test` prints between `failures:` and the result of a test program.
#[derive(Default)]
struct Failures {
    lines: Vec<String>,
    inside: bool,
}

impl Failures {
    /// Of one failure there may be a whole transcript.
    const MOST: usize = 400;

    fn take(&mut self, line: &str) {
        self.inside = (self.inside || line == "failures:") && !line.starts_with("test result: ");
        if self.inside && self.lines.len() < Self::MOST {
            self.lines.push(line.to_owned());
        }
    }
}

impl Report {
    /// The report at the end: where the time of the tests went, that of the steps, and what failed.
    fn text(&self, all: Duration) -> String {
        let mut text = String::new();
        if !self.tests.is_empty() {
            let _ = writeln!(text, "\n== tests\n{}", self.tests.join("\n"));
        }
        let _ = writeln!(text, "\n== {:.0} s", all.as_secs_f64());
        for ((name, time), commands) in &self.times {
            let _ = writeln!(text, "{:5.0} s  {name}", time.as_secs_f64());
            for (command, time) in commands.iter().filter(|_| commands.len() > 1) {
                let _ = writeln!(text, "{:11.0} s  cargo {command}", time.as_secs_f64());
            }
        }
        if !self.failures.lines.is_empty() {
            let _ = writeln!(text, "\n== failed\n{}", self.failures.lines.join("\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["tables", "fmt"]), Ok(vec!["tables", "fmt"]));
        let wrong = names(&["fmt", "format"]).unwrap_err();
        assert!(wrong.starts_with("expected steps of CI (fmt, licences,"), "{wrong}");
        assert!(wrong.ends_with("got format"), "{wrong}");
    }

    #[test]
    fn results_are_found_and_counted() {
        let said = "   Compiling xtask v0.1.0\n     Running tests/all.rs (target/debug/deps/all-1)\n\
                    test a ... ok\ntest result: ok. 12 passed; 0 failed; 0 ignored; finished in 0.40s\n   \
                    Doc-tests wetstring\ntest result: ok. 3 passed; 0 failed; 0 ignored";
        let found: Vec<String> = said.lines().filter_map(of_a_result).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(passed(&found), 15);
        assert_eq!(passed(&["test result: ok. 0 passed; 0 failed".to_owned()]), 0);
        let [one, minute] = [1, 60].map(Duration::from_secs);
        let times = vec![
            (("fmt", one), vec![("fmt", one)]),
            (("test", one + minute), vec![("test a", one), ("test b", minute)]),
        ];
        let report = Report { times, tests: found, ..Report::default() };
        let text = report.text(Duration::from_secs(62));
        assert!(text.contains("test result: ok. 12 passed; 0 failed"), "{text}");
        assert!(text.ends_with(
                "\n== 62 s\n    1 s  fmt\n   61 s  test\n          1 s  cargo test a\n         60 s  cargo test b\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn what_failed_is_said_last() {
        let said = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\nexpected 1, got 2\n\nfailures:\n    a\n\n\
                    test result: FAILED. 1 passed; 1 failed\ntest b ... ok";
        let mut report = Report::default();
        said.lines().for_each(|line| report.failures.take(line));
        let text = report.text(Duration::from_secs(1));
        let expected = "\n== failed\nfailures:\n\n---- a stdout ----\nexpected 1, got 2\n\nfailures:\n    a\n\n";
        assert!(text.ends_with(expected), "{text}");
        let long = std::iter::once("failures:").chain(std::iter::repeat_n("more", 1000));
        long.for_each(|line| report.failures.take(line));
        assert_eq!(report.failures.lines.len(), Failures::MOST);
    }
}
