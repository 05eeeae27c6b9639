//! What is concluded from what arrived under an offer, and what is offered next.

use super::{
    FASTEST, FEWEST_PACKETS, LONG_LOOK, MANY_PACKETS, ONE, Path, SHORTEST_LOOK, mpps, part, share,
};

/// A queue that is as short as this does not stand: timers are no finer.
const SHORT_QUEUE: u64 = 3_000_000;
/// Where more than this is lost at first, it is seen whether less is lost of less.
const FIRST_LOSS: u64 = ONE / 12;
/// Judgements for which a rate that lost more stays out of reach.
const CAREFUL: u8 = 16;
/// Judgements without a queue that fall in a row when it is that of others.
const STUCK: u32 = 5;
/// What a queue counts that stands though less is sent than the bottleneck carries, and from which
/// sum on it is that of others; a judgement without one takes one off.
const SIGN: u32 = 4;
const SIGNS: u32 = 10;
/// Round trips that a judgement needs for that: where there are few, a late one looks like a queue.
const SURE: u32 = 4;
/// Judgements without a queue in a row until it is tried whether those others have gone, and until more
/// of that is tried.
const GONE: u8 = 8;
const MORE_GONE: u8 = 2;
/// What is taken beside others, in sixteenths of the bottleneck: without a queue, and at the longest queue.
const HALF: u64 = 8;
const LEAST: u64 = 2;
/// Judgements that lose all the same, until less than that is taken.
const TOO_MANY: u8 = 8;
/// Every so many judgements at what bursts say, a little more is tried.
const TRY_MORE: u32 = 8;

/// What was seen under an offer, and the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    /// Burst values.
    pub(crate) offer: (u16, u16),
    /// What passed the bottleneck, in thousandths of packets per second.
    pub(crate) passed: u64,
    /// How long packets waited at least, in nanoseconds.
    pub(crate) queue_ns: u64,
    /// What was lost, in parts.
    pub(crate) lost: u64,
}

/// What is done about loss that is more than usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Loss {
    /// Nothing.
    #[default]
    Usual,
    /// Less is sent, to see whether less is lost: what was sent before, and what of it was lost.
    Less { before: u64, lost: u64 },
    /// Less was lost of less. Now as much is sent as before: is as much lost again?
    Again { less: u64 },
    /// The bottleneck was full: no more is tried for so many judgements.
    Careful(u8),
}

/// Queues that others make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Others {
    /// Judgements in a row that found the queue as long as before, though less was sent.
    stuck: u32,
    last_queue: u64,
    /// See [`SIGNS`].
    signs: u32,
    /// What passed when the queue began to stand.
    before: u64,
    /// They fill the queue: this end keeps to its share.
    compete: bool,
    /// Judgements in a row without a queue since then.
    calm: u8,
    /// What is taken without a queue, in sixteenths.
    most: u64,
    /// How often the least was halved, and judgements in a row that lost.
    halved: u32,
    lost: u8,
    /// The longest queue of this period and of the one before.
    longest: [u64; 2],
}

impl Default for Others {
    fn default() -> Self {
        let (stuck, last_queue, signs, before) = (0, 0, 0, 0);
        let (calm, halved, lost, longest) = (0, 0, 0, [0; 2]);
        let (compete, most) = (false, HALF);
        Self { stuck, last_queue, signs, before, compete, calm, most, halved, lost, longest }
    }
}

impl Others {
    /// Whether this end keeps to its share.
    pub(super) fn is_beside(&self) -> bool {
        self.compete
    }

    /// Another period begins: queues before the last one are forgotten.
    pub(super) fn next_period(&mut self) {
        self.longest = [0, self.longest[0]];
    }

    /// A judgement at a rate that the bottleneck carries found a queue, or none.
    fn sign(&mut self, stands: bool) {
        self.signs = if stands { self.signs + SIGN } else { self.signs.saturating_sub(1) };
    }

    /// A judgement beside them. False if they have gone.
    fn look(&mut self, queue: u64, allowed: u64, losing: bool) -> bool {
        self.longest[0] = self.longest[0].max(queue);
        if queue > allowed || losing {
            (self.calm, self.most) = (0, HALF);
        } else {
            self.calm += 1;
            if self.calm >= if self.most > HALF { MORE_GONE } else { GONE } {
                self.calm = 0;
                self.most = 2 * self.most - HALF + 1;
            }
        }
        self.lost = if losing { self.lost + 1 } else { 0 };
        if self.lost >= TOO_MANY {
            (self.halved, self.lost) = ((self.halved + 1).min(6), 0);
        } else if !losing && queue <= allowed {
            self.halved = self.halved.saturating_sub(1);
        }
        self.most < 2 * HALF
    }

    /// What to take of a bottleneck that carries `full`: the less, the longer the queue is. All that
    /// see this queue take as much.
    fn aim(&self, full: u64, queue: u64, allowed: u64) -> u64 {
        let (most, least) = (full * self.most / 16, (full * LEAST / 16) >> self.halved);
        let longest = self.longest[0].max(self.longest[1]).max(2 * allowed);
        let long = share(queue.saturating_sub(allowed), longest - allowed).min(ONE);
        most - part(most - least, long)
    }
}

/// A judgement's numbers.
#[derive(Clone, Copy, Debug)]
struct Found {
    queue: u64,
    /// It was not waited until there were many packets: as soon as none was missing.
    early: bool,
    /// It has become shorter meanwhile: less is sent than the bottleneck carries.
    falls: bool,
    /// What passed the bottleneck.
    passed: u64,
    lost: u64,
    packets: u64,
    /// Round trips that were measured.
    trips: u32,
    /// Until the next offer is judged, about.
    horizon: u64,
}

impl Path {
    /// The queue that does not yet stand, as so many round trips show it.
    fn queue_allowed(&self, trips: u32) -> u64 {
        let base = self.base[0].min(self.base[1]);
        let packet = 1_000_000_000_000 / self.offered.max(1);
        // An acknowledgement waits for a burst; of many one waits least.
        let wait = 1_500_000 * self.values.interval_ms() * u64::from(SURE) / trips.max(SURE) as u64;
        (base / 16).max(SHORT_QUEUE).max(wait).max(4 * packet)
    }

    /// Whether much less is offered than bursts say that the bottleneck carries, though nothing spoke against it
    /// yet: a host that was busy when the first burst came.
    fn is_slow(&self) -> bool {
        let most = self.spread.rate().map_or(0, |most| most.max(self.opening));
        self.opening > 0 && self.handling == Loss::Usual && most > self.offered + self.offered / 4
    }

    /// Judges what has arrived under the last offer, if that is enough, and makes another.
    pub(crate) fn judge(&mut self) -> Option<Judgement> {
        let look = self.look?;
        let time = look.last.saturating_sub(look.since);
        let least = SHORTEST_LOOK.max(self.srtt / 2).max(8_000_000 * self.values.interval_ms());
        // Where nearly nothing arrives it is judged all the same.
        let many = look.arrived >= MANY_PACKETS || time >= LONG_LOOK;
        let base = self.base[0].min(self.base[1]);
        let queue = look.rtt.map_or(u64::MAX, |rtt| rtt.saturating_sub(base));
        // Where bursts say that there is much more room, and nothing says that there is not.
        let early = !many
            && self.is_slow()
            && look.went == look.fresh
            && queue <= self.queue_allowed(look.trips);
        let enough = look.arrived >= FEWEST_PACKETS && (many || early);
        let enough = enough || time > (8 * least).max(LONG_LOOK);
        look.rtt.filter(|_| time >= least && enough)?;
        self.judged = true;
        // Those that were lost behind the bottleneck have passed it. Of what is sent again only what
        // arrives is seen.
        let again = look.arrived.saturating_sub(look.fresh);
        let again = again * ONE / (ONE - self.loss).max(ONE / 4);
        let lost = share(look.went.saturating_sub(look.fresh), look.went.max(1)).min(ONE);
        let found = Found {
            queue,
            early,
            falls: look.last_rtt.saturating_sub(base) * 8 < look.first_rtt.saturating_sub(base) * 7,
            passed: mpps(look.went + again, time.saturating_sub(look.idle)),
            lost,
            packets: look.went,
            trips: look.trips,
            horizon: look.last.saturating_sub(self.decided).max(time) + self.srtt,
        };
        let next = self.decide(&found);
        self.offer(next);
        let offer = self.say();
        let Found { queue: queue_ns, passed, lost, .. } = found;
        Some(Judgement { offer, passed, queue_ns, lost })
    }

    /// What to offer next.
    fn decide(&mut self, found: &Found) -> u64 {
        let sent = self.offered;
        let allowed = self.queue_allowed(found.trips);
        let step = share(allowed, found.horizon.max(1)).clamp(ONE / 100, ONE / 4);
        // Where packets did not wait none was lost for want of room, unless it is very many.
        let waited = self.has_waited(found) || found.lost > self.loss + ONE / 4;
        let more = found.lost > self.loss + self.doubt(found.packets);
        // Of what is lost at first nobody knows whether it is by chance: others may have been here before.
        let losing = more && if self.loss_known { waited } else { found.lost > FIRST_LOSS };
        if found.queue > allowed || losing || self.others.compete {
            self.opening = 0;
        }
        if self.others.compete {
            return self.share_with_others(found, losing, allowed);
        }
        if let Some(most) = self.spread.rate().filter(|most| found.trips >= SURE && sent <= *most) {
            // A queue that stands while all of the bottleneck is ours is ours.
            let lost = if more { found.lost - self.loss } else { 0 };
            let ours = part(found.passed, ONE - lost);
            let stands = found.queue > allowed;
            if !stands || (ours < most - most / 64 && !found.falls) {
                self.others.sign(stands);
            }
        }
        if found.queue <= allowed {
            self.others.stuck = 0;
        }
        if found.queue > allowed {
            return self.shorten(found, losing);
        }
        self.others.last_queue = found.queue;
        if let Some(next) = self.consider_loss(losing, found) {
            return next;
        }
        if found.passed < part(sent, ONE * 17 / 20) {
            // The sender does not send as much as it may: nothing is learned from that.
            self.rooms = 0;
            return sent;
        }
        self.grow(found, step)
    }

    /// There is room: more is offered, the more the longer there has been, up to what bursts say
    /// that the bottleneck carries.
    fn grow(&mut self, found: &Found, step: u64) -> u64 {
        let sent = self.offered;
        let known = self.capacity.unwrap_or(found.passed).max(found.passed.min(sent));
        self.capacity = Some(known);
        let most = self.spread.rate().map_or(FASTEST, |most| most.max(self.opening));
        if sent >= most - most / 64 {
            self.rooms += 1;
            let more = if self.rooms.is_multiple_of(TRY_MORE) { most / 64 } else { 0 };
            return most - most / 256 + more;
        }
        if most == FASTEST && sent > known + known / 32 && found.passed <= known {
            // More is sent than arrives: it is full, and the queue has begun to grow.
            self.rooms = 0;
            return known - known / 64;
        }
        let step = (step.min(ONE / 16) << self.rooms.min(4)).min(ONE / 2);
        let step = if found.early && sent < most / 2 { ONE / 2 } else { step };
        self.rooms += 1;
        let from = if self.rooms == 1 { known.max(sent) } else { sent };
        (from + part(from, step)).min(most - most / 256)
    }

    /// Others fill the queue, whatever is sent here: half of what the bottleneck carries is taken without a
    /// queue, and less the longer it is.
    fn share_with_others(&mut self, found: &Found, losing: bool, allowed: u64) -> u64 {
        let sent = self.offered;
        let full = self.spread.rate().unwrap_or(self.others.before);
        if !self.others.look(found.queue, allowed, losing) {
            // They have gone.
            self.others = Others::default();
            return sent;
        }
        let queue = if losing { u64::MAX } else { found.queue };
        let aim = self.others.aim(full, queue, allowed);
        if aim < sent { sent - (sent - aim) / 8 } else { sent + (aim - sent) / 8 }
    }

    /// Others fill the queue from now on; so much passed before.
    fn begin_to_share(&mut self, before: u64) -> u64 {
        self.others = Others { compete: true, before, ..Others::default() };
        self.spread.rate().unwrap_or(before) / 2
    }

    /// Whether packets waited for longer than their own burst takes.
    fn has_waited(&self, found: &Found) -> bool {
        let packet = 1_000_000_000_000 / self.offered.max(1);
        found.queue > (self.values.burst() + 2) * packet
    }

    /// A queue stands: it is drained within a round trip, unless it is that of others.
    fn shorten(&mut self, found: &Found, losing: bool) -> u64 {
        let Found { queue, horizon, .. } = *found;
        // If the queue overflowed, what was lost has not passed.
        let lost = if losing { found.lost - self.loss } else { 0 };
        let passed = match self.spread.rate() {
            Some(rate) => found.passed.min(rate),
            None => part(found.passed, ONE - lost.min(ONE / 2)),
        };
        let others = &mut self.others;
        if others.stuck == 0 {
            others.before = passed;
        }
        // A queue that does not fall although we send less is not ours.
        let as_long = queue * 10 >= others.last_queue * 7 || others.stuck == 0;
        others.stuck = if as_long { others.stuck + 1 } else { 1 };
        others.last_queue = queue;
        self.rooms = 0;
        self.handling = Loss::Usual;
        if self.others.stuck >= STUCK || self.others.signs >= SIGNS {
            return self.begin_to_share(self.others.before);
        }
        let first = self.others.stuck == 1;
        let carried = self.capacity.filter(|_| !first).unwrap_or(passed);
        if first {
            self.spread.forget();
        }
        self.capacity = Some(carried);
        let drain = share(queue, horizon).min(ONE / 2);
        carried - part(carried, drain * 3 / 4)
    }

    /// Whether loss is a sign that less must be sent, and what to send then.
    fn consider_loss(&mut self, losing: bool, found: &Found) -> Option<u64> {
        let sent = self.offered;
        let lost = found.lost;
        match core::mem::take(&mut self.handling) {
            Loss::Less { before, .. } if !losing => {
                self.handling = Loss::Again { less: sent };
                return Some(before);
            }
            Loss::Less { before, lost: then } => {
                // If there was no room, as much got through as gets through now.
                let through = part(before, ONE - then.min(ONE));
                let would = ONE - share(through, sent.max(1)).min(ONE);
                if lost < would.midpoint(then) {
                    self.handling = Loss::Less { before: sent, lost };
                    return Some(part(sent, ONE - (lost - self.loss).min(ONE / 4)));
                }
                if !self.loss_known && self.has_waited(found) {
                    // The queue was full when this end came, and is: those who came before fill it.
                    return Some(self.begin_to_share(found.passed));
                }
                // Less arrives of less: it is not for want of room.
                self.loss_varies = self.loss_varies.max(self.loss.abs_diff(lost) / 4);
                (self.loss, self.loss_known) = (lost.min(then), true);
                return Some(before);
            }
            Loss::Again { less } if losing => {
                // Where they come in long rows it may have been chance twice.
                let sure = self.loss_known && self.loss_run < 3 * ONE;
                self.handling = Loss::Careful(if sure { CAREFUL } else { CAREFUL / 4 });
                self.capacity = Some(less);
                self.spread.forget();
                return Some(less);
            }
            Loss::Careful(left) if left > 0 && !losing => {
                self.handling = Loss::Careful(left - 1);
                self.rooms = 0;
                return Some(sent);
            }
            _ if losing => {
                self.rooms = 0;
                self.handling = Loss::Less { before: sent, lost };
                let less = (lost - self.loss).min(ONE / 4) + ONE / 64;
                return Some(part(sent, ONE - less));
            }
            _ => {}
        }
        // To stop where nothing is missing would make it too little.
        if !found.early {
            self.learn_loss(lost);
        }
        None
    }

    /// So much is lost by chance.
    fn learn_loss(&mut self, lost: u64) {
        if !self.loss_known {
            (self.loss, self.loss_varies, self.loss_known) = (lost, lost / 2, true);
            return;
        }
        self.loss_varies = (self.loss_varies * 7 + self.loss.abs_diff(lost)) / 8;
        self.loss = (self.loss * 7 + lost) / 8;
    }

    /// How much more than usual may be lost of so many packets by chance, in runs too.
    fn doubt(&self, packets: u64) -> u64 {
        let usual = self.loss.max(ONE / 200);
        // Three times the deviation of losses in runs as they are, or four times what was seen.
        let runs = (2 * self.loss_run).saturating_sub(ONE).max(2 * ONE);
        let deviation = (part(usual, ONE - usual) * runs / packets.max(1)).isqrt();
        (3 * deviation).max(4 * self.loss_varies).max(ONE * 3 / 200)
    }
}
