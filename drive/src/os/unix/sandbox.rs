//! Landlock, which confines a thread to files below a directory.

use std::io;
use std::os::fd::BorrowedFd;

/// Confines the calling thread permanently, to reading unless it `writes`.
#[cfg(target_os = "linux")]
pub(crate) fn bind(root: BorrowedFd<'_>, writes: bool) -> io::Result<()> {
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

/// This system has no equivalent.
#[cfg(not(target_os = "linux"))]
pub(crate) fn bind(_: BorrowedFd<'_>, _: bool) -> io::Result<()> {
    Err(io::Error::other("only Linux has Landlock"))
}
