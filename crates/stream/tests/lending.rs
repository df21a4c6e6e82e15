//! Memory of the user's own through a stream: when it is kept, and when it comes back.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_layout::Layout;
use tenure_memory::open_file;
use tenure_stream::{Meta, Spec};
use tenure_tensor::{DType, PixelFormat, Region, Tensor, TensorDyn, TensorMemory};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, until};

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
    assert!(tensor.map().unwrap_err().to_string().contains("published"));
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((frame.format(), frame.name()), (Some(PixelFormat::Nv12), Some("frame")));
    assert_eq!(frame.typed::<u8>().unwrap().map_read().unwrap().as_slice()[9], 7);
    let first = (frame.slot(), frame.generation());
    drop(frame);
    // The service notices by itself.
    until("the tensor comes back", || tensor.map().is_ok());
    // The same memory is the same slot.
    tensor.fill(8).unwrap();
    publisher.publish_tensor(&tensor.view(Region::new(2, 2, 16, 8)).unwrap(), Meta::new()).unwrap();
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
fn a_mapped_file_is_published_as_a_copy() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("files").open().unwrap();
    let mut subscriber = stage.subscriber("files").open().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [7; 5000]).unwrap();
    let buffer = open_file(file.path()).unwrap();
    let layout = Layout::contiguous(DType::U8, &[5000]).unwrap();
    let mapped = TensorDyn::from_buffer(buffer, layout).unwrap();
    for round in 0..3 {
        assert_eq!(publisher.publish_tensor(&mapped, Meta::new()).unwrap().consumers, 1);
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!((frame.sequence(), frame.memory()), (round, TensorMemory::Shm));
        assert_eq!(frame.typed::<u8>().unwrap().map_read().unwrap().as_slice(), [7; 5000]);
    }
}

#[test]
fn a_copy_of_a_file_that_was_cut_off_is_not_published() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("cut").open().unwrap();
    let mut subscriber = stage.subscriber("cut").open().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [7; 10_000]).unwrap();
    let tensor = TensorDyn::open(file.path()).unwrap();
    file.as_file().set_len(100).unwrap();
    let error = publisher.publish_copy(&tensor, Meta::new()).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert!(subscriber.try_next().unwrap().is_none());
    // The slot is free again.
    publisher.claim_as(&Spec::like(&tensor).unwrap()).unwrap().publish(Meta::new()).unwrap();
    assert!(subscriber.next(SOON).unwrap().is_some());
}
