//! Descriptions that lie about the memory that comes with them: refused, or harmless.
#![cfg(all(linux_like, not(miri)))]

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use proptest::prelude::*;
use tenure_layout::Error as LayoutError;
use tenure_memory::Error as MemoryError;
use tenure_tensor::wire::{Description, Fault, ImageDescription};
use tenure_tensor::{DType, Error, PixelFormat, Quantization, Sharing, TensorDyn, receive, send};

#[path = "common/cases.rs"]
#[expect(dead_code, reason = "one of the tensors is enough here")]
mod cases;
#[path = "common/raw.rs"]
mod raw;

/// Bytes of every memory that is sent here.
const BYTES: usize = 4096;

fn plain() -> Description {
    Description {
        dtype: DType::U8,
        shape: vec![4, 100],
        strides: vec![100, 1],
        offset: 0,
        read_only: false,
        image: None,
        colour: None,
        quantization: None,
        name: None,
    }
}

fn nv12(planes: Vec<(u8, usize, usize)>) -> Description {
    let image = ImageDescription { format: PixelFormat::Nv12, width: 16, height: 8, planes };
    Description { shape: vec![12, 16], strides: vec![16, 1], image: Some(image), ..plain() }
}

/// What becomes of a body that is sent with so many memories.
fn arrives(body: &[u8], memories: usize) -> Result<TensorDyn, Error> {
    let (here, there) = UnixStream::pair().unwrap();
    let memory = cases::numbered(&[BYTES], DType::U8);
    let fd = memory.clone_fd().unwrap();
    // As in another process: the memory is mapped anew.
    drop(memory);
    raw::send(&here, &raw::message(body, memories), &vec![fd.as_fd(); memories]);
    receive(&there)
}

fn refused(description: &Description, memories: usize) -> Error {
    match arrives(&description.encode(), memories) {
        Err(error) => error,
        Ok(tensor) => panic!("{description:?} became {tensor:?}"),
    }
}

/// Touches every element, which must be harmless whatever was sent.
fn touch(tensor: &TensorDyn) {
    let memories = if tensor.is_multi_buffer() { tensor.plane_count() } else { 1 };
    assert!(tensor.flat_bytes() <= memories * BYTES, "{tensor:?}");
    if tensor.flat_bytes() <= 1 << 20 {
        let mut flat = vec![0; tensor.flat_bytes()];
        // Rows of an odd number of 4-bit elements would share bytes without their gaps.
        let copied = tensor.copy_to_flat(&mut flat);
        assert!(copied.is_ok() || tensor.dtype().is_sub_byte(), "{copied:?}");
    }
    let rows = |tensor: &TensorDyn| {
        if let Ok(map) = tensor.map_rows_read()
            && tensor.size_bytes() <= 1 << 20
        {
            map.rows().flatten().map(|byte| usize::from(*byte)).sum::<usize>();
        }
    };
    rows(tensor);
    let _ = tensor.map_strided_read().map(|map| map.as_ptr());
    for plane in 0..tensor.plane_count() {
        if let Ok(plane) = tensor.plane(plane) {
            assert!(plane.map_strided_read().is_ok());
            rows(&plane);
        }
    }
}

#[test]
fn the_truth_is_believed() {
    assert_eq!(arrives(&plain().encode(), 1).unwrap().shape(), &[4, 100]);
    let image = arrives(&nv12(vec![(0, 0, 16), (0, 128, 16)]).encode(), 1).unwrap();
    assert_eq!((image.width(), image.shape()), (Some(16), &[12, 16][..]));
    // Planes that follow each other need one place only.
    let short = arrives(&nv12(vec![(0, 0, 16)]).encode(), 1).unwrap();
    assert_eq!(short.image_layout(), image.image_layout());
    let several = Description { shape: vec![8, 16], ..nv12(vec![(0, 0, 16), (1, 100, 16)]) };
    let several = arrives(&several.encode(), 2).unwrap();
    assert_eq!((several.plane_count(), several.shape()), (2, &[8, 16][..]));
}

#[test]
fn sizes_beyond_the_memory() {
    let lies = [
        Description { shape: vec![41, 100], ..plain() },
        Description { shape: vec![BYTES + 1], strides: vec![1], ..plain() },
        Description { offset: BYTES - 399, ..plain() },
        Description { offset: isize::MAX as usize - 400, ..plain() },
        Description { dtype: DType::F64, shape: vec![513], strides: vec![1], ..plain() },
        Description { strides: vec![2000, 1], ..plain() },
        Description { dtype: DType::I4, shape: vec![2 * BYTES + 1], strides: vec![1], ..plain() },
    ];
    for lie in lies {
        let error = refused(&lie, 1);
        let known = matches!(error, Error::Layout(LayoutError::OutOfBounds { .. }));
        assert!(known, "{lie:?}: {error:?}");
    }
}

#[test]
fn sizes_beyond_all_memory() {
    let lies = [
        Description { shape: vec![usize::MAX, 2], ..plain() },
        Description { shape: vec![usize::MAX], strides: vec![1], ..plain() },
        Description { strides: vec![isize::MAX, 1], ..plain() },
        Description { strides: vec![-1, 1], ..plain() },
        Description { offset: usize::MAX, ..plain() },
        Description { shape: vec![0, usize::MAX], strides: vec![1, 1], ..plain() },
    ];
    for lie in lies {
        let error = refused(&lie, 1);
        let known = matches!(
            error,
            Error::Layout(LayoutError::TooLarge { .. } | LayoutError::Unaddressable { .. })
        );
        assert!(known, "{lie:?}: {error:?}");
    }
}

/// Broadcast elements and windows that slide: nothing lies outside the memory, and whoever copies
/// them would need any amount of it.
#[test]
fn more_elements_than_the_memory_has_bytes_for() {
    let lies = [
        (DType::U8, vec![1 << (usize::BITS - 3)], vec![0]),
        (DType::U8, vec![BYTES + 1], vec![0]),
        (DType::F64, vec![BYTES / 8 + 1], vec![0]),
        (DType::U8, vec![3000, 64], vec![1, 1]),
    ];
    for (dtype, shape, strides) in lies {
        let error = refused(&Description { dtype, shape, strides, ..plain() }, 1);
        assert!(
            matches!(&error, Error::Description(it) if matches!(**it, Fault::Packed { memory: BYTES, .. })),
            "{error}"
        );
    }
    let fits = Description { shape: vec![BYTES], strides: vec![0], ..plain() };
    touch(&arrives(&fits.encode(), 1).unwrap());
    // Whoever would send such a tensor is told before it is sealed or sent.
    let (here, _there) = UnixStream::pair().unwrap();
    let wide = cases::numbered(&[1], DType::U8).broadcast_to(&[1 << 20]).unwrap();
    let error = send(&here, &wide, Sharing::ReadOnly).unwrap_err();
    assert!(error.to_string().contains("send a copy"), "{error}");
}

#[test]
fn elements_off_their_alignment() {
    let lie =
        Description { dtype: DType::F32, shape: vec![4], strides: vec![1], offset: 2, ..plain() };
    let error = refused(&lie, 1);
    assert!(matches!(error, Error::Layout(LayoutError::Misaligned { .. })), "{error:?}");
}

#[test]
fn planes_beyond_the_memory() {
    for planes in [
        vec![(0, 0, 16), (0, BYTES - 63, 16)],
        vec![(0, BYTES, 16), (0, 0, 16)],
        vec![(0, 0, 16), (0, 128, 2000)],
        vec![(0, 0, 15), (0, 128, 16)],
        vec![(0, 0, 0), (0, 128, 16)],
        vec![(0, usize::MAX, 16), (0, 0, 16)],
        vec![(0, 0, usize::MAX), (0, 0, 16)],
        vec![],
        vec![(0, 0, 16); 3],
        vec![(1, 0, 16), (0, 128, 16)],
        vec![(0, 0, 16), (1, 128, 16)],
        vec![(0, 0, 16), (255, 128, 16)],
    ] {
        let lie = nv12(planes);
        let error = refused(&lie, 1);
        assert!(
            matches!(
                error,
                Error::Layout(_) | Error::Description(_) | Error::NotImageStrides { .. }
            ),
            "{lie:?}: {error:?}"
        );
    }
}

#[test]
fn images_that_are_not_the_tensor_described() {
    let truth = vec![(0, 0, 16), (0, 128, 16)];
    let image = |change: fn(&mut ImageDescription)| {
        let mut lie = nv12(truth.clone());
        lie.image.as_mut().map(change).unwrap();
        lie
    };
    let lies = [
        Description { shape: vec![8, 16], ..nv12(truth.clone()) },
        Description { shape: vec![12, 8], ..nv12(truth.clone()) },
        Description { shape: vec![192], strides: vec![1], ..nv12(truth.clone()) },
        Description { offset: 16, ..nv12(truth.clone()) },
        Description { strides: vec![8, 1], ..nv12(truth.clone()) },
        Description { dtype: DType::F32, ..nv12(truth.clone()) },
        image(|image| image.width = 0),
        image(|image| image.height = 0),
        image(|image| image.width = 14),
        image(|image| image.height = 6),
        image(|image| (image.width, image.height) = (usize::MAX, usize::MAX)),
        image(|image| image.format = PixelFormat::I420),
        image(|image| image.format = PixelFormat::Rgb),
    ];
    for lie in lies {
        refused(&lie, 1);
    }
}

#[test]
fn more_memories_than_are_needed() {
    use tenure_memory::MessageFault::Descriptors;
    for (description, memories) in [
        (plain(), 0),
        (plain(), 2),
        (plain(), 4),
        (nv12(vec![(0, 0, 16), (0, 128, 16)]), 0),
        (nv12(vec![(0, 0, 16), (1, 128, 16)]), 3),
    ] {
        match refused(&description, memories) {
            Error::Memory(MemoryError::Message(message)) => {
                let Descriptors { found, .. } = message.reason else { panic!("{message:?}") };
                assert_eq!(found, memories);
            }
            other => panic!("{description:?}: {other:?}"),
        }
    }
    // A batch is in one memory.
    let batch = nv12(vec![(0, 0, 16), (1, 0, 16)]);
    let batch = Description { shape: vec![2, 12, 16], strides: vec![192, 16, 1], ..batch };
    refused(&batch, 2);
}

#[test]
fn quantisations_that_do_not_fit() {
    let by_axis = |axis| Some(Quantization::per_axis(vec![1.0; 3], vec![], axis).unwrap());
    for lie in [
        Description { quantization: by_axis(0), ..plain() },
        Description { quantization: by_axis(7), ..plain() },
        Description {
            dtype: DType::F32,
            shape: vec![3],
            strides: vec![1],
            quantization: by_axis(0),
            ..plain()
        },
    ] {
        refused(&lie, 1);
    }
}

fn honest_bodies() -> impl Strategy<Value = (Vec<u8>, usize)> {
    let image = nv12(vec![(0, 32, 16), (0, 256, 16)]);
    let several = nv12(vec![(0, 0, 16), (1, 0, 16)]);
    let quantised = Quantization::per_axis(vec![0.5; 4], vec![1; 4], 0).unwrap();
    prop_oneof![
        Just((Description { quantization: Some(quantised), ..plain() }.encode(), 1)),
        Just((Description { offset: 32, name: Some("frame".into()), ..image }.encode(), 1)),
        Just((Description { shape: vec![8, 16], ..several }.encode(), 2)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    /// Whatever is changed on the way: an error, or a tensor inside its memory.
    #[test]
    fn changed_bytes_do_no_harm(
        (body, memories) in honest_bodies(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut body = body;
        for (at, value) in changes {
            let at = at.index(body.len());
            body[at] = value;
        }
        if let Ok(tensor) = arrives(&body, memories) {
            touch(&tensor);
        }
    }

    #[test]
    fn any_bytes_do_no_harm(body in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(tensor) = arrives(&body, 1) {
            touch(&tensor);
        }
    }

    /// Any numbers in a message that is otherwise well made.
    #[test]
    fn any_numbers_do_no_harm(
        dtype in 0u8..18,
        dims in prop::collection::vec((number(), stride()), 0..5),
        offset in number(),
        image in prop::option::of((0u8..15, 0usize..70, 0usize..70, prop::collection::vec((0u8..2, number(), number()), 0..4))),
    ) {
        let (shape, strides) = dims.into_iter().unzip();
        let image = image.map(|(format, width, height, planes)| ImageDescription {
            format: PixelFormat::from_code(format).unwrap(),
            width,
            height,
            planes,
        });
        let dtype = DType::from_code(dtype).unwrap();
        let body = Description { dtype, shape, strides, offset, image, ..plain() }.encode();
        if let Ok(tensor) = arrives(&body, 1) {
            touch(&tensor);
        }
    }
}

/// Small numbers mostly, and the ones that break sums.
fn number() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0usize..100, 2 => 0usize..5000, 1 => any::<usize>(), 1 => Just(usize::MAX)]
}

fn stride() -> impl Strategy<Value = isize> {
    prop_oneof![8 => -20isize..100, 1 => any::<isize>(), 1 => Just(isize::MIN)]
}
