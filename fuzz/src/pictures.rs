//! Pictures made from arbitrary numbers, whole images or parts of larger ones, and how far the
//! results of two engines may differ.

use half::{bf16, f16};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use tenure::image::{Convert, Normalize};
use tenure::layout::{DType, ImageLayout, PixelFormat, Region};
use tenure::{DynTensor, TensorDyn, TensorMemory};

/// Most pixels across and down.
const MOST: usize = 70;

/// An image tensor as numbers.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Picture {
    width: u8,
    height: u8,
    format: u8,
    dtype: u8,
    /// Added to the smallest row stride.
    padding: u8,
    /// Pixels of a larger image left, above, right and below.
    around: Option<[u8; 4]>,
}

/// The element types of pictures, and some that are none.
const TYPES: [DType; 8] =
    [DType::U8, DType::U8, DType::U16, DType::F32, DType::F16, DType::Bf16, DType::I8, DType::F64];

impl Picture {
    fn format(&self) -> PixelFormat {
        let formats: Vec<PixelFormat> = PixelFormat::all().collect();
        formats[usize::from(self.format) % formats.len()]
    }

    fn region(&self, more: usize) -> Region {
        let side = |pixels: u8| usize::from(pixels) % MOST + more;
        let [left, above, _, _] = self.around.unwrap_or_default().map(|side| usize::from(side % 9));
        Region::new(left, above, side(self.width), side(self.height))
    }

    /// The image and what it is a part of, painted by `seed`, `more` pixels larger both ways; if
    /// there can be such an image.
    pub fn make(&self, more: usize, seed: u8) -> Option<(TensorDyn, TensorDyn)> {
        let (format, region) = (self.format(), self.region(more));
        let dtype = match format {
            PixelFormat::P010 => DType::U16,
            _ => TYPES[usize::from(self.dtype) % TYPES.len()],
        };
        let [_, _, right, below] =
            self.around.unwrap_or_default().map(|side| usize::from(side % 9));
        let (width, height) = (region.x + region.width + right, region.y + region.height + below);
        let packed = ImageLayout::new(width, height, format, dtype, None).ok()?;
        let padding = usize::from(self.padding % 40) * dtype.size().unwrap_or(1);
        let stride = (padding > 0).then(|| packed.row_stride() + padding);
        let memory = Some(TensorMemory::Mem);
        let whole = TensorDyn::image_builder(width, height, format, dtype)
            .row_stride(stride)
            .memory(memory)
            .build()
            .ok()?;
        paint(&whole, seed);
        let image = if self.around.is_some() { whole.view(region).ok()? } else { whole.clone() };
        Some((whole, image))
    }
}

/// Bytes that differ, with edges and flat parts.
fn paint(image: &TensorDyn, seed: u8) {
    let mut state = u64::from(seed) << 8 | 1;
    for (at, byte) in image.buffer().write().expect("free").as_bytes_mut().iter_mut().enumerate() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = match seed % 4 {
            0 => state as u8,
            1 => (at / 7 % 256) as u8,
            2 => (at / 13 % 2 * 255) as u8,
            _ => seed,
        };
    }
}

/// The bytes of `whole` that are not those of the picture that was made with it.
pub fn outside(whole: &TensorDyn, picture: &Picture) -> Vec<usize> {
    let layout = whole.image_layout().expect("an image");
    let layout = match picture.around {
        Some(_) => layout.view(picture.region(0)).expect("a part that was made"),
        None => layout.clone(),
    };
    let mut own = vec![false; whole.buffer().len()];
    for plane in layout.planes() {
        for row in 0..plane.rows {
            own[plane.offset + row * plane.row_stride..][..plane.row_bytes].fill(true);
        }
    }
    (0..own.len()).filter(|at| !own[*at]).collect()
}

/// The numbers of an image without padding.
pub fn numbers(image: &TensorDyn) -> Vec<f64> {
    let mut flat = vec![0; image.flat_bytes()];
    image.copy_to_flat(&mut flat).expect("free");
    let word = |b: &[u8]| u16::from_ne_bytes([b[0], b[1]]);
    match image.dtype() {
        DType::U8 => flat.iter().map(|byte| f64::from(*byte)).collect(),
        DType::I8 => flat.iter().map(|byte| f64::from(*byte as i8)).collect(),
        DType::F32 => {
            let float = |b: &[u8]| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]);
            flat.chunks(4).map(|bytes| float(bytes).into()).collect()
        }
        DType::F16 => flat.chunks(2).map(|bytes| f16::from_bits(word(bytes)).to_f64()).collect(),
        _ => flat.chunks(2).map(|bytes| bf16::from_bits(word(bytes)).to_f64()).collect(),
    }
}

/// How far the CPU engine may be from the definition.
#[derive(Debug)]
pub struct Bound {
    dtype: DType,
    /// In numbers that are stored: what is promised, and what rounding `f32` costs.
    below: f64,
}

impl Bound {
    /// For a conversion into `target`.
    pub fn new(target: &TensorDyn, convert: &Convert) -> Bound {
        let dtype = target.dtype();
        let normalize = &convert.get_normalize();
        let integers = matches!(dtype, DType::U8 | DType::I8);
        let quantized = match (normalize.quantize, target.quantization()) {
            // What is stored as it is does not care for a quantisation.
            _ if !integers || *normalize == Normalize::NONE => 1.0,
            (Some((scale, _)), _) => f64::from(scale),
            (None, Some(own)) => own.scales().first().map_or(1.0, |scale| f64::from(*scale)),
            (None, None) => 1.0,
        };
        let divide = |number: f32| {
            let smallest = normalize.std.iter().fold(1.0, |least: f32, std| least.min(std.abs()));
            f64::from(number.abs()) / f64::from(smallest) / quantized
        };
        let mean = normalize.mean.iter().fold(0.0, |most: f32, mean| most.max(mean.abs()));
        let code = divide(normalize.scale);
        // As the documentation of the crate has it.
        let promised = match dtype {
            DType::U8 | DType::I8 => 0.0,
            _ if code >= 0.5 => 0.5 * code,
            _ => f64::min(0.5 * code, f64::max(0.002, 0.02 * code)),
        };
        Bound { dtype, below: promised + 1e-6 * (255.0 * code + divide(mean) + 256.0) }
    }

    /// Whether `have` is near enough to `want`.
    pub fn is_kept(&self, want: f64, have: f64) -> bool {
        if want.is_nan() || have.is_nan() {
            // What was there before, and is not written.
            return want.is_nan() && have.is_nan();
        }
        let limit = match self.dtype {
            DType::F16 => f64::from(f16::MAX),
            _ => f64::MAX,
        };
        let (want, have) = (want.clamp(-limit, limit), have.clamp(-limit, limit));
        let rounding = match self.dtype {
            DType::U8 | DType::I8 => 1.0,
            DType::F32 => 0.0,
            DType::F16 => want.abs() / 1024.0,
            _ => want.abs() / 128.0,
        };
        want == have || (want - have).abs() <= self.below.max(0.0) + rounding
    }
}
