//! Writing to a frame after it was published, through whatever was made of the slot before: a
//! guard, a view, a handle, a structure lent to foreign code and taken back.
#![forbid(unsafe_code)]

use std::time::Duration;

use tenure::{DType, TensorDyn};
use tenure_attacks::{memory, refused};
use tenure_stream::{Meta, Publisher, Spec, Subscriber};

const SOON: Duration = Duration::from_secs(60);

fn bytes(tensor: &TensorDyn) -> Vec<u8> {
    tensor.map_read().expect("free").as_slice().to_vec()
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let spec = Spec::tensor(DType::U8, &[20_000]).expect("a spec");
    let builder = Publisher::builder("s").directory(directory.path()).spec(spec);
    let mut publisher = builder.open().expect("a publisher");
    let mut subscriber =
        Subscriber::builder("s").directory(directory.path()).open().expect("a subscriber");
    let mut all_kept = vec![];
    for round in 0..10 {
        let slot = publisher.claim().expect("a slot");
        slot.typed::<u8>().expect("bytes").fill(round).expect("free");
        let (handle, view) = (slot.clone(), slot.slice(0, 5_000..20_000).expect("inside"));
        let mut guard = handle.slice(0, 0..5_000).expect("inside").map().expect("free");
        let lent = view.to_dlpack().expect("free");
        slot.publish(Meta::new()).expect("published");

        let frame = subscriber.next(SOON).expect("a stream").expect("a frame");
        guard.as_mut_slice().fill(100);
        let taken_back = TensorDyn::from_dlpack(lent).expect("our own");
        taken_back.typed::<u8>().expect("bytes").fill(101).expect("free");
        assert_eq!(bytes(&frame), [round; 20_000]);
        drop(guard);
        handle.typed::<u8>().expect("bytes").fill(102).expect("free");
        assert_eq!(bytes(&view), [102; 15_000]);
        assert_eq!(bytes(&frame), [round; 20_000]);
        // It is nobody else's: there is no way from it to the frame.
        refused!(handle.clone_fd(), memory!(NoDescriptor { .. }));
        drop(frame);
        all_kept.push(handle);
        // Slots are filled again, and a reader of what was kept sees nothing of it.
        let reading: Vec<_> = all_kept.iter().map(|kept| kept.map_read().expect("free")).collect();
        let next = publisher.claim().expect("a slot");
        next.typed::<u8>().expect("bytes").fill(200).expect("free");
        assert!(reading.iter().all(|kept| kept.as_slice().iter().all(|byte| *byte == 102)));
    }
}
