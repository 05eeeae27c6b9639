//! A second barrier, should the name checks ever fail: Linux's Landlock confines the session's thread to the
//! served directory.

use super::session::Rules;
use std::io;
use std::os::fd::BorrowedFd;

/// Result of confinement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Sandbox {
    /// This thread, and those it starts, cannot open anything outside the root.
    Closed,
    /// They can open what the system's permissions allow; the reason.
    Open(String),
}

/// Confines the calling thread permanently to files below the root.
pub(super) fn enter(root: BorrowedFd<'_>, rules: &Rules) -> Sandbox {
    if rules.host.is_some() || rules.kermit.is_some() {
        return Sandbox::Open("commands of the host are allowed".into());
    }
    // Read once and cached.
    crate::zone::offset_at(0);
    crate::disk::place::umask();
    match bind(root, rules.write) {
        Ok(()) => Sandbox::Closed,
        Err(error) => Sandbox::Open(crate::in_words(&error)),
    }
}

#[cfg(target_os = "linux")]
fn bind(root: BorrowedFd<'_>, writes: bool) -> io::Result<()> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    };
    let missing = || io::Error::other("this kernel has no Landlock, or an old one");
    // A kernel without support for moves between directories would forbid them all.
    let (needed, known) = (AccessFs::from_all(ABI::V2), AccessFs::from_all(ABI::V5));
    let mut allowed = AccessFs::ReadFile | AccessFs::ReadDir;
    if writes {
        allowed |= AccessFs::WriteFile | AccessFs::Truncate;
        allowed |= AccessFs::MakeReg | AccessFs::MakeDir | AccessFs::Refer;
        allowed |= AccessFs::RemoveFile | AccessFs::RemoveDir;
    }
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(needed)
        .map_err(|_| missing())?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(known)
        .and_then(|set| set.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(Ruleset::create)
        .and_then(|set| set.add_rule(PathBeneath::new(root, allowed)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(missing()) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
fn bind(_: BorrowedFd<'_>, _: bool) -> io::Result<()> {
    Err(io::Error::other("only Linux has Landlock"))
}
