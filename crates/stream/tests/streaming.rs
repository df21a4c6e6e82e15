//! Frames through a stream, in one process: what arrives, when slots come back, what is refused.
#![cfg(all(target_os = "linux", not(miri)))]

use std::os::fd::OwnedFd;
use std::time::Duration;

use tenure_memory::{Access, Buffer, Fence, Request, allocate};
use tenure_stream::{
    Error, Guarded, Meta, Origin, Publisher, SlotState, Spec, Subscriber, directory, list_in,
    stat_in,
};
use tenure_tensor::{Colour, DType, PixelFormat, Quantization, Tensor, TensorDyn, TensorMemory};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, until, whole, words_spec};

fn published(publisher: &Publisher) -> usize {
    let busy =
        |slot: &&tenure_stream::SlotReport| matches!(slot.state, SlotState::Published { .. });
    publisher.stats().slots.iter().filter(busy).count()
}

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
        Spec::image(PixelFormat::Nv12, 64, 48).unwrap().with_colour(Colour::HD),
        Spec::image_of(PixelFormat::Rgb, DType::U8, 33, 7, Some(128)).unwrap(),
        Spec::image_of(PixelFormat::PlanarRgb, DType::F32, 30, 20, None).unwrap(),
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
    let kept = slot.share();
    assert!(matches!(slot.publish(Meta::new()), Err(Error::StillHeld)));
    // The slot is given up when the last handle goes.
    assert_eq!(publisher.stats().slots[0].state, SlotState::Claimed);
    drop(kept);
    assert_eq!(publisher.stats().slots[0].state, SlotState::Free);
    let slots = [publisher.claim().unwrap(), publisher.claim().unwrap()];
    let refused = publisher.claim().unwrap_err();
    assert!(matches!(refused, Error::NoSlot { claimed: 2, limit: 2, .. }), "{refused}");
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
fn credits_are_granted_while_there_are_some() {
    let stage = Stage::new();
    let publisher = stage.publisher("words").spec(words_spec(64)).credits(5).open().unwrap();
    let first = stage.subscriber("words").credits(3).open().unwrap();
    let second = stage.subscriber("words").credits(3).open().unwrap();
    assert_eq!((first.credits(), second.credits()), (3, 2));
    let refused = stage.subscriber("words").open().unwrap_err();
    assert!(refused.to_string().contains("all of its 5 credits"), "{refused}");
    assert_eq!(publisher.stats().slots.len(), 2 + 5);
    drop(first);
    let third = stage.subscriber("words").credits(9).open().unwrap();
    assert_eq!(third.credits(), 3);
    drop((second, third));
    // What nobody needs any more is given back.
    until("memory comes back", || publisher.stats().bytes() <= 2 * 4096);
}

/// The first frame that is lent makes the stream notice releases at once, also those of whoever is
/// being let in at that moment.
#[test]
fn whoever_comes_while_a_stream_begins_to_lend_gives_back_too() {
    let stage = Stage::new();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    for round in 0..300 {
        let mut publisher = stage.publisher("lent").open().unwrap();
        std::thread::scope(|scope| {
            let coming = scope.spawn(|| stage.subscriber("lent").open().unwrap());
            // A little later in every round, over the time that letting in takes.
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_micros(round) {}
            publisher.publish_tensor(&tensor, Meta::new()).unwrap();
            let mut subscriber = coming.join().unwrap();
            until("the tensor comes back", || {
                drop(subscriber.latest().unwrap());
                tensor.map().is_ok()
            });
            publisher.publish_tensor(&tensor, Meta::new()).unwrap();
            drop(subscriber.next(SOON).unwrap().unwrap());
            until("the tensor comes back", || tensor.map().is_ok());
        });
    }
}

#[test]
fn tensors_of_the_user_are_kept_until_consumers_let_go() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").open().unwrap();
    let mut subscriber = stage.subscriber("lent").open().unwrap();
    let memory = Some(TensorMemory::Shm);
    let tensor = Tensor::<u8>::image(64, 32, PixelFormat::Nv12, memory, Some("frame")).unwrap();
    tensor.fill(7).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    // Published as it is: nobody may write while somebody reads.
    assert!(tensor.map().unwrap_err().to_string().contains("device"));
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((frame.format(), frame.name()), (Some(PixelFormat::Nv12), Some("frame")));
    assert_eq!(frame.typed::<u8>().unwrap().map_read().unwrap().as_slice()[9], 7);
    let first = (frame.slot(), frame.generation());
    drop(frame);
    // The service notices by itself.
    until("the tensor comes back", || tensor.map().is_ok());
    // The same memory is the same slot.
    tensor.fill(8).unwrap();
    publisher
        .publish_tensor(&tensor.view(tenure_tensor::Region::new(2, 2, 16, 8)).unwrap(), Meta::new())
        .unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((frame.slot(), frame.generation()), first);
    assert_eq!((frame.width(), frame.height()), (Some(16), Some(8)));
    assert_eq!(frame.plane(1).unwrap().shape(), [4, 8, 2]);
    // A writer is in the way of publishing.
    drop(frame);
    until("the tensor comes back", || tensor.map().is_ok());
    let writing = tensor.map().unwrap();
    assert!(publisher.publish_tensor(&tensor, Meta::new()).is_err());
    drop(writing);
    // The heap cannot be shared; a copy can.
    let heap = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    assert!(publisher.publish_tensor(&heap, Meta::new()).is_err());
    publisher.publish_copy(&heap, Meta::new()).unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!(frame.typed::<f32>().unwrap().map_read().unwrap().as_slice(), [1.0, 2.0]);
}

#[test]
fn memory_of_the_user_is_reported_as_what_it_is() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").memory(TensorMemory::Dma).open().unwrap();
    assert_eq!((publisher.stats().memory.as_str(), publisher.stats().bytes()), ("dma", 0));
    let tensor = Tensor::<u8>::new(&[10_000], Some(TensorMemory::Shm), None).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let report = publisher.stats();
    let bytes = tensor.buffer().raw().unwrap().size();
    assert_eq!((report.memory.as_str(), report.bytes()), ("shm", bytes));
    assert!(bytes >= 10_000 && report.slots[0].borrowed);
    // The stream does not keep it.
    drop(tensor);
    assert_eq!(publisher.stats().bytes(), 0);
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
fn frames_outlive_their_stream() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 4096);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 0).unwrap();
    publish(&mut publisher, 1).unwrap();
    let held = next(&mut subscriber);
    drop(publisher);
    // What was sent before the end still comes.
    let last = next(&mut subscriber);
    assert!(matches!(subscriber.next(SOON), Err(Error::Ended { dead: false, .. })));
    assert!(matches!(subscriber.next(SOON), Err(Error::Ended { dead: false, .. })));
    // The name is free at once; the next life is another one.
    let mut publisher = stage.words("words", 64);
    let before = subscriber.incarnation();
    subscriber.reopen(SOON).unwrap();
    assert_ne!(subscriber.incarnation(), before);
    publish(&mut publisher, 0).unwrap();
    let new = next(&mut subscriber);
    drop(subscriber);
    whole(&held);
    whole(&last);
    whole(&new);
    // The subscriber is gone, its frame holds the slot.
    assert_eq!(published(&publisher), 1);
    assert_eq!(publish(&mut publisher, 1).unwrap().consumers, 0);
    drop(new);
    until("the slot comes back", || published(&publisher) == 0);
    assert_eq!(publisher.stats().consumers.len(), 0);
}

#[test]
fn whoever_follows_finds_the_next_producer() {
    let stage = Stage::new();
    let refused = stage.subscriber("words").open().unwrap_err();
    assert!(matches!(refused, Error::NoStream { .. }), "{refused}");
    let mut publisher = stage.words("words", 64);
    let mut subscriber = stage.subscriber("words").wait(SOON).follow(true).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    drop(next(&mut subscriber));
    drop(publisher);
    assert!(subscriber.next(Duration::from_millis(50)).unwrap().is_none());
    let mut publisher = stage.words("words", 64);
    let waiting = std::thread::spawn(move || {
        let frame = next(&mut subscriber);
        frame.sequence()
    });
    until("it is back", || publisher.consumers() == 1);
    publish(&mut publisher, 0).unwrap();
    assert_eq!(waiting.join().unwrap(), 0);
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

#[test]
fn whoever_is_put_out_keeps_what_he_reads() {
    let stage = Stage::new();
    let mut publisher = stage
        .publisher("words")
        .spec(words_spec(4096))
        .evict_after(Duration::from_millis(100))
        .open()
        .unwrap();
    let mut hung = stage.subscriber("words").credits(2).open().unwrap();
    let mut other = stage.subscriber("words").credits(2).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    publish(&mut publisher, 1).unwrap();
    let held = [next(&mut hung), next(&mut hung)];
    let kept = next(&mut other);
    drop(next(&mut other));
    let mut sequence = 2;
    until("it is put out", || {
        publish(&mut publisher, sequence).unwrap();
        let _ = other.latest().unwrap();
        sequence += 1;
        publisher.consumers() == 1
    });
    // A hundred frames more than there are slots: none of them touches what was held.
    for _ in 0..100 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut other));
        sequence += 1;
    }
    held.iter().for_each(whole);
    whole(&kept);
    assert!(matches!(hung.next(SOON), Err(Error::Evicted { credits: 2, .. })));
    drop(kept);
    for _ in 0..20 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut other));
        sequence += 1;
    }
    held.iter().for_each(whole);
    // It may come back: to new memory, of a new generation.
    hung.reopen(SOON).unwrap();
    assert!(publisher.stats().slots.iter().any(|slot| slot.generation == 2));
    publish(&mut publisher, sequence).unwrap();
    drop(next(&mut hung));
}

#[test]
fn a_name_has_one_producer() {
    let stage = Stage::new();
    let publisher = stage.words("cam0/frame", 8);
    let refused = stage.publisher("cam0/frame").open().unwrap_err();
    assert!(matches!(refused, Error::Taken { .. }), "{refused}");
    let other = stage.words("cam0/input", 8);
    let names = |alive| -> Vec<String> {
        let all = list_in(stage.path()).unwrap().into_iter();
        all.filter(|stream| stream.alive == alive).map(|stream| stream.name).collect()
    };
    assert_eq!(names(true), ["cam0/frame", "cam0/input"]);
    drop(publisher);
    assert_eq!(names(true), ["cam0/input"]);
    assert!(matches!(stat_in(stage.path(), "cam0/frame"), Err(Error::NoStream { .. })));
    drop(other);
    assert_eq!((names(true).len(), names(false).len()), (0, 0));
    assert!(list_in(stage.path().join("none")).unwrap().is_empty());
    assert!(directory().is_absolute());
}

#[test]
fn reports_come_from_other_connections() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 512);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    for sequence in 0..10 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut subscriber));
        std::thread::sleep(Duration::from_millis(2));
    }
    publish(&mut publisher, 10).unwrap();
    let report = stage.stat("words");
    assert_eq!(report, StreamReportLike(&publisher).with(&report));
    assert_eq!((report.name.as_str(), report.pid), ("words", std::process::id()));
    assert_eq!((report.published, report.memory.as_str()), (11, "shm"));
    assert!(report.rate > 10.0 && report.rate < 1000.0, "{}", report.rate);
    assert_eq!(report.consumers[0].held, 1);
    assert_eq!(report.consumers[0].pid, std::process::id());
    let frame = report.frame.unwrap();
    assert_eq!((frame.dtype.as_str(), frame.shape.as_slice()), ("u64", &[512][..]));
}

/// The publisher's own report, with the moments of another.
struct StreamReportLike<'a>(&'a Publisher);

impl StreamReportLike<'_> {
    fn with(&self, other: &tenure_stream::StreamReport) -> tenure_stream::StreamReport {
        let mut own = self.0.stats();
        (own.seconds, own.rate) = (other.seconds, other.rate);
        for (own, other) in own.consumers.iter_mut().zip(&other.consumers) {
            own.idle_seconds = other.idle_seconds;
        }
        own
    }
}

#[test]
fn a_publisher_without_a_thread_is_served_by_hand() {
    let stage = Stage::new();
    let builder = stage.publisher("words").spec(words_spec(8)).without_thread();
    let mut publisher = builder.open().unwrap();
    let joining = stage.subscriber("words");
    let joining = std::thread::spawn(move || joining.open().unwrap());
    until("it knocks", || {
        publisher.serve().unwrap();
        publisher.consumers() == 1
    });
    let mut subscriber = joining.join().unwrap();
    publish(&mut publisher, 0).unwrap();
    drop(next(&mut subscriber));
    drop(subscriber);
    until("it leaves", || {
        publisher.serve().unwrap();
        publisher.consumers() == 0
    });
}

/// A fence that is done when a byte is written.
fn fence() -> (Fence, OwnedFd) {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    (Fence::from_fd(read).unwrap(), write)
}

#[test]
fn a_frame_waits_for_the_device_that_writes_it() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let mut early = stage.subscriber("words").explicit_fences(true).open().unwrap();
    let (writing, done) = fence();
    let slot = publisher.claim().unwrap();
    slot.publish(Meta::new().fence(&writing)).unwrap();
    assert!(subscriber.next(Duration::from_millis(20)).unwrap().is_none());
    assert!(!early.next(SOON).unwrap().unwrap().fence().unwrap().is_done().unwrap());
    rustix::io::write(&done, &[1]).unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((frame.sequence(), frame.fence().is_none()), (0, true));
    drop(frame);
    // A device that fails is an error, and not the end.
    let (writing, done) = fence();
    publisher.claim().unwrap().publish(Meta::new().fence(&writing)).unwrap();
    drop(done);
    assert!(subscriber.next(SOON).is_err());
    publish(&mut publisher, 2).unwrap();
    assert_eq!(next(&mut subscriber).sequence(), 2);
}

#[test]
fn a_slot_waits_for_the_device_that_reads_it() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut subscriber = stage.subscriber("words").credits(1).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let (reading, done) = fence();
    next(&mut subscriber).release_after(reading);
    assert_eq!(published(&publisher), 1);
    assert_eq!(publish(&mut publisher, 1).unwrap().dropped, 1);
    rustix::io::write(&done, &[1]).unwrap();
    assert_eq!(published(&publisher), 0);
    assert_eq!(publish(&mut publisher, 2).unwrap().dropped, 0);
    // Whoever leaves with a fence that is not done leaves the slot retired, not reused.
    let (reading, _done) = fence();
    next(&mut subscriber).release_after(reading);
    drop(subscriber);
    until("it is gone", || publisher.stats().consumers.is_empty());
    assert_eq!(published(&publisher), 0);
    assert!(publisher.stats().slots.iter().any(|slot| slot.state == SlotState::Vacant));
}

#[test]
fn memory_of_the_user_waits_for_the_device_that_reads_it() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").open().unwrap();
    let mut subscriber = stage.subscriber("lent").open().unwrap();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let (reading, done) = fence();
    subscriber.next(SOON).unwrap().unwrap().release_after(reading);
    until("the release is heard", || publisher.stats().consumers[0].held == 1);
    std::thread::sleep(Duration::from_millis(20));
    assert!(tensor.map().is_err());
    rustix::io::write(&done, &[1]).unwrap();
    until("the tensor comes back", || tensor.map().is_ok());
}

#[test]
fn a_pipe_called_like_a_fence_of_the_kernel_keeps_nothing() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").open().unwrap();
    let mut subscriber = stage.subscriber("lent").open().unwrap();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let path = stage.path().join("sync_file");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let fifo = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let never = Fence::from_fd(&fifo).unwrap();
    subscriber.next(SOON).unwrap().unwrap().release_after(never);
    // Whoever waits for it waits for a process that is gone.
    drop(subscriber);
    until("the tensor comes back", || tensor.map().is_ok());
}

#[test]
fn what_was_lent_outlives_the_publisher() {
    for thread in [true, false] {
        let stage = Stage::new();
        let builder = stage.publisher("lent");
        let builder = if thread { builder } else { builder.without_thread() };
        let mut publisher = builder.open().unwrap();
        let joining = stage.subscriber("lent");
        let joining = std::thread::spawn(move || joining.open().unwrap());
        until("it is there", || {
            publisher.serve().unwrap();
            publisher.consumers() == 1
        });
        let mut subscriber = joining.join().unwrap();
        let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        drop(publisher);
        std::thread::sleep(Duration::from_millis(10));
        assert!(tensor.map().is_err(), "somebody still reads it");
        drop(frame);
        until("it comes back", || tensor.map().is_ok());
    }
}

/// What comes back while the same memory is published again does not free it for others.
#[test]
fn a_tensor_can_be_lent_again_to_one_who_just_gave_it_back() {
    let stage = Stage::new();
    // Without a thread, so that releases are heard by the next `publish_tensor` alone.
    let mut publisher = stage.publisher("lent").without_thread().open().unwrap();
    let joining = stage.subscriber("lent").credits(1);
    let joining = std::thread::spawn(move || joining.open().unwrap());
    until("it is there", || {
        publisher.serve().unwrap();
        publisher.consumers() == 1
    });
    let mut subscriber = joining.join().unwrap();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    for sequence in 0..4 {
        let receipt = publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        assert_eq!((receipt.sequence, receipt.consumers), (sequence, 1));
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!(frame.sequence(), sequence);
        assert_eq!(publisher.stats().consumers[0].held, 1, "frame {sequence}");
        assert!(tensor.map().is_err(), "somebody reads frame {sequence}");
    }
    assert!(!publisher.stats().consumers[0].evicted);
    until("it comes back", || {
        publisher.serve().unwrap();
        tensor.map().is_ok()
    });
}

#[test]
fn the_rate_of_a_stream_that_pauses_falls_to_nothing() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut next = 0;
    for _ in 0..2 {
        until("it runs", || {
            publish(&mut publisher, next).unwrap();
            next += 1;
            stage.stat("words").rate > 0.0
        });
        until("it has paused", || stage.stat("words").rate == 0.0);
    }
}
