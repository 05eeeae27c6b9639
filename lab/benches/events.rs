//! How many events per second the elements and the pair make on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wetstring_lab::{Element, End, LineModel, Serial};
use wetstring_proto::{Cx, Instant, NoTrace};

/// Characters per run.
const COUNT: u64 = 100_000;

/// Carries `COUNT` characters over a line. Gives the events: the moments at which the line asked to
/// be called, because a character arrived or there was room for one.
fn carry(model: &LineModel) -> u64 {
    let mut line = Serial::new(model);
    let mut trace = NoTrace;
    let mut now = Instant::ZERO;
    let (mut sent, mut got, mut events) = (0, 0, 0);
    let bytes = [0x55; 64];
    let mut into = [0; 64];
    while got < COUNT {
        let mut cx = Cx { now, trace: &mut trace };
        let want = (COUNT - sent).min(64) as usize;
        sent += line.offer(&mut cx, End::A, &bytes[..want]) as u64;
        got += line.emit(&mut cx, End::B, &mut into) as u64;
        events += 1;
        let next = line.next(End::B).into_iter().chain(line.room(End::A)).min();
        now = next.unwrap_or(now);
    }
    black_box(events)
}

fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("serial line, element events");
    for (name, text) in [
        ("clean", "9600,delay=250ms"),
        ("noisy", "9600,delay=250ms,burst=8@2s,ber=1e-5,drop=1e-5,dup=1e-5"),
    ] {
        let model: LineModel = text.parse().expect("a good line");
        group.throughput(Throughput::Elements(carry(&model)));
        group.bench_function(name, |bencher| bencher.iter(|| carry(&model)));
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
