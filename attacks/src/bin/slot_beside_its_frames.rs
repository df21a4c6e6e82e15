//! Reading what is being filled, and writing what is published, through a second mapping of the
//! same memory in the same process.
#![forbid(unsafe_code)]

use std::time::Duration;

use tenure::memory::{Access, Error, Protection, import};
use tenure::{DType, DynTensor, TensorDyn, TensorMemory};
use tenure_attacks::{memory, refused};
use tenure_stream::{Meta, Publisher, Spec, Subscriber};

const SOON: Duration = Duration::from_secs(60);

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let spec = Spec::tensor(DType::U8, &[4096]).expect("a spec");
    let builder = Publisher::builder("s").directory(directory.path()).spec(spec);
    let mut publisher = builder.open().expect("a publisher");
    let mut subscriber =
        Subscriber::builder("s").directory(directory.path()).open().expect("a subscriber");

    // The slot's descriptor leads to its bytes a second time, at another address.
    let slot = publisher.claim().expect("a slot");
    let fd = slot.clone_fd().expect("shared memory");
    let second = import(&fd, 4096, Protection::ReadOnly, None).expect("our own memory");
    let filling = slot.map().expect("free");
    refused!(second.read(), Error::Busy { .. });
    drop(filling);
    refused!(second.read(), Error::Busy { .. });
    slot.publish(Meta::new()).expect("published");
    let frame = subscriber.next(SOON).expect("a stream").expect("a frame");
    assert_eq!(second.read().expect("published").as_bytes()[..3], [0; 3]);
    drop(frame);
    // Whoever reads there keeps the slot from being filled here.
    let reading = second.read().expect("free");
    let refusal = (0..1000).find_map(|_| match publisher.claim() {
        Ok(slot) => {
            slot.publish(Meta::new()).expect("published");
            drop(subscriber.next(SOON).expect("a stream"));
            None
        }
        Err(error) => Some(error.to_string()),
    });
    assert!(refusal.is_some_and(|words| words.contains("held for read")));
    drop(reading);

    // What is published as it is: no writer, in Rust or lent to foreign code.
    let tensor = TensorDyn::new(&[4096], DType::U8, Some(TensorMemory::Shm), None);
    let tensor = tensor.expect("memory");
    publisher.publish_tensor(&tensor, Meta::new()).expect("published");
    let frame = subscriber.next(SOON).expect("a stream").expect("a frame");
    refused!(tensor.map(), memory!(Busy { .. }));
    refused!(tensor.typed::<u8>().expect("bytes").fill(1), memory!(Busy { .. }));
    let whole = 0..tensor.size_bytes();
    refused!(tensor.buffer().hold(Access::ExportWrite, whole), Error::Busy { .. });
    assert!(tensor.to_dlpack().expect("to read").is_read_only());
    drop(frame);
}
