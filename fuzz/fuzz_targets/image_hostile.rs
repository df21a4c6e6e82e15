//! Conversions between images whose planes lie anywhere: on top of each other, between each other's
//! rows, in the memory of the other image, at strides and offsets near the edge. Whatever is
//! refused leaves every byte; whatever is done writes the rows of the destination and nothing else,
//! and never where two planes, or source and destination, share bytes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::image::{Convert, EngineKind, ImageProcessor};
use tenure::layout::{DType, PixelFormat};
use tenure::{Buffer, Region, Tensor, TensorDyn, TensorMemory};
use tenure_fuzz::made::Number;

/// Bytes of each memory.
const BYTES: usize = 24 << 10;

#[derive(Debug, Arbitrary)]
struct Input {
    source: Image,
    target: Image,
    /// Whether both are in one memory.
    together: bool,
    crop: Option<[u8; 4]>,
    into: Option<[u8; 4]>,
    threads: bool,
    copy: bool,
}

#[derive(Debug, Arbitrary)]
struct Image {
    format: u8,
    dtype: u8,
    size: [(u8, Number); 2],
    /// Offset and stride of each plane, in steps that keep elements aligned.
    planes: [(u8, Number, u8, Number); 4],
    /// How many places are given: one means that planes follow each other.
    given: u8,
    /// A buffer of its own for each plane, by where it starts.
    buffers: Option<[u8; 4]>,
    /// A view of it.
    region: Option<[u8; 4]>,
}

fn memory(seed: u8) -> Buffer {
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None).expect("memory");
    for (at, byte) in tensor.map().expect("free").as_mut_slice().iter_mut().enumerate() {
        *byte = (at as u8).wrapping_mul(37).wrapping_add(seed);
    }
    tensor.buffer().clone()
}

fn region([x, y, width, height]: [u8; 4]) -> Region {
    let even = |n: u8| usize::from(n % 48) & !1;
    Region::new(even(x), even(y), even(width) + 2, even(height) + 2)
}

impl Image {
    fn over(&self, memory: &Buffer) -> Option<TensorDyn> {
        let formats: Vec<PixelFormat> = PixelFormat::all().collect();
        let format = formats[usize::from(self.format) % formats.len()];
        let dtype = match format {
            PixelFormat::P010 => DType::U16,
            _ => [DType::U8, DType::U8, DType::F32, DType::F16][usize::from(self.dtype % 4)],
        };
        let [(w, wild_w), (h, wild_h)] = self.size;
        let width = wild_w.or(w, u64::from(w % 64) & !1) as usize;
        let height = wild_h.or(h, u64::from(h % 32) & !1) as usize;
        let unit = dtype.size().unwrap_or(1) as u64;
        let places: Vec<(usize, Option<usize>)> = self
            .planes
            .iter()
            .map(|&(offset, wild_offset, stride, wild_stride)| {
                let offset = wild_offset.or(offset, u64::from(offset) * 64);
                let stride = wild_stride.or(stride, u64::from(stride) * unit);
                (offset as usize, (stride != 0).then_some(stride as usize))
            })
            .collect();
        let count = match self.given % 5 {
            0 => 1,
            4 => format.planes().len(),
            given => usize::from(given),
        };
        let buffers: Vec<Buffer> = match self.buffers {
            None => vec![memory.clone()],
            Some(starts) => starts
                .iter()
                .take(format.planes().len())
                .map(|start| memory.slice(usize::from(*start) * 64..BYTES))
                .collect::<Result<_, _>>()
                .ok()?,
        };
        let places = &places[..count.min(places.len())];
        let image =
            TensorDyn::from_plane_buffers(&buffers, places, width, height, format, dtype).ok()?;
        match self.region {
            Some(numbers) => image.view(region(numbers)).ok(),
            None => Some(image),
        }
    }
}

/// The bytes of the memory that the rows of each plane are.
fn rows(image: &TensorDyn) -> Vec<Vec<std::ops::Range<usize>>> {
    let layout = image.image_layout().expect("an image");
    let row = |start: usize, plane: &tenure::PlaneLayout, row: usize| {
        let first = start + plane.offset + row * plane.row_stride;
        first..first + plane.row_bytes
    };
    layout
        .planes()
        .iter()
        .enumerate()
        .map(|(index, plane)| {
            let start = image.plane_buffer(index).expect("it exists").start();
            (0..plane.rows).map(|at| row(start, plane, at)).collect()
        })
        .collect()
}

/// Which plane has each byte; `None` if two have one.
fn owners(image: &TensorDyn) -> Option<Vec<bool>> {
    let mut owned = vec![false; BYTES];
    for row in rows(image).into_iter().flatten() {
        for byte in &mut owned[row] {
            if std::mem::replace(byte, true) {
                return None;
            }
        }
    }
    Some(owned)
}

fn processor(threads: usize) -> ImageProcessor {
    let config = ImageProcessor::builder().engines(vec![EngineKind::Cpu]).threads(threads);
    config.build().expect("an engine")
}

static CPU: LazyLock<[ImageProcessor; 2]> = LazyLock::new(|| [1, 2].map(processor));

fn bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.read().expect("free").as_bytes().to_vec()
}

fuzz_target!(|input: Input| {
    let one = memory(1);
    let other = if input.together { one.clone() } else { memory(2) };
    let Some(source) = input.source.over(&other) else { return };
    let Some(target) = input.target.over(&one) else { return };
    let before = (bytes(&one), bytes(&other));
    let answer = match input.copy {
        true => target.copy_from(&source).map_err(|error| error.to_string()),
        false => {
            let crop = input.crop.map(region);
            let convert = Convert::new().crop(crop).into(input.into.map(region));
            let done = CPU[usize::from(input.threads)].convert(&source, &target, &convert);
            done.map(drop).map_err(|error| error.to_string())
        }
    };
    let after = (bytes(&one), bytes(&other));
    let Ok(()) = answer else {
        assert!(before == after, "refused, and yet written");
        return;
    };
    let own = owners(&target).expect("wrote where planes share bytes");
    let changed = (0..BYTES).filter(|at| before.0[*at] != after.0[*at]);
    changed.for_each(|at| assert!(own[at], "byte {at} is not of the destination"));
    if input.together {
        let shared = rows(&source).into_iter().flatten().flatten().any(|at| own[at]);
        assert!(!shared, "source and destination share bytes");
    } else {
        assert!(before.1 == after.1, "the source was written");
    }
});
