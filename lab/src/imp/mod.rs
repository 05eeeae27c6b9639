//! The ARPANET's subnet: IMPs in a row, with a host at each end of it.
//!
//! ```text
//! host A  ==  IMP  --- 50 kb/s ---  IMP  --- ... ---  IMP  ==  host B
//!      leader and text         packets of 1008 bits          reassembly, RFNM
//! ```
//!
//! An element of datagrams: each is a message with its leader, as host and IMP exchange them
//! ([`wetstring_proto::arpanet`]). The IMPs of 1974:
//!
//! * The IMP takes a message bit by bit from its host, and divides it into packets of 1008 bits. A single
//!   packet is sent at once. For several, eight reassembly buffers are requested at the destination, and
//!   meanwhile no more is taken from the host; the RFNM of such a message brings buffers for the next one,
//!   which are returned if it does not come soon (RFC 626).
//! * At most four messages are under way from one IMP to another; with more, the IMP takes no bits (RFC 626).
//! * A packet is forwarded when it is complete; a damaged one is retransmitted after 125 ms, and others may
//!   pass it (RFC 632).
//! * Messages leave in the order in which they came. A single packet that arrives out of order, or finds no
//!   buffer, is dropped and counts as a request for a buffer; it is sent again when that is allocated (RFC 626,
//!   632).
//! * The RFNM is sent when the host has taken the first packet.
//!
//! | parameter | meaning | default | source |
//! |---|---|---|---|
//! | `hops=1` | lines between the hosts' IMPs | 1 | RFC 662 |
//! | `line=50k` | bit/s of a line | 50k | RFC 662 |
//! | `overhead=168` | bits with each packet on a line | 168 | unverified; 100 to 168 are met |
//! | `delay=0s` | of the signal | 0s | 2000 feet: RFC 662 |
//! | `processing=1ms` | of an IMP for each packet | 1ms | 875 kb/s at most: RFC 528 |
//! | `host=100k` | bit/s between host and IMP | 100k | from Heart et al. 1970, table 2: see the tests |
//! | `window=4` | messages from one IMP to another | 4 | RFC 626 |
//! | `buffers=58` | reassembly buffers | 58 | RFC 626 |
//! | `spare=0` | of these, kept for messages of a single packet | 0 | proposed in RFC 626 |
//! | `hold=250ms` | that the source keeps buffers which came with a RFNM | 250ms | unverified |
//! | `asks=yes` | buffers for several packets are asked for; `no` is the net of 1970 | yes | RFC 626 |
//! | `rfnm=first` | sent when the host has taken the first packet, or the `last` | first | Heart et al. 1970 |
//! | `repeat=125ms` | until a damaged packet goes again | 125ms | RFC 632 |
//! | `damage=0%`, `seed=1` | chance that a packet is damaged on a line | 0% | |
//!
//! Acknowledgements between IMPs are piggybacked on packets of the other direction and take no time of their
//! own. Only old leaders are supported; uncontrolled packets and traces are not.

mod experiment;
mod flow;
mod line;
mod messages;
mod model;
mod processes;
mod settings;
mod subnet;
mod typist;

pub use experiment::{Experiment, Report};
pub use messages::{MessageReport, MessageTimes, Messages};
pub use model::{RfnmAt, SubnetModel};
pub use processes::Content;
pub use settings::{Processes, RateOf};
pub use subnet::Subnet;

/// Counters in [`crate::Element::counters`] of the RFNMs that hosts have received, and the time from their
/// sending.
const RFNMS: &str = "rfnms";
const RFNM_NS: &str = "rfnm_ns";

/// Bits of an old leader.
const LEADER_BITS: u64 = 32;
