//! Frames through a stream, in one process: what arrives, when slots come back, what is refused.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_memory::{Access, Buffer, Request, allocate};
use tenure_stream::{Error, Guarded, Meta, Origin, SlotState, Spec, Subscriber};
use tenure_tensor::{
    Colour, DType, PixelFormat, Quantization, Region, Tensor, TensorDyn, TensorMemory,
};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, published, whole, words_spec};

#[test]
fn everybody_gets_every_frame() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 1000);
    let mut consumers: Vec<Subscriber> =
        (0..3).map(|_| stage.subscriber("words").open().unwrap()).collect();
    for sequence in 0..50 {
        let receipt = publish(&mut publisher, sequence).unwrap();
        assert_eq!((receipt.consumers, receipt.dropped), (3, 0));
        for consumer in &mut consumers {
            let frame = next(consumer);
            assert_eq!((frame.sequence(), frame.dropped()), (sequence, 0));
            assert_eq!((frame.memory(), frame.guarded()), (TensorMemory::Shm, Guarded::Sealed));
            assert!(frame.age() < SOON);
        }
    }
    // Memory for what was granted and claimed, and no more; the same all the time.
    let report = publisher.stats();
    assert_eq!(report.published, 50);
    assert_eq!(report.consumers.len(), 3);
    assert!(report.slots.len() <= 2 + 9, "{report:?}");
    assert!(report.slots.iter().all(|slot| slot.generation == 1));
}

#[test]
fn a_stream_that_repeats_another_has_its_numbers() {
    let stage = Stage::new();
    let origin = |paused| Origin { from: "elsewhere:words".to_owned(), paused };
    let mut publisher = stage
        .publisher("words")
        .spec(words_spec(10))
        .first_sequence(70)
        .origin(origin(false))
        .open()
        .unwrap();
    assert_eq!(stage.stat("words").origin, Some(origin(false)));
    let mut subscriber = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 70).unwrap();
    let frame = next(&mut subscriber);
    assert_eq!((frame.sequence(), frame.dropped()), (70, 0));

    publisher.skip(5);
    publish(&mut publisher, 76).unwrap();
    let frame = next(&mut subscriber);
    assert_eq!((frame.sequence(), frame.dropped(), frame.dropped_in_all()), (76, 5, 5));
    assert_eq!(stage.stat("words").dropped, 5);
    // Whoever comes later has lost nothing.
    let mut late = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 77).unwrap();
    assert_eq!(next(&mut late).dropped_in_all(), 0);

    publisher.set_origin(Some(origin(true)));
    assert_eq!(stage.stat("words").origin, Some(origin(true)));
    // A number from far away ends nothing.
    publisher.skip(u64::MAX);
    publisher.claim().unwrap().publish(Meta::new()).unwrap();
    publisher.claim().unwrap().publish(Meta::new()).unwrap();
}

#[test]
fn descriptions_travel_whole() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("pictures").open().unwrap();
    assert!(matches!(publisher.claim(), Err(Error::NoSpec { .. })));
    let mut subscriber = stage.subscriber("pictures").open().unwrap();
    let quantization = Quantization::per_axis(vec![0.5, 0.25, 2.0], vec![1, 2, 3], 0).unwrap();
    let specs = [
        Spec::image(64, 48, PixelFormat::Nv12).unwrap().with_colour(Colour::HD),
        Spec::image_of(33, 7, PixelFormat::Rgb, DType::U8, Some(128)).unwrap(),
        Spec::image_of(30, 20, PixelFormat::PlanarRgb, DType::F32, None).unwrap(),
        Spec::tensor(DType::I8, &[3, 4, 5]).unwrap().with_quantization(quantization.clone()),
        Spec::tensor(DType::F32, &[]).unwrap(),
        Spec::tensor(DType::F32, &[0, 4]).unwrap(),
    ];
    for spec in &specs {
        let slot = publisher.claim_as(spec).unwrap();
        let (shape, strides) = (slot.shape().to_vec(), slot.strides().to_vec());
        let (format, colour) = (slot.format(), slot.colour());
        slot.publish(Meta::new().timestamp(Duration::from_micros(77))).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!((frame.shape(), frame.strides()), (&shape[..], &strides[..]));
        assert_eq!((frame.format(), frame.colour()), (format, colour));
        assert_eq!(frame.timestamp(), Some(Duration::from_micros(77)));
        assert_eq!(
            frame.image_layout().map(|image| image.row_stride()),
            frame.image_layout().and(frame.effective_row_stride())
        );
        assert!(!frame.is_writable().unwrap());
    }
    let frame = publisher.claim_as(&specs[3]).unwrap();
    frame.publish(Meta::new()).unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!(frame.quantization(), Some(&quantization));
    assert_eq!(frame.timestamp(), None);
}

#[test]
fn a_slot_stays_until_the_last_handle_is_gone() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let mut subscriber = stage.subscriber("words").credits(1).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let frame = next(&mut subscriber);
    let part = frame.slice(0, 0..8).unwrap();
    let reading = part.typed::<u64>().unwrap().map_read().unwrap();
    drop(frame);
    drop(part);
    assert_eq!(publish(&mut publisher, 1).unwrap().dropped, 1);
    assert_eq!(published(&publisher), 1);
    assert_eq!(reading.as_slice(), [0; 8]);
    drop(reading);
    assert_eq!(published(&publisher), 0);
    assert_eq!(publish(&mut publisher, 2).unwrap().dropped, 0);
    let frame = next(&mut subscriber);
    assert_eq!((frame.sequence(), frame.dropped(), frame.dropped_in_all()), (2, 1, 1));
}

#[test]
fn what_was_published_cannot_be_written() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let slot = publisher.claim().unwrap();
    let kept = slot.clone();
    // A copy, or a device, that is not done.
    let hold = kept.buffer().hold(Access::KernelWrite, 0..8).unwrap();
    assert!(matches!(slot.publish(Meta::new()), Err(Error::StillHeld)));
    // The slot is given up when the last handle goes.
    assert_eq!(publisher.stats().slots[0].state, SlotState::Claimed);
    drop((kept, hold));
    assert_eq!(publisher.stats().slots[0].state, SlotState::Free);
    let slots = [publisher.claim().unwrap(), publisher.claim().unwrap()];
    let refused = publisher.claim().unwrap_err();
    assert!(
        matches!(&refused, Error::NoSlot(it) if matches!(**it, tenure_stream::detail::NoSlot { claimed: 2, limit: 2, .. })),
        "{refused}"
    );
    drop(slots);
    publisher.claim().unwrap().publish(Meta::new().blob(&[0; 16 << 10])).unwrap();
    let long = [0; (16 << 10) + 1];
    let refused = publisher.claim().unwrap().publish(Meta::new().blob(&long)).unwrap_err();
    assert!(matches!(refused, Error::TooLong { .. }), "{refused}");
}

#[test]
fn whoever_is_slow_loses_frames_and_nobody_else() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let mut slow = stage.subscriber("words").credits(2).open().unwrap();
    let mut quick = stage.subscriber("words").credits(2).open().unwrap();
    for sequence in 0..20 {
        publish(&mut publisher, sequence).unwrap();
        assert_eq!(next(&mut quick).sequence(), sequence);
    }
    let newest = slow.latest().unwrap().unwrap();
    assert_eq!((newest.sequence(), slow.skipped()), (1, 1));
    assert!(slow.latest().unwrap().is_none());
    publish(&mut publisher, 20).unwrap();
    let frame = next(&mut slow);
    assert_eq!((frame.sequence(), frame.dropped()), (20, 18));
    assert_eq!(slow.dropped(), 18);
    assert_eq!(newest.sequence(), 1);
    whole(&newest);
    let report = stage.stat("words");
    assert_eq!(report.dropped, 18);
    assert_eq!(report.consumers.iter().map(|it| it.sent).collect::<Vec<_>>(), [3, 21]);
}

#[test]
fn planes_in_several_memories_are_one_frame() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("planes").open().unwrap();
    let mut subscriber = stage.subscriber("planes").open().unwrap();
    let buffer = |bytes| {
        let raw = allocate(Some(TensorMemory::Shm), &Request::new(bytes).unwrap()).unwrap();
        Buffer::from_raw(raw)
    };
    let buffers = [buffer(64 * 32), buffer(64 * 16)];
    buffers[1].write().unwrap().as_bytes_mut().fill(9);
    let places = [(0, Some(64)), (0, Some(64))];
    let tensor =
        TensorDyn::from_plane_buffers(&buffers, &places, 64, 32, PixelFormat::Nv12, DType::U8)
            .unwrap();
    for _ in 0..3 {
        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert!(frame.is_multi_buffer());
        let chroma = frame.plane(1).unwrap();
        let hold = chroma.buffer().hold(Access::Read, 0..1).unwrap();
        assert_eq!(hold.len(), 1);
        assert_eq!(chroma.typed::<u8>().unwrap().map_read().unwrap().as_slice()[0], 9);
    }
    assert_eq!(publisher.stats().slots.len(), 1);
}

#[test]
fn an_iterator_ends_with_the_stream() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let mut subscriber = stage.subscriber("words").credits(5).open().unwrap();
    for sequence in 0..5 {
        publish(&mut publisher, sequence).unwrap();
    }
    drop(publisher);
    let seen: Vec<u64> = subscriber.frames().map(|frame| frame.unwrap().sequence()).collect();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

/// A crop is a view: where it begins and how its rows lie travels with the frame.
#[test]
fn a_crop_arrives_as_the_part_that_it_is() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("crops").open().unwrap();
    let mut subscriber = stage.subscriber("crops").open().unwrap();
    let memory = Some(TensorMemory::Shm);
    let picture = Tensor::<u8>::image(32, 16, PixelFormat::Rgb, memory, None).unwrap();
    for (at, byte) in picture.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = (at % 251) as u8;
    }
    let regions = [Region::new(0, 0, 32, 16), Region::new(5, 3, 7, 9), Region::new(31, 15, 1, 1)];
    for region in regions {
        let crop = picture.view(region).unwrap();
        publisher.publish_tensor(&crop, Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!((frame.shape(), frame.strides()), (crop.shape(), crop.strides()));
        assert_eq!((frame.width(), frame.height()), (Some(region.width), Some(region.height)));
        // All of it is the same memory: nothing was copied to cut it out.
        assert_eq!((frame.slot(), frame.generation()), (0, 1));
        let rows = frame.typed::<u8>().unwrap().map_rows_read().unwrap();
        for (y, x) in [(0, 0), (region.height - 1, region.width - 1)] {
            let (row, column) = (region.y + y, region.x + x);
            let expected = [0, 1, 2].map(|channel| ((row * 32 + column) * 3 + channel) % 251);
            let found = [0, 1, 2].map(|channel| usize::from(rows[y][x * 3 + channel]));
            assert_eq!(found, expected, "{region:?}");
        }
    }
}
