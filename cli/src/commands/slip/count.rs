//! The statistics of a SLIP link, for users and for programs.

use std::fmt::Write as _;

use wetstring_drive::stack::StackCounts;
use wetstring_events::{self as events, Event, LinkCounts};
use wetstring_proto::slip::{Class, ClassStats, CompressorStats, Link};

use crate::ui::format::{count, size};
use crate::ui::output::{Level, Output};

/// Prints the statistics: a few lines for users, or this event for programs.
pub(super) fn say(ui: &Output, event: fn(LinkCounts) -> Event, link: &Link<Vec<u8>>) {
    ui.event(event(counts(link)));
    for line in lines(link) {
        ui.say(Level::Note, &line);
    }
}

fn lines(link: &Link<Vec<u8>>) -> Vec<String> {
    let stats = link.stats();
    let mut lines = vec![format!(
        "sent {} of {}, in {} on the line; received {} of {}",
        count(stats.sent, "packet"),
        size(stats.sent_bytes),
        size(stats.line_bytes),
        count(stats.received, "packet"),
        size(stats.received_bytes),
    )];
    if let Some(done) = link.compressor_stats().filter(|done| done.compressed > 0) {
        lines.push(format!(
            "headers of TCP: {:.1} bytes each instead of {:.1}, {} saved",
            per_packet(done, done.headers_out),
            per_packet(done, done.headers_in),
            size(done.saved_bytes()),
        ));
    }
    lines.extend(hints(link));
    for (class, of) in Class::ALL.iter().zip(link.queue_stats()) {
        if of.sent > 0 || of.dropped > 0 {
            lines.push(class_line(*class, of));
        }
    }
    let bad = link.decoder_stats().dropped() + stats.refused - stats.compressed_refused;
    if bad > 0 {
        lines.push(format!("{} received damaged", count(bad, "frame")));
    }
    lines
}

/// What prevents header compression, and what can be done.
fn hints(link: &Link<Vec<u8>>) -> Vec<String> {
    let mut lines = Vec::new();
    let stats = link.stats();
    if let Some(done) = link.compressor_stats()
        && done.timestamps_changed > 0
    {
        lines.push(format!(
            "{} of {} could not be compressed: TCP timestamps; --timestamps drop keeps new connections from \
             using them, or sysctl net.ipv4.tcp_timestamps=0 where they begin",
            done.timestamps_changed,
            count(done.compressed + done.uncompressed, "TCP packet"),
        ));
    }
    if stats.compressed_refused > 0 {
        lines.push(format!(
            "{} received compressed, which --compress off discards; auto accepts them",
            count(stats.compressed_refused, "frame"),
        ));
    }
    lines
}

fn class_line(class: Class, of: &ClassStats) -> String {
    let ms = |time: wetstring_proto::Duration| time.as_secs_f64() * 1e3;
    let mut line = format!(
        "{}: {} waited {:.0} ms, the longest {:.0} ms",
        class.as_str(),
        count(of.sent, "packet"),
        ms(of.mean_delay()),
        ms(of.longest_delay),
    );
    if of.dropped > 0 {
        // Writing to a string cannot fail.
        let _ = write!(line, ", {} dropped", of.dropped);
    }
    line
}

fn per_packet(done: &CompressorStats, bytes: u64) -> f64 {
    bytes as f64 / (done.compressed + done.uncompressed).max(1) as f64
}

/// The same for programs.
pub(super) fn counts(link: &Link<Vec<u8>>) -> LinkCounts {
    let (stats, decoder) = (link.stats(), link.decoder_stats());
    let classes = Class::ALL
        .iter()
        .zip(link.queue_stats())
        .map(|(class, of)| events::Class {
            class: class.as_str(),
            packets: of.sent,
            bytes: of.sent_bytes,
            dropped: of.dropped,
            mean_delay_s: of.mean_delay().as_secs_f64(),
            longest_delay_s: of.longest_delay.as_secs_f64(),
        })
        .collect();
    let compression = link.compressor_stats().map(|done| events::Compression {
        compressed: done.compressed,
        uncompressed: done.uncompressed,
        header_bytes_before: done.headers_in,
        header_bytes: done.headers_out,
        timestamps_changed: done.timestamps_changed,
    });
    LinkCounts {
        sent: events::Sent {
            packets: stats.sent,
            bytes: stats.sent_bytes,
            line_bytes: stats.line_bytes,
        },
        received: events::Received {
            packets: stats.received,
            bytes: stats.received_bytes,
            line_bytes: decoder.line_bytes,
            bad_frames: decoder.dropped() + stats.refused,
            damaged_at_port: decoder.line_errors,
            compressed_refused: stats.compressed_refused,
        },
        compression,
        probes: stats.probes,
        timestamps_dropped: stats.timestamps,
        classes,
    }
}

/// Packets that the built-in stack could not use.
pub(super) fn stack_lines(counts: &StackCounts) -> Vec<String> {
    let parts = counts.fragments;
    let all = [
        (parts.incomplete, "incomplete: fragments are missing"),
        (parts.refused, "discarded: fragments overlap inconsistently"),
        (counts.lost, "dropped: the stack was too slow"),
    ];
    let lines = all.iter().filter(|(lost, _)| *lost > 0);
    lines.map(|(lost, why)| format!("{} {why}", count(*lost, "packet"))).collect()
}

/// All counters of the stack, for programs.
pub(super) fn of_stack(counts: &StackCounts) -> events::StackCounts {
    events::StackCounts {
        joined: counts.joined,
        refused: counts.refused,
        dropped: counts.lost,
        fragments: events::Fragments {
            whole: counts.fragments.whole,
            incomplete: counts.fragments.incomplete,
            refused: counts.fragments.refused,
        },
    }
}
