//! What a publisher declares of its frames holds for all of them.
#![cfg(all(target_os = "linux", not(miri)))]

use tenure_stream::{Error, Meta, Publisher, Spec};
use tenure_tensor::{Colour, DType, DynTensor, PixelFormat, Quantization, TensorDyn, TensorMemory};

#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, next_any};

fn tensor(dtype: DType, shape: &[usize]) -> TensorDyn {
    TensorDyn::new(shape, dtype, Some(TensorMemory::Shm), None).unwrap()
}

fn image(format: PixelFormat, width: usize, height: usize) -> TensorDyn {
    TensorDyn::image(width, height, format, DType::U8, Some(TensorMemory::Shm), None).unwrap()
}

/// Publishes a tensor in every way that there is; all of them must agree.
fn publishes(publisher: &mut Publisher, tensor: &TensorDyn) -> Result<(), Error> {
    let claimed = publisher.claim_as(&Spec::like(tensor).unwrap()).map(drop);
    let copied = publisher.publish_copy(tensor, Meta::new()).map(drop);
    let sent = publisher.publish_tensor(tensor, Meta::new()).map(drop);
    assert_eq!((claimed.is_ok(), copied.is_ok()), (sent.is_ok(), sent.is_ok()), "{sent:?}");
    sent
}

fn refused(publisher: &mut Publisher, tensor: &TensorDyn) -> String {
    match publishes(publisher, tensor) {
        Err(error @ Error::OtherSpec { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn shape_and_elements_are_as_declared() {
    let stage = Stage::new();
    let spec = Spec::tensor(DType::U8, &[4]).unwrap();
    let mut publisher = stage.publisher("q").spec(spec.clone()).open().unwrap();
    let mut subscriber = stage.subscriber("q").open().unwrap();
    let words = refused(&mut publisher, &tensor(DType::F32, &[5]));
    for part in ["`q`", "u8 [4]", "f32 [5]", "initial_spec()"] {
        assert!(words.contains(part), "{words}");
    }
    refused(&mut publisher, &tensor(DType::U8, &[5]));
    refused(&mut publisher, &tensor(DType::I8, &[4]));
    refused(&mut publisher, &tensor(DType::U8, &[1, 4]));
    publishes(&mut publisher, &tensor(DType::U8, &[4])).unwrap();
    // Where rows lie is not declared.
    let every_other = tensor(DType::U8, &[8]).slice_step(0, 0..8, 2).unwrap();
    publishes(&mut publisher, &every_other).unwrap();
    publisher.claim().unwrap().publish(Meta::new()).unwrap();
    assert_eq!(next_any(&mut subscriber).shape(), [4]);
    drop(publisher);

    // Said explicitly, or not said at all, frames are free.
    let free = [
        stage.publisher("q").initial_spec(spec.clone()),
        stage.publisher("q").spec(spec.clone()).initial_spec(spec),
        stage.publisher("q"),
    ];
    for builder in free {
        let mut publisher = builder.open().unwrap();
        publishes(&mut publisher, &tensor(DType::F32, &[5])).unwrap();
        publishes(&mut publisher, &tensor(DType::U8, &[4])).unwrap();
    }
}

#[test]
fn pictures_are_as_declared() {
    let stage = Stage::new();
    let spec = Spec::image(32, 16, PixelFormat::Rgb).unwrap();
    let mut publisher = stage.publisher("p").spec(spec.clone()).open().unwrap();
    publishes(&mut publisher, &image(PixelFormat::Rgb, 32, 16)).unwrap();
    refused(&mut publisher, &image(PixelFormat::Rgb, 16, 32));
    refused(&mut publisher, &image(PixelFormat::Bgr, 32, 16));
    // The same elements, but nobody says what picture they are.
    let words = refused(&mut publisher, &tensor(DType::U8, &[16, 32, 3]));
    assert!(words.contains("rgb 32x16 of u8"), "{words}");
    // What was not declared is free, what was is not.
    let mut coloured = image(PixelFormat::Rgb, 32, 16);
    coloured.set_colour(Some(Colour::HD));
    publishes(&mut publisher, &coloured).unwrap();
    drop(publisher);
    let mut publisher = stage.publisher("p").spec(spec.with_colour(Colour::HD)).open().unwrap();
    publishes(&mut publisher, &coloured).unwrap();
    refused(&mut publisher, &image(PixelFormat::Rgb, 32, 16));
    drop(publisher);
    let plain = Spec::tensor(DType::U8, &[16, 32, 3]).unwrap();
    let mut publisher = stage.publisher("p").spec(plain.clone()).open().unwrap();
    publishes(&mut publisher, &image(PixelFormat::Rgb, 32, 16)).unwrap();
    drop(publisher);
    let quantized = plain.with_quantization(Quantization::per_tensor(0.5, 3).unwrap());
    let mut publisher = stage.publisher("p").spec(quantized).open().unwrap();
    refused(&mut publisher, &tensor(DType::U8, &[16, 32, 3]));
}

/// Nobody would take it: see `hostile_floods`.
#[test]
fn broadcast_tensors_are_not_published_as_they_are() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("b").open().unwrap();
    let mut subscriber = stage.subscriber("b").open().unwrap();
    let one = tensor(DType::U8, &[1]);
    let wide = one.broadcast_to(&[1 << 20]).unwrap();
    let refused = publisher.publish_tensor(&wide, Meta::new()).unwrap_err();
    assert!(refused.to_string().contains("send a copy"), "{refused}");
    // Nothing was sealed on the way.
    let file = one.buffer().raw().unwrap();
    let seals = rustix::fs::fcntl_get_seals(file.descriptor().unwrap()).unwrap();
    assert!(!seals.contains(rustix::fs::SealFlags::FUTURE_WRITE), "{seals:?}");
    publisher.publish_copy(&wide, Meta::new()).unwrap();
    assert_eq!(next_any(&mut subscriber).shape(), [1 << 20]);
}
