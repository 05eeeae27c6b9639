//! The console blocks of the README and of `docs/` are run as they stand.
//!
//! `$ ` is a prompt on this host, `there$ ` one on another, `=> ` that of a board. What follows a command is its output,
//! in order and whole: a line of `...` stands for lines that are left out, `...` in a line for text. Of a
//! command without any, only the success is checked. What is behind `   # ` is for the reader. What
//! stands in for devices, hosts and files is in `stand-ins.toml`.
//!
//! | fence | |
//! |---|---|
//! | `console` | by itself, without a terminal: `alone.rs` |
//! | `console,terminal` | by a user at windows of tmux; all such blocks of a page are one session: `session.rs` |
//! | `console,board` | the same, and U-Boot in QEMU is behind the device: `device.rs` |
//! | `console,norun REASON` | not |

mod alone;
mod device;
mod output;
mod pages;
mod session;
mod stage;
mod stand_ins;
mod window;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::{run, wst};
use crate::peers;
use pages::{Block, Kind, blocks, pages, prompt};
use stand_ins::STAND_INS;

/// How many blocks run at once.
const AT_ONCE: usize = 4;

/// What runs together: a block, or the session of a page.
struct Job {
    blocks: Vec<Block>,
}

impl Job {
    fn place(&self) -> String {
        self.blocks[0].place()
    }

    fn is_session(&self) -> bool {
        matches!(self.blocks[0].kind, Kind::Terminal | Kind::Board)
    }

    /// Whether a peer of other people that it needs is missing here, which is said; in CI that is a failure.
    fn lacks_a_peer(&self) -> bool {
        let steps: Vec<_> = self.blocks.iter().flat_map(Block::steps).collect();
        let uses = |word: &str| steps.iter().any(|step| step.command.contains(word));
        let board = self.blocks.iter().any(|block| block.kind == Kind::Board);
        let real_ssh = self.is_session() && uses("ssh ");
        let device = |(word, script): (&String, &String)| script.contains("kermit ") && uses(word);
        let kermit = steps.iter().any(|step| step.command.starts_with("kermit "))
            || STAND_INS.devices.iter().any(device);
        let missing = [
            self.is_session() && peers::peer("tmux", "tmux").is_none(),
            board && !peers::uboot::is_there(),
            real_ssh && peers::sshd::sshd().is_none(),
            kermit && peers::ckermit().is_none(),
            uses("sz ") && peers::lrzsz::lrzsz().is_none(),
            uses("openssl ") && peers::peer("openssl", "openssl").is_none(),
            uses("strace ") && peers::peer("strace", "strace").is_none(),
            uses("ser2net ") && !peers::ser2net::is_there(),
        ];
        missing.contains(&true)
    }

    fn perform(&self) {
        if self.is_session() {
            session::perform(&self.blocks);
        } else {
            alone::perform(&self.blocks[0]);
        }
    }
}

/// The sessions, which take longest, and then the blocks.
fn jobs(all: &[Block]) -> Vec<Job> {
    let mut sessions: Vec<Job> = Vec::new();
    let mut alone = Vec::new();
    for block in all {
        match block.kind {
            Kind::Norun(_) => {}
            Kind::Alone => alone.push(Job { blocks: vec![block.clone()] }),
            Kind::Terminal | Kind::Board => match sessions.last_mut() {
                Some(job) if job.blocks[0].page == block.page => job.blocks.push(block.clone()),
                _ => sessions.push(Job { blocks: vec![block.clone()] }),
            },
        }
    }
    sessions.into_iter().chain(alone).collect()
}

#[test]
fn every_console_block_runs() {
    let all: Vec<Block> = pages().iter().flat_map(|(page, text)| blocks(page, text)).collect();
    let mut marked = Vec::new();
    for block in &all {
        if let Kind::Norun(why) = &block.kind {
            assert!(!why.is_empty(), "{}: a block that is not run needs a reason", block.place());
            marked.push(format!("{}: {why}", block.place()));
        }
    }
    // To look at one page or block.
    let only = std::env::var("WETSTRING_CONSOLE").unwrap_or_default();
    let mut jobs = jobs(&all);
    jobs.retain(|job| job.place().contains(&only));
    let (ran, missing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (left, failed) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    // Most of the time they wait.
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no poison").next();
                    let Some(job) = next else { break };
                    if job.lacks_a_peer() {
                        missing.fetch_add(job.blocks.len(), Relaxed);
                    } else if std::panic::catch_unwind(|| job.perform()).is_ok() {
                        ran.fetch_add(job.blocks.len(), Relaxed);
                    } else {
                        failed.lock().expect("no poison").push(job.place());
                    }
                }
            });
        }
    });
    let (ran, missing) = (ran.into_inner(), missing.into_inner());
    let failed = failed.into_inner().expect("no poison");
    assert!(failed.is_empty(), "these blocks failed, each as said above: {failed:?}");
    eprintln!("{ran} blocks ran; not run:\n{}", marked.join("\n"));
    if only.is_empty() {
        assert_eq!(
            all.len() - ran - marked.len(),
            missing,
            "blocks that are not marked have not run"
        );
        assert!(ran >= 90, "only {ran} blocks ran");
    }
}

/// A command outside of a console block would not be run.
#[test]
fn commands_stand_in_console_blocks() {
    for (page, text) in pages() {
        let fenced = blocks(&page, &text).len();
        for (at, line) in text.lines().enumerate() {
            let bare = line.starts_with("    wst ") || line.starts_with("$ wst ");
            assert!(!bare || fenced > 0 && !line.starts_with(' '), "{page}:{}: {line}", at + 1);
        }
        assert!(!text.contains("```sh\nwst"), "{page}: expected ```console");
    }
}

/// Every command that a page shows, run or not, has a verb and flags that there are.
#[test]
fn commands_in_pages_exist() {
    let mut shown = 0;
    for (page, text) in pages() {
        let all = blocks(&page, &text);
        for line in all.iter().flat_map(|block| &block.lines) {
            let Some((_, command)) = prompt(line) else { continue };
            let Some((_, words)) = command.split_once("wst ").filter(|(head, _)| {
                head.split_whitespace().all(|word| word.starts_with("WETSTRING_"))
            }) else {
                continue;
            };
            shown += 1;
            let words: Vec<&str> = words.split(' ').collect();
            let verb: Vec<&str> = match words[..] {
                [outer @ ("lab" | "users" | "key" | "ncp"), inner, ..] => vec![outer, inner],
                // Short forms of the wrapper; what follows is another program's.
                ["--" | "ssh", ..] => continue,
                // A flag of the program itself.
                [flag, ..] if flag.starts_with("--") => vec![],
                [verb, ..] => vec![verb],
                [] => panic!("{line}"),
            };
            let help = run(wst(verb.iter().copied().chain(["--help"])));
            assert_eq!(help.code(), 0, "{page}: {line}: {}", help.stderr);
            // Of a command in quotes the flags are another program's.
            for flag in words.iter().take_while(|word| !word.starts_with("'exec") && **word != "--")
            {
                let Some(flag) = flag.strip_prefix("--") else { continue };
                let flag = flag.split('=').next().unwrap_or_default();
                assert!(help.stdout.contains(&format!("--{flag}")), "{page}: {line}: --{flag}");
            }
        }
    }
    assert!(shown > 40, "only {shown} commands were found");
}
