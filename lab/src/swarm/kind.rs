//! Everything that the swarm tests: the protocols of serial lines, and those of datagrams and of the ARPANET's
//! hosts, each with its own kind of run.

use super::alone::{is_fooled, most};
use super::{Failed, Fault, Run, Swarm, ncp, netblt, slip};
use crate::scenario::Protocol;
use crate::trace::Recorder;
use wetstring_proto::registry::WeakCheck;

/// What a seed tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A protocol of serial lines.
    Serial(Protocol),
    /// NETBLT over a path of datagrams.
    Netblt,
    /// Files by FTP between two hosts of the ARPANET.
    Ncp,
    /// TCP connections and other packets over SLIP with its header compression.
    Slip,
}

impl Kind {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Netblt, Self::Ncp, Self::Slip];
        Protocol::of_bytes().map(Self::Serial).chain(others)
    }

    /// The kind of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial(protocol) => protocol.name,
            Self::Netblt => "netblt",
            Self::Ncp => "ncp",
            Self::Slip => "slip",
        }
    }

    /// Runs one seed, with its trace.
    pub fn one(self, seed: u64, recorder: &mut Recorder) -> Result<Run, Box<Failed>> {
        match self {
            Self::Serial(protocol) => {
                Swarm::of(protocol).one(seed, recorder).map(|report| Run::from(&report))
            }
            Self::Netblt => netblt::one(seed, recorder),
            Self::Ncp => ncp::one(seed, recorder),
            Self::Slip => slip::one(seed, recorder),
        }
    }

    /// The normalised digest of one seed (see [`crate::digest`]): the bytes on the wire and their times, the
    /// outcome of each end, and the result of the run.
    pub fn digest(self, seed: u64) -> u64 {
        let mut recorder = Recorder::off();
        let ran = self.one(seed, &mut recorder);
        let wire = recorder.wire();
        match ran {
            Ok(Run { done, hits, retransmissions, .. }) => {
                wire.note(&format!("done={done} hits={hits} retransmissions={retransmissions}"));
            }
            Err(failed) => wire.note(match failed.fault {
                Fault::FalseSuccess(_) | Fault::Fooled(_) => "false-success",
                Fault::BrokenStore => "broken-store",
                Fault::Lost(_) => "lost",
                Fault::Panic(_) => "panic",
                Fault::NoEnd(_) => "no-end",
            }),
        }
        wire.digest()
    }

    /// The check by which files are called whole where no digest is compared, if damage may pass it.
    fn weak_check(self) -> Option<WeakCheck> {
        match self {
            Self::Serial(protocol) => protocol.weak_check,
            // NETBLT has a digest, and the ARPANET's lines are checked below NCP.
            Self::Netblt | Self::Ncp | Self::Slip => None,
        }
    }

    /// Whether damage may pass its check.
    pub fn may_miss_damage(self) -> bool {
        self.weak_check().is_some()
    }

    /// Whether the check of the protocol, alone on the line of this seed, would let a wrong file through.
    pub fn is_alone_fooled(self, seed: u64) -> bool {
        let (Self::Serial(protocol), Some(check)) = (self, self.weak_check()) else { return false };
        let (line, files) = Swarm::of(protocol).picked(seed);
        is_fooled(&check, seed, &line, &files)
    }

    /// The maximum of fooled seeds, if `alone` of them are fooled by the check alone.
    pub fn may_be_fooled(self, seeds: u64, alone: u64) -> u64 {
        match (self, self.weak_check()) {
            (_, Some(_)) => most(alone),
            // TCP's checksum misses two flipped bits of one column, and a noisy line flips two in many packets.
            (Self::Slip, None) => seeds.div_ceil(100),
            _ => 0,
        }
    }
}
