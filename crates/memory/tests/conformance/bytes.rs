//! The bytes themselves: how many, where, and what is in them.

use tenure_memory::{Buffer, Request};

use super::variant::Variant;

/// From a byte to more than any cache, around the borders of pages and of what the heap treats
/// as large.
fn sizes() -> impl Iterator<Item = usize> {
    let most = if cfg!(miri) { 300 } else { 64 << 20 };
    let borders = [256, 4096, 128 << 10, 2 << 20];
    let around = borders.into_iter().flat_map(|border| [border - 1, border, border + 1]);
    [1, 2, 255].into_iter().chain(around).chain([8_294_400, 64 << 20]).filter(move |n| *n <= most)
}

fn all_are(bytes: &[u8], value: u8) -> bool {
    // Compared in blocks: unoptimised loops over bytes take their time.
    let block = [value; 4096];
    bytes.chunks(block.len()).all(|chunk| *chunk == block[..chunk.len()])
}

pub(super) fn new_memory_is_zero(variant: &Variant) {
    for bytes in sizes() {
        // What a pool kept is not new.
        variant.let_go();
        assert!(all_are(variant.get(bytes).read().unwrap().as_bytes(), 0), "{bytes}");
    }
}

pub(super) fn sizes_are_as_asked(variant: &Variant) {
    for bytes in sizes() {
        let raw = variant.allocator.allocate(&Request::new(bytes).unwrap()).unwrap();
        if variant.pool.is_some() {
            let most = bytes.max(256) + bytes / 8 + 256;
            assert!((bytes..=most).contains(&raw.size()), "{bytes} {}", raw.size());
        } else {
            assert_eq!(raw.size(), bytes);
        }
        assert_eq!(raw.memory(), variant.allocator.memory());
        assert_eq!(raw.space(), variant.allocator.space());
        assert!(raw.writable() && raw.cpu_accessible() && raw.refusals().is_empty());
        let size = raw.size();
        assert_eq!(Buffer::from_raw(raw).read().unwrap().as_bytes().len(), size);
    }
}

pub(super) fn alignments_are_as_asked(variant: &Variant) {
    let most = if cfg!(miri) { 4096 } else { 2 << 20 };
    let aligns = (0..=21).map(|power| 1 << power).filter(|align| *align <= most);
    for align in aligns {
        for bytes in if cfg!(miri) { [0, 1, 257] } else { [0, 5000, 300 << 10] } {
            let request = Request::new(bytes).unwrap().with_align(align).unwrap();
            let buffer = Buffer::from_raw(variant.allocator.allocate(&request).unwrap());
            let address = buffer.read().unwrap().as_bytes().as_ptr().addr();
            assert!(address.is_multiple_of(align.max(256)), "{bytes} {align}: {address:#x}");
        }
    }
}

pub(super) fn zero_bytes(variant: &Variant) {
    let nothing = variant.get(0);
    assert_eq!((nothing.len(), nothing.is_empty()), (0, true));
    let (first, second) = (nothing.write().unwrap(), nothing.write().unwrap());
    assert!(first.as_bytes().is_empty() && second.as_bytes().is_empty());
    assert!(nothing.slice(0..0).unwrap().read().unwrap().as_bytes().is_empty());
    assert!(nothing.slice(0..1).is_err());
    assert!(!nothing.aliases(&nothing));
}

pub(super) fn bytes_read_back(variant: &Variant) {
    let pattern: Vec<u8> = (0..251).collect();
    for bytes in sizes().filter(|bytes| *bytes < 16 << 20) {
        let buffer = variant.get(bytes);
        for chunk in buffer.write().unwrap().as_bytes_mut().chunks_mut(pattern.len()) {
            chunk.copy_from_slice(&pattern[..chunk.len()]);
        }
        let guard = buffer.read().unwrap();
        let mut chunks = guard.as_bytes().chunks(pattern.len());
        assert!(chunks.all(|chunk| *chunk == pattern[..chunk.len()]), "{bytes}");
    }
    // Each allocation has bytes of its own.
    let all: Vec<_> = (0..16).map(|_| variant.get(500)).collect();
    for (value, buffer) in all.iter().enumerate() {
        buffer.write().unwrap().as_bytes_mut().fill(value as u8);
    }
    for (value, buffer) in all.iter().enumerate() {
        assert!(all_are(buffer.read().unwrap().as_bytes(), value as u8), "{value}");
    }
}
