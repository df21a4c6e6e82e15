//! Foreign code that writes to frames in DMA-BUFs, of which the kernel has no private pages.
#![expect(unsafe_code, reason = "does what foreign code does: writes through a pointer")]

use tenure_layout::{DType, Layout};
use tenure_memory::Access;
use tenure_stream::Meta;
use tenure_tensor::{TensorDyn, TensorMemory};

use crate::stage::{SOON, Stage, next, publish, until, whole, words_spec};
use crate::{dma, published, sources};

const WORDS: usize = 8192;

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn an_export_of_a_frame_is_a_copy() {
    let stage = Stage::new();
    let builder = stage.publisher("s").spec(words_spec(WORDS)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let [mut one, mut other] = [(); 2].map(|()| stage.subscriber("s").open().unwrap());
    for sequence in 0..8 {
        publish(&mut publisher, sequence).unwrap();
        let (frame, beside) = (next(&mut one), next(&mut other));
        assert_eq!(frame.memory(), TensorMemory::Dma);
        assert!(frame.buffer().raw().unwrap().exports_copies());
        let hold = frame.buffer().hold(Access::ExportRead, 0..WORDS * 8).unwrap();
        // SAFETY: inside what is held.
        unsafe {
            assert_eq!(hold.address().as_ptr().cast::<u64>().read(), sequence);
            hold.address().as_ptr().write_bytes(99, WORDS * 8);
        }
        whole(&frame);
        whole(&beside);
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_view_kept_past_publishing_keeps_the_memory() {
    let stage = Stage::new();
    let builder = stage.publisher("s").spec(words_spec(WORDS)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = stage.subscriber("s").open().unwrap();
    let mut kept = vec![];
    for sequence in 0..8u64 {
        let slot = publisher.claim().unwrap();
        let hold = slot.buffer().hold(Access::ExportWrite, 0..WORDS * 8).unwrap();
        let words = hold.address().as_ptr().cast::<u64>();
        // SAFETY: inside what is held.
        (0..WORDS).for_each(|word| unsafe { words.add(word).write(sequence) });
        slot.publish(Meta::new().blob(&sequence.to_le_bytes())).unwrap();
        // SAFETY: inside what is held.
        unsafe { words.write(100 + sequence) };
        let frame = next(&mut subscriber);
        assert_eq!(frame.memory(), TensorMemory::Dma);
        kept.push(hold);
    }
    for (sequence, hold) in kept.iter().enumerate() {
        let words = hold.address().as_ptr().cast::<u64>();
        // SAFETY: inside what is held.
        let seen = unsafe { (words.read(), words.add(WORDS - 1).read()) };
        assert_eq!(seen, (100 + sequence as u64, sequence as u64));
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_published_buffer_is_not_written_through_exports() {
    for source in sources() {
        let stage = Stage::new();
        let mut publisher = stage.publisher("s").memory(TensorMemory::Dma).open().unwrap();
        let mut subscriber = stage.subscriber("s").open().unwrap();
        let buffer = dma(source, 4096);
        let layout = Layout::contiguous(DType::U8, &[4096]).unwrap();
        let tensor = TensorDyn::from_buffer(buffer.clone(), layout).unwrap();
        let array = buffer.hold(Access::ExportWrite, 0..4096).unwrap();
        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        // SAFETY: inside what is held.
        unsafe { array.address().as_ptr().write_bytes(9, 4096) };
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert!(frame.map_read().unwrap().as_slice().iter().all(|byte| *byte == 0));
        drop((array, frame));

        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert!(buffer.hold(Access::ExportWrite, 0..4096).unwrap_err().is_busy());
        let array = buffer.hold(Access::ExportRead, 0..4096).unwrap();
        // SAFETY: inside what is held.
        unsafe { array.address().as_ptr().write_bytes(5, 4096) };
        assert!(frame.map_read().unwrap().as_slice().iter().all(|byte| *byte == 9));
        drop((array, frame));
        until("it is back", || published(&publisher) == 0);
        drop(buffer.hold(Access::ExportWrite, 0..4096).unwrap());
    }
}
