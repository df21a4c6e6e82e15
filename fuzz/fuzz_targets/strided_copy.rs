//! Copies and fills between arbitrary views, of two buffers or of one, against a copy of single
//! elements: the same bytes change, and no others.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::layout::Layout;
use tenure::{Buffer, tensor::Error, Tensor, TensorDyn, TensorMemory};
use tenure_fuzz::elements::{halves, taken};
use tenure_fuzz::views::{Start, View, chain};

/// The most elements that are compared, and bytes that a buffer has.
const MOST: usize = 5000;
const LARGEST: usize = 1 << 16;

#[derive(Debug, Arbitrary)]
struct Input {
    start: Start,
    to: Vec<View>,
    /// `None` copies to another buffer without gaps.
    from: Option<Vec<View>>,
    /// Whether source and destination are in one buffer.
    inside: bool,
    /// The source is broadcast to the shape of the destination, if it can be.
    broadcast: bool,
}

/// A buffer in which every half byte differs from its neighbours.
fn numbered(seed: u8, size: usize) -> Buffer {
    let tensor = Tensor::<u8>::new(&[size], Some(TensorMemory::Mem), None).expect("memory");
    for (at, byte) in tensor.map().expect("free").as_mut_slice().iter_mut().enumerate() {
        *byte = (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8).wrapping_add(seed);
    }
    tensor.buffer().clone()
}

fn snapshot(buffer: &Buffer) -> Vec<u8> {
    buffer.read().expect("free").as_bytes().to_vec()
}

fn get(bytes: &[u8], half: usize) -> u8 {
    bytes[half / 2] >> (half % 2 * 4) & 0xf
}

fn set(bytes: &mut [u8], half: usize, value: u8) {
    let shift = half % 2 * 4;
    bytes[half / 2] = bytes[half / 2] & !(0xf << shift) | value << shift;
}

/// A tensor over a buffer, if the layout fits it.
fn over(buffer: &Buffer, layout: &Layout) -> Option<TensorDyn> {
    Tensor::from_buffer(buffer.clone(), layout.clone()).ok()
}

fuzz_target!(|input: Input| {
    let Ok(start) = input.start.layout() else { return };
    let to = chain(&start, &input.to);
    let mut from = match &input.from {
        Some(views) => chain(&start, views),
        None => match Layout::contiguous(to.dtype(), to.shape()) {
            Ok(layout) => layout,
            Err(_) => return,
        },
    };
    if input.broadcast {
        from = from.broadcast_to(to.shape()).unwrap_or(from);
    }
    let size = to.span().end.max(from.span().end) + 16;
    if size > LARGEST {
        return;
    }
    let target = numbered(1, size);
    let source = if input.inside { target.clone() } else { numbered(77, size) };
    let (Some(writes), Some(reads)) = (over(&target, &to), over(&source, &from)) else { return };
    let (Some(write_halves), Some(read_halves)) = (halves(&to, MOST), halves(&from, MOST)) else {
        return;
    };

    let (before, values) = (snapshot(&target), snapshot(&source));
    let answer = writes.copy_from(&reads);
    let mut expected = before.clone();
    match &answer {
        Ok(()) => {
            assert_eq!(to.shape(), from.shape());
            for (&write, &read) in write_halves.iter().zip(&read_halves) {
                for (write, read) in taken(&to, write).zip(taken(&from, read)) {
                    set(&mut expected, write, get(&values, read));
                }
            }
            assert!(!to.may_self_overlap());
        }
        // Refusing is right only for a reason.
        Err(Error::Overlapping { .. }) => assert!(to.may_self_overlap()),
        Err(Error::Memory(error)) => assert!(error.is_busy() && input.inside, "{error}"),
        Err(Error::Layout(_)) => {
            assert!(to.shape() != from.shape() || to.dtype().is_sub_byte());
        }
        Err(error) => panic!("{error}"),
    }
    let mut now = snapshot(&target);
    if to.dtype().is_sub_byte() && answer.is_ok() {
        // The half that is left of an odd number of packed elements is nobody's.
        if let Some(&last) = write_halves.last().filter(|last| **last % 2 == 0) {
            set(&mut now, last + 1, 0);
            set(&mut expected, last + 1, 0);
        }
    }
    assert!(now == expected, "the copy of single elements gives something else");

    let flat_bytes = writes.flat_bytes();
    if flat_bytes <= LARGEST {
        let (mut flat, now) = (vec![0; flat_bytes], snapshot(&target));
        if writes.copy_to_flat(&mut flat).is_ok() {
            let width = to.dtype().bits() / 4;
            for (at, &half) in write_halves.iter().enumerate() {
                for (n, half) in taken(&to, half).enumerate() {
                    assert_eq!(get(&flat, at * width + n), get(&now, half));
                }
            }
        }
    }
    filled(&writes, &to, &write_halves, &target);
});

/// Fills through a typed handle, where the type has one.
fn filled(tensor: &TensorDyn, layout: &Layout, halves: &[usize], buffer: &Buffer) {
    let before = snapshot(buffer);
    let answer = if let Ok(bytes) = tensor.typed::<u8>() {
        bytes.fill(0xa5)
    } else if let Ok(words) = tensor.typed::<u16>() {
        words.fill(0xa5a5)
    } else if let Ok(long) = tensor.typed::<u64>() {
        long.fill(0xa5a5_a5a5_a5a5_a5a5)
    } else {
        return;
    };
    answer.expect("nobody holds it");
    let mut expected = before;
    for half in halves.iter().flat_map(|&start| taken(layout, start)) {
        set(&mut expected, half, [0x5, 0xa][half % 2]);
    }
    assert!(snapshot(buffer) == expected, "fill wrote something else");
}
