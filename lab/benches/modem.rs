//! How many characters per second a modem pair and a line with flow control carry on one core, with
//! one event for each character that comes out.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wetstring_lab::modem::{ModemModel, ModemPair};
use wetstring_lab::serial::flow::{FlowLine, FlowModel};
use wetstring_lab::store::Content;
use wetstring_lab::{Element, End, LineModel, Serial};
use wetstring_proto::{Cx, Instant, NoTrace};

/// Carries these characters from A to B; gives the events.
fn carry(element: &mut dyn Element, mut left: &[u8]) -> u64 {
    let mut trace = NoTrace;
    let mut now = Instant::ZERO;
    let (mut got, mut events) = (0, 0);
    let count = left.len();
    let mut into = [0; 64];
    while got < count {
        let mut cx = Cx { now, trace: &mut trace };
        let taken = element.offer(&mut cx, End::A, &left[..left.len().min(64)]);
        left = &left[taken..];
        got += element.emit(&mut cx, End::B, &mut into);
        events += 1;
        let room = element.room(End::A).filter(|_| !left.is_empty());
        let next = element.next(End::B).into_iter().chain(room).min();
        now = next.map_or(now, |at| at.max(now));
    }
    black_box(events)
}

fn modems(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one event per character");
    let random = Content::Random(1).bytes(100_000);
    let text = Content::Text(1).bytes(100_000);
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("serial", |bencher| {
        let model: LineModel = "9600".parse().expect("a good line");
        bencher.iter(|| carry(&mut Serial::new(&model), &random));
    });
    for (name, line) in [("rtscts", "57600,rtscts"), ("xonxoff", "57600,xonxoff")] {
        let model: FlowModel = line.parse().expect("a good line");
        let plain: Vec<u8> = random.iter().map(|byte| byte | 0x20).collect();
        group.bench_function(name, |bencher| {
            bencher.iter(|| carry(&mut FlowLine::new(&model), &plain));
        });
    }
    for (name, modems, bytes) in [
        ("v32", "modem:dte=9600,line=9600,mod=v32", &random),
        ("v42, random", "modem:line=14400,v42", &random),
        ("v42, noise", "modem:line=14400,v42,ber=1e-5", &random),
        ("v42bis, random", "modem:line=14400,v42bis", &random),
        ("v42bis, text", "modem:line=14400,v42bis", &text),
    ] {
        let model: ModemModel = modems.parse().expect("a good pair");
        group.bench_function(name, |bencher| {
            bencher.iter(|| carry(&mut ModemPair::new(&model), bytes));
        });
    }
    group.finish();
}

criterion_group!(benches, modems);
criterion_main!(benches);
