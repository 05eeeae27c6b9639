//! Networks as text: what is read is written again, and errors say what was expected.

use wetstring_lab::net::Network;

fn error(text: &str) -> String {
    match text.parse::<Network>() {
        Ok(network) => panic!("{text}: read as {network}"),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn texts_are_read_and_written() {
    for text in [
        "ethernet:10M",
        "ethernet:100M,load=30%,span=20us,queue=7,mtu=1000,seed=9",
        "ethernet:10M,load=10%-50%@5s",
        "path:rate=1500k/64k,delay=34ms,queue=20p,loss=0.1%",
        "path:rate=10M,delay=10ms,queue=1p,police=1M,bucket=3000,loss=1%",
        "path:rate=1M,queue=32K,loss=1%,lossrun=8,jitter=5ms,stall=8ms@50ms,reorder=1%@5ms,dup=0.01%,cross=60%,\
         overhead=20,mtu=1500,dir=fwd,seed=3",
        "slotted:frame=21220us,capacity=3006,reserve=600ms,delay=270ms,miss=2%,queue=64K,\
         collapse=10s,overhead=4,fragment=1476@25%,loss=0.5%,seed=2",
        "ring:rate=10M",
        "ring:rate=4M,hosts=12,station=500ns,overhead=3,mtu=4000",
        "udp over path:rate=10M,delay=10ms",
        "ip over nic:send=1ms,receive=0s + ring:rate=10M + nic:send=1ms,receive=0s,flip with \
         host-a:wake=1ms",
        "quic:window=1M,payload=1200,cc=bbr,seed=4 over path:rate=10M,delay=10ms",
        "nic:send=0s+4049ns,receive=0s+4116ns,rearm=100us,shared",
        "nic:send=1ms,receive=1ms+1500ps,wire=3M,flip",
        "nic:send=1ms,receive=1ms,rearm=1ms,deaf=8ms,shared",
        "nic:send=1ms,receive=1ms,shared,held with host-a:send=3ms,load=1ms with host-b:unload,receive=1ms",
        "nic:send=1ms,receive=0s + ethernet:10M + nic:send=1ms,receive=0s,flip",
        "tcp:mss=1460,window=64K/8K,sendbuf=16K,nodelay,delack=200ms over ethernet:10M,load=30%",
        "tcp:mss=536,delack=off/50ms,cc=none,handshake,queue=9,seed=5 over path:rate=0 with \
         host:send=300us+50ns,receive=300us,write=1ms,read=1ms,disk=500K,block=8K,mark=1,wake=1ms,\
         tick=10ms,gather=60@30ms",
        "path:rate=1M with host-a:wake=1ms with host-b:wake=2ms",
        "line:9600,delay=250ms,burst=8@2s with host-b:read=10ms",
    ] {
        let network: Network = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
        assert_eq!(network.to_string(), text);
        assert_eq!(network.to_string().parse(), Ok(network));
    }
    let same = |a: &str, b: &str| assert_eq!(a.parse::<Network>(), b.parse::<Network>());
    same("ethernet", "ethernet:rate=10M");
    same("ethernet:", "ethernet:10000000");
    same("path:1.5M", "path:rate=1500k");
    same("nic:3c500", "nic:send=0s+4.049us,receive=0s+4116000ps,rearm=100us,shared");
    same("slotted:wideband", "slotted:frame=21.22ms,capacity=3006,reserve=600ms,delay=270ms");
    same("tcp:nagle over path", "tcp over path");
    same("path:loss=1e-3", "path:loss=0.1%");
    same(
        "path:8M,queue=rtt,reorder=1%@rtt/4,rtt=100ms",
        "path:8M,delay=50ms,queue=100000,reorder=1%@25ms",
    );
    same("path:8M,rtt=1ms,queue=rtt", "path:8M,delay=500us,queue=30000");
    same("path with host:wake=1ms", "path with host-a:wake=1ms with host-b:wake=1ms");
}

const ERRORS: &[(&str, &str)] = &[
    (
        "ethernet:10Q",
        "ethernet: rate: expected bit/s up to 100G, such as 9600, 1.5M or 0 (no time), got `10Q`",
    ),
    ("ethernet:0", "ethernet: rate: expected a rate above 0 such as 10M, got `0`"),
    (
        "ethernet:load=100%",
        "ethernet: load: expected a share below 100% such as 30%, or 10%-50%@5s (redrawn every 5 s), got `100%`",
    ),
    (
        "ethernet:lod=3%",
        "ethernet: lod: expected one of rate, load, span, queue, mtu, seed, got `lod=3%`",
    ),
    (
        "path:rate=-1",
        "path: rate: expected bit/s up to 100G, such as 9600, 1.5M or 0 (no time), got `-1`",
    ),
    (
        "path:queue=20x",
        "path: queue: expected packets such as 20p, or bytes such as 32K, got `20x`",
    ),
    ("path:loss=200%", "path: loss: expected a chance such as 0.1% or 1e-3, got `200%`"),
    ("path:delay=3", "path: delay: expected a time such as 34ms (s, ms, us, ns), got `3`"),
    ("path:delay=3ms,delay=4ms", "path: delay: expected it once, got `delay=4ms`"),
    ("path:cross=30%", "path: cross: expected a rate to have a share of, got `30%`"),
    (
        "path:queue=rtt",
        "path: queue: expected packets such as 20p, bytes such as 32K, or rtt, got `rtt`",
    ),
    (
        "path:8M,reorder=1%@rtt",
        "path: reorder: expected CHANCE@TIME such as 1%@5ms, or a part of a round trip: 1%@rtt/4, got `1%@rtt`",
    ),
    ("slotted:fragment=9", "slotted: fragment: expected BYTES@CHANCE such as 1476@25%, got `9`"),
    ("ring:0", "ring: rate: expected a rate above 0 such as 10M, got `0`"),
    ("quic:cc=x over path", "quic: cc: expected reno, cubic or bbr, got `x`"),
    (
        "quic: over path with host:wake=1ms",
        "network: expected quic: without ` with host:`, for its hosts take no time, got `quic: over path with host:wake=1ms`",
    ),
    ("path:dir=up", "path: dir: expected fwd, rev or both, got `up`"),
    ("slotted:frame=0s", "slotted: frame: expected a time above 0 such as 21.22ms, got `0s`"),
    ("slotted:miss=100%", "slotted: miss: expected a chance below 100%, got `100%`"),
    (
        "nic:3c501",
        "nic: 3c501: expected 3c500 or p1300 first, or one of send, receive, rearm, deaf, shared, held, wire, flip, got `3c501`",
    ),
    (
        "nic:send=5",
        "nic: send: expected a cost per packet, or per packet and per byte, such as 300us+50ns, got `5`",
    ),
    ("nic:shared=yes", "nic: shared: expected a flag without a value, got `shared=yes`"),
    (
        "tcp:nagle over",
        "network: expected ethernet:, path:, slotted:, nic:, ring:, trace:, wifi:, slip: or line: with its words, got `tcp:nagle over`",
    ),
    ("udx over path", "network: expected tcp:, sack:, quic:, udp or ip before ` over `, got `udx`"),
    ("tcp:cc=vegas over path", "tcp: cc: expected none, reno or cubic, got `vegas`"),
    (
        "tcp:window=1 over path",
        "tcp: window: expected 64 bytes to 1024M such as 32K, or 32K/8K (at A and at B), got `1`",
    ),
    (
        "tcp: over line:9600",
        "network: expected a line: alone, without tcp: and without ` + `, got `tcp: over line:9600`",
    ),
    ("line:9600,delay=x", "line: delay: expected a time such as 250ms (s, ms, us, ns), got `x`"),
    (
        "path with hose:wake=1s",
        "network: expected host:, host-a: or host-b: after ` with `, got `hose:wake=1s`",
    ),
    (
        "path with host:wake=1s with host-a:wake=1s",
        "network: expected one host for each end, got `path with host:wake=1s with host-a:wake=1s`",
    ),
    (
        "path with host:mark=256",
        "host: mark: expected the code of a character, 0 to 255, got `256`",
    ),
    (
        "path with host:tick=1ns",
        "host: tick: expected whole microseconds up to 10s, such as 10ms, got `1ns`",
    ),
    ("path with host:gather=5", "host: gather: expected COUNT@TIME such as 60@30ms, got `5`"),
    (
        "",
        "network: expected ethernet:, path:, slotted:, nic:, ring:, trace:, wifi:, slip: or line: with its words, got ``",
    ),
];

#[test]
fn errors_say_what_was_expected() {
    for (text, expected) in ERRORS {
        assert_eq!(error(text), *expected);
    }
}
