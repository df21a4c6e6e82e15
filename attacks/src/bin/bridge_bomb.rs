//! A peer that sends a few kilobytes which are megabytes of zeros when they are unpacked, under several
//! names, again and again. What the bridge takes for all of them stays below what it may take, and is
//! given back when the peer goes.
#![forbid(unsafe_code)]

use tenure::{DType, DynTensor, TensorDyn};
use tenure_attacks::peak_memory;
use tenure_attacks::peer::{Machine, declare, frames, until};
use tenure_bridge::packet::{Encoding, Head, Packet};
use tenure_bridge::{Compression, pack};
use tenure_stream::stat_in;
use zenoh::Wait;

/// What the bridge may take.
const LIMIT: u64 = 40 << 20;
/// What one frame says it has.
const FRAME: usize = 12 << 20;
/// For everything else: Zenoh's own buffers, its threads.
const BESIDE: u64 = 160 << 20;

fn main() {
    let machine = Machine::new();
    let bridge = machine.bridge().memory(LIMIT).open().expect("a bridge");
    let peer = machine.peer();
    let names: Vec<String> = (0..6).map(|at| format!("bomb/{at}")).collect();
    let tokens: Vec<_> = names.iter().map(|name| declare(&peer, name)).collect();
    let streams: Vec<_> = names.iter().map(|name| frames(&peer, name)).collect();
    let zeros = TensorDyn::new(&[FRAME], DType::U8, None, None).expect("memory");
    let before = peak_memory();
    let published = || {
        let bytes = |name: &String| stat_in(machine.directory(), name).map_or(0, |it| it.bytes());
        names.iter().map(bytes).sum::<usize>() as u64
    };
    for sequence in 0..8 {
        let head = Head::of(&zeros).expect("a head");
        let mut head = Head { incarnation: 1, sequence, ..head };
        let body = pack(&zeros, &mut head, Compression::Lossless).expect("packed");
        assert!(body.len() < FRAME / 200 && head.encoding == Encoding::Lz4);
        let packet = Packet::Frame(Box::new(head)).encode();
        for frames in &streams {
            frames.put(&body[..]).attachment(&packet[..]).wait().expect("sent");
            assert!(bridge.report().memory <= LIMIT, "{:?}", bridge.report());
        }
        assert!(published() <= LIMIT, "{} bytes are published", published());
    }
    // All were looked at, and not all could be served.
    let shown = |name: &String| bridge.report().imports.into_iter().find(|it| it.name == *name);
    until("a word about the memory", || {
        names.iter().any(|name| {
            let problem = shown(name).and_then(|it| it.problem).unwrap_or_default();
            problem.contains("memory") || problem.contains("has to send more")
        })
    });
    assert!(published() <= LIMIT && bridge.report().memory <= LIMIT, "{:?}", bridge.report());
    let grown = peak_memory() - before;
    assert!(grown <= LIMIT + BESIDE, "{grown} bytes were taken");
    drop((streams, tokens));
    peer.close().wait().expect("closed");
    until("the memory", || bridge.report().memory == 0 && published() == 0);
}
