//! Conversions of any picture into any other: the CPU engine refuses what the definition refuses,
//! in the same words, writes the same picture within its bounds, and no byte beside it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::TensorDyn;
use tenure::image::{Convert, EngineKind, Filter, Fit, ImageProcessor};
use tenure::image::{Normalize, Rotation, Siting};
use tenure::layout::{Colour, Quantization, Region};
use tenure_fuzz::pictures::{Bound, Picture, numbers, outside};

#[derive(Debug, Arbitrary)]
struct Input {
    source: Picture,
    target: Picture,
    /// Of the source, of the destination.
    colours: [u8; 2],
    seed: u8,
    crop: Option<[u8; 4]>,
    into: Option<[u8; 4]>,
    fit: u8,
    fill: [u8; 4],
    turn: u8,
    filter: u8,
    colour: u8,
    siting: u8,
    normalize: Numbers,
    quantization: Option<(u8, i8)>,
    /// Now and then so many pixels that they are worth several threads.
    threads: u8,
}

#[derive(Debug, Arbitrary)]
enum Numbers {
    None,
    Unit,
    ImageNet,
    /// In steps of a 256th.
    Some {
        scale: i16,
        mean: [i8; 3],
        std: [i8; 3],
        quantize: Option<(u8, i8)>,
    },
    /// Whatever there is, of which nothing is asked but an answer.
    Wild {
        scale: f32,
        mean: [f32; 3],
        std: [f32; 3],
        quantize: Option<(f32, i32)>,
    },
}

fn processor(kind: EngineKind, threads: usize) -> ImageProcessor {
    let config = ImageProcessor::builder().engines(vec![kind]).threads(threads);
    config.build().expect("an engine")
}

/// Made once, so that what they keep from one picture to the next is met too.
static REFERENCE: LazyLock<ImageProcessor> = LazyLock::new(|| processor(EngineKind::Reference, 1));
static CPU: LazyLock<[ImageProcessor; 2]> =
    LazyLock::new(|| [1, 2].map(|threads| processor(EngineKind::Cpu, threads)));

fn region(numbers: Option<[u8; 4]>, (width, height): (usize, usize)) -> Option<Region> {
    let [x, y, w, h] = numbers?.map(usize::from);
    // Mostly inside, and often to the edge.
    let (x, y) = (x % (width + 1), y % (height + 1));
    Some(Region::new(x, y, w % (width - x + 2), h % (height - y + 2)))
}

fn colour(code: u8) -> Option<Colour> {
    Colour::from_code(code % 8)
}

impl Numbers {
    fn normalize(&self) -> Normalize {
        let part = |number: i16| f32::from(number) / 256.0;
        match *self {
            Numbers::None => Normalize::NONE,
            Numbers::Unit => Normalize::scale(1.0 / 255.0),
            Numbers::ImageNet => Normalize::IMAGENET,
            Numbers::Some { scale, mean, std, quantize } => Normalize {
                scale: part(scale),
                mean: mean.map(f32::from),
                std: std.map(|std| part(i16::from(std))),
                quantize: quantize.map(|(scale, zero)| (part(scale.into()), zero.into())),
            },
            Numbers::Wild { scale, mean, std, quantize } => {
                Normalize { scale, mean, std, quantize }
            }
        }
    }
}

impl Input {
    fn convert(&self, source: &TensorDyn, target: &TensorDyn) -> Option<Convert> {
        let size = |image: &TensorDyn| image.width().zip(image.height());
        let filters: Vec<Filter> = Filter::all().collect();
        let mut filter = filters[usize::from(self.filter) % filters.len()];
        if self.is_large() && matches!(filter, Filter::Bicubic | Filter::Lanczos3) {
            // Many pixels and many taps take the definition too long.
            filter = Filter::Antialiased;
        }
        let fit = match self.fit % 3 {
            0 => Fit::Stretch,
            1 => Fit::Letterbox { fill: self.fill },
            _ => Fit::Cover,
        };
        let sitings = [None, Some(Siting::Centre), Some(Siting::Left)];
        let convert = Convert::new()
            .crop(region(self.crop, size(source)?))
            .into(region(self.into, size(target)?))
            .fit(fit)
            .rotation(Rotation::from_degrees(u32::from(self.turn % 4) * 90).ok()?)
            .flips(self.turn & 4 != 0, self.turn & 8 != 0)
            .filter(filter)
            .colour(colour(self.colour))
            .siting(sitings[usize::from(self.siting % 3)])
            .normalize(self.normalize.normalize());
        Some(convert)
    }

    fn is_large(&self) -> bool {
        self.threads % 32 == 7
    }

    /// A destination, and what it is a part of.
    fn target(&self) -> Option<(TensorDyn, TensorDyn)> {
        let (whole, mut target) = self.target.make(0, 77)?;
        target.set_colour(colour(self.colours[1]));
        if let Some((scale, zero)) = self.quantization {
            let own = Quantization::per_tensor(f32::from(scale) / 256.0, zero.into()).ok()?;
            target.set_quantization(Some(own)).ok()?;
        }
        Some((whole, target))
    }
}

fn bytes(tensor: &TensorDyn) -> Vec<u8> {
    tensor.buffer().read().expect("free").as_bytes().to_vec()
}

fuzz_target!(|input: Input| {
    let more = if input.is_large() { 365 } else { 0 };
    let Some((_, mut source)) = input.source.make(more, input.seed) else { return };
    source.set_colour(colour(input.colours[0]));
    let (Some((_, expected)), Some((whole, result))) = (input.target(), input.target()) else {
        return;
    };
    let Some(convert) = input.convert(&source, &result) else { return };
    let before = bytes(&whole);

    let placement = REFERENCE.convert(&source, &expected, &convert);
    let own = CPU[usize::from(input.is_large())].convert(&source, &result, &convert);
    match (placement, own) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (Err(a), Err(b)) => {
            assert_eq!(a.to_string(), b.to_string());
            assert_eq!(bytes(&whole), before, "refused, and yet written");
            return;
        }
        (a, b) => panic!("the definition says {a:?}, the CPU {b:?}"),
    }
    let after = bytes(&whole);
    for at in outside(&whole, &input.target) {
        assert_eq!(after[at], before[at], "byte {at} is not of the picture");
    }
    if matches!(input.normalize, Numbers::Wild { .. }) {
        return;
    }
    let bound = Bound::new(&result, &convert);
    let (expected, result) = (numbers(&expected), numbers(&result));
    for (at, (want, have)) in expected.iter().zip(&result).enumerate() {
        assert!(bound.is_kept(*want, *have), "at {at}: {have}, not {want}, {bound:?}, {convert:?}");
    }
});
