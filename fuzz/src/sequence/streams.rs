//! A stream of this process to itself: slots that are filled, published, received and kept.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tenure::memory::{Access, Buffer};
use tenure::stream::{Error, Frame, Meta, Publisher, Receipt, Slot, Spec, Subscriber};
use tenure::{DType, TensorMemory};

use super::ops::{StreamOp, take};
use super::{Expected, Held, Lease, World};
use crate::shadow::Shadow;
use crate::shown::Shown;

/// Elements of a frame.
const SHAPE: [usize; 2] = [4, 16];
const CLAIMS: usize = 2;

#[derive(Debug)]
pub(super) struct Stream {
    slots: Vec<Filled>,
    subscribers: Vec<Consumer>,
    publisher: Publisher,
    /// Frames that were published and that somebody has yet to look at.
    published: Vec<Published>,
    claimed: Rc<Cell<usize>>,
    /// Which allocations were claimed, while they are.
    claimed_memory: Vec<(u64, Weak<Lease>)>,
}

/// A slot that was claimed.
#[derive(Debug)]
struct Filled {
    slot: Slot,
    shadow: Rc<Shadow>,
    lease: Rc<Lease>,
}

/// What a frame must show for as long as somebody has it.
#[derive(Debug)]
struct Published {
    sequence: u64,
    shown: Vec<u8>,
    shape: Vec<usize>,
    dtype: DType,
    /// Frames of memory that the user brought.
    lent: Option<Rc<Cell<usize>>>,
}

#[derive(Debug)]
struct Consumer {
    subscriber: Subscriber,
    /// Frames that are on their way, oldest first.
    queue: VecDeque<(u64, Option<Rc<Lease>>)>,
    /// Frames that are held.
    held: Rc<Cell<usize>>,
    evicted: bool,
}

fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("tenure-fuzz-{}", std::process::id()))
}

impl Stream {
    fn open() -> Stream {
        let spec = Spec::tensor(DType::U8, &SHAPE).expect("a shape");
        let publisher = Publisher::builder("sequence").directory(directory());
        let publisher = publisher.initial_spec(spec).claims(CLAIMS).credits(16).without_thread();
        Stream {
            slots: vec![],
            subscribers: vec![],
            publisher: publisher.open().expect("a publisher"),
            published: vec![],
            claimed: Rc::default(),
            claimed_memory: vec![],
        }
    }

    pub(super) fn end(self) {
        let Stream { slots, subscribers, publisher, .. } = self;
        drop(slots);
        drop(subscribers);
        drop(publisher);
        let _ = fs::remove_dir_all(directory());
    }

    /// Whether an allocation is that of a slot whose handles are still out.
    pub(super) fn fills(&self, allocation: u64) -> bool {
        self.claimed_memory
            .iter()
            .any(|(number, lease)| *number == allocation && lease.upgrade().is_some())
    }

    /// A slot is not filled any more, whoever still has its tensor.
    fn end_claim(&mut self, lease: &Rc<Lease>) {
        lease.end();
        self.claimed_memory
            .retain(|(_, claimed)| !std::ptr::eq(claimed.as_ptr(), &raw const **lease));
    }

    fn serve(&mut self) {
        self.publisher.serve().expect("it goes on");
        self.publisher.serve().expect("it goes on");
    }

    /// Compares who got a frame with who had a credit left.
    fn sent(&mut self, receipt: Receipt, frame: Published) {
        let mut got = 0;
        for consumer in self.subscribers.iter_mut().filter(|consumer| !consumer.evicted) {
            if consumer.queue.len() + consumer.held.get() < consumer.subscriber.credits() {
                let lease = frame.lent.as_ref().map(|frames| Lease::new(&[frames]));
                consumer.queue.push_back((receipt.sequence, lease));
                got += 1;
            }
        }
        assert_eq!(receipt.consumers, got, "consumers that got the frame");
        if got > 0 {
            self.published.push(Published { sequence: receipt.sequence, ..frame });
        }
    }

    fn subscriber(&mut self, number: u8) -> Option<&mut Consumer> {
        let count = self.subscribers.len();
        (count > 0).then(|| &mut self.subscribers[usize::from(number) % count])
    }
}

impl World {
    pub(super) fn stream_op(&mut self, op: &StreamOp) {
        let stream = self.stream.get_or_insert_with(Stream::open);
        match *op {
            StreamOp::Subscribe { credits } => subscribe(stream, credits),
            StreamOp::Claim => self.claim(),
            StreamOp::Publish { slot } => self.publish(slot),
            StreamOp::UseSlot { slot } => self.use_slot(slot),
            StreamOp::DropSlot { slot } => self.give_up(slot),
            StreamOp::PublishTensor { tensor } => self.publish_tensor(tensor),
            StreamOp::PublishCopy { tensor } => self.publish_copy(tensor),
            StreamOp::Next { subscriber } => self.next(subscriber),
            StreamOp::Latest { subscriber } => self.latest(subscriber),
            StreamOp::Unsubscribe { subscriber } => {
                drop(take(&mut stream.subscribers, subscriber));
                stream.serve();
            }
            StreamOp::Evict { subscriber } => {
                stream.serve();
                let Some(consumer) = stream.subscriber(subscriber) else { return };
                consumer.evicted = true;
                let number = consumer.subscriber.id();
                stream.publisher.evict(number);
            }
            StreamOp::Close => {
                if let Some(stream) = self.stream.take() {
                    stream.end();
                }
            }
        }
    }

    fn claim(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        stream.serve();
        let claimed = stream.claimed.get();
        let spec = Spec::tensor(DType::U8, &SHAPE).expect("a shape");
        let slot = match stream.publisher.claim_as(&spec) {
            Ok(slot) => slot,
            Err(error) => {
                assert!(matches!(error, Error::NoSlot { .. }), "{error}");
                assert!(claimed >= CLAIMS, "{claimed} are claimed: {error}");
                return;
            }
        };
        assert!(claimed < CLAIMS, "more slots than may be claimed");
        let lease = Lease::new(&[&stream.claimed]);
        let allocation = slot.buffer().place().expect("it has memory").allocation;
        let whole = Buffer::from_shared(Arc::clone(slot.buffer().raw().expect("it exists")));
        let bytes = whole.read().expect("nobody else has it").as_bytes().to_vec();
        drop(whole);
        let shadow = match self.known(allocation) {
            Some(_) => panic!("memory of a frame that somebody has was claimed again"),
            None => Shadow::new(allocation, bytes, None),
        };
        shadow.sealed.set(true);
        self.live.insert(allocation, Rc::downgrade(&shadow));
        // A descriptor of it goes to every consumer.
        self.given.insert(allocation);
        if let Some(stream) = &mut self.stream {
            stream.claimed_memory.retain(|(_, lease)| lease.strong_count() > 0);
            stream.claimed_memory.push((allocation, Rc::downgrade(&lease)));
            stream.slots.push(Filled { slot, shadow, lease });
        }
    }

    /// Another handle to a slot that is being filled.
    fn use_slot(&mut self, number: u8) {
        let Some(stream) = &self.stream else { return };
        let count = stream.slots.len();
        if count == 0 {
            return;
        }
        let filled = &stream.slots[usize::from(number) % count];
        let held = Held {
            tensor: filled.slot.clone(),
            shown: Shown::contiguous(1, &SHAPE, 0),
            writable: true,
            shadow: Rc::clone(&filled.shadow),
            lease: Some(Rc::clone(&filled.lease)),
            taken: None,
            reader: false,
        };
        self.keep(held);
    }

    fn publish(&mut self, number: u8) {
        let Some(stream) = &mut self.stream else { return };
        let Some(Filled { slot, shadow, lease }) = take(&mut stream.slots, number) else { return };
        stream.serve();
        let shown = Shown::contiguous(1, &SHAPE, 0);
        let bytes = shown.gather(&shadow.bytes.borrow());
        let others = Rc::strong_count(&lease) > 1;
        let working = shadow.has(is_work);
        match slot.publish(Meta::new().blob(&bytes[..8])) {
            Ok(receipt) => {
                assert!(!working, "published, and a kernel is still at work");
                stream.end_claim(&lease);
                let (shape, dtype) = (SHAPE.to_vec(), DType::U8);
                let sequence = receipt.sequence;
                let frame = Published { sequence, shown: bytes, shape, dtype, lent: None };
                stream.sent(receipt, frame);
                drop(lease);
                if others {
                    self.part(&shadow);
                }
            }
            Err(error) => assert!(working && matches!(error, Error::StillHeld), "{error}"),
        }
    }

    /// Drops a slot, which others may still fill then, or gives it up at once.
    fn give_up(&mut self, number: u8) {
        let Some(stream) = &mut self.stream else { return };
        let Some(Filled { slot, shadow, lease }) = take(&mut stream.slots, number) else { return };
        if number < 0x80 {
            drop(slot);
            return;
        }
        slot.discard();
        // With a kernel at work it is as if it were dropped.
        if Rc::strong_count(&lease) > 1 && !shadow.has(is_work) {
            stream.end_claim(&lease);
            self.part(&shadow);
        }
    }

    /// Publishes memory of the user's own, without a copy. Not that of pools, slots and frames:
    /// when the publisher lets go of it is not known to the model.
    fn publish_tensor(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let parted = held.shadow.parted.get();
        if (held.lease.is_some() && !parted) || held.shadow.pool.is_some() {
            return;
        }
        let readable = held.allows(Access::KernelRead) == Expected::Ok;
        let reader = held.reader;
        let (tensor, shadow) = (held.tensor.clone(), Rc::clone(&held.shadow));
        let (shown, dtype) = (held.shown.clone(), held.tensor.dtype());
        let whole = 0..held.tensor.buffer().raw().expect("it exists").size();
        let Some(stream) = &mut self.stream else { return };
        stream.serve();
        let full = stream.claimed.get() >= CLAIMS;
        let answer = stream.publisher.publish_tensor(&tensor, Meta::new());
        let shareable = tensor.memory() == TensorMemory::Shm;
        // What foreign code may write, and what is private already, is copied.
        let exported = shadow.has(|access| access == Access::ExportWrite);
        let copied = exported || parted;
        let bytes = shown.gather(&shadow.bytes.borrow());
        let writing = shadow.has(|access| access.writes() && access != Access::ExportWrite);
        let expected = match (copied, writing) {
            // Who else writes may be elsewhere in it, and whom the library meets first is open.
            (true, true) => Expected::Either.and(readable && !full),
            // Nobody needs memory for nothing.
            (true, false) if bytes.is_empty() => Expected::Either,
            (true, false) => Expected::Ok.and(readable && !full),
            (false, _) => shadow.expects(Access::Publish, &whole),
        };
        // What is not copied needs a descriptor.
        expected.and(shareable && (copied || !reader)).check(&answer);
        let Ok(receipt) = answer else { return };
        let sequence = receipt.sequence;
        let lent = (!copied).then(|| Rc::clone(&shadow.frames));
        stream.sent(receipt, Published { sequence, shown: bytes, shape: shown.shape, dtype, lent });
        if !copied {
            shadow.sealed.set(true);
            shadow.lent.set(true);
            self.given.extend(shadow.allocation.get());
        }
    }

    fn publish_copy(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let (tensor, dtype, shape) =
            (held.tensor.clone(), held.tensor.dtype(), held.shown.shape.clone());
        let readable = held.allows(Access::KernelRead) == Expected::Ok;
        let bytes = held.shown.gather(&held.shadow.bytes.borrow());
        let Some(stream) = &mut self.stream else { return };
        stream.serve();
        let full = stream.claimed.get() >= CLAIMS;
        match stream.publisher.publish_copy(&tensor, Meta::new()) {
            Ok(receipt) => {
                assert!(readable && !full);
                let sequence = receipt.sequence;
                let frame = Published { sequence, shown: bytes, shape, dtype, lent: None };
                stream.sent(receipt, frame);
            }
            // Nobody needs memory for nothing.
            Err(error) => assert!(!readable || full || bytes.is_empty(), "{error}"),
        }
    }

    fn next(&mut self, number: u8) {
        let Some(consumer) = self.stream.as_mut().and_then(|stream| stream.subscriber(number))
        else {
            return;
        };
        let answer = consumer.subscriber.try_next();
        let expected = consumer.queue.pop_front();
        match answer {
            Ok(Some(frame)) => self.received(number, frame, expected.map(|it| it.0)),
            Ok(None) => assert!(expected.is_none() || consumer.evicted, "a frame did not come"),
            Err(error) => assert!(consumer.evicted, "{error}"),
        }
    }

    fn latest(&mut self, number: u8) {
        let Some(consumer) = self.stream.as_mut().and_then(|stream| stream.subscriber(number))
        else {
            return;
        };
        let answer = consumer.subscriber.latest();
        let expected = consumer.queue.drain(..).last();
        match answer {
            Ok(Some(frame)) => self.received(number, frame, expected.map(|it| it.0)),
            Ok(None) => assert!(expected.is_none() || consumer.evicted, "a frame did not come"),
            Err(error) => {
                let full = expected.is_none() && consumer.subscriber.is_full();
                assert!(full || consumer.evicted, "{error}");
            }
        }
    }

    /// A frame came: it is the one that was expected, and shows what was published.
    fn received(&mut self, number: u8, frame: Frame, expected: Option<u64>) {
        let Some(stream) = &mut self.stream else { return };
        let Some(consumer) = stream.subscriber(number) else { return };
        assert_eq!(Some(frame.sequence()), expected);
        let held = Rc::clone(&consumer.held);
        let published = stream.published.iter().find(|it| Some(it.sequence) == expected);
        let published = published.expect("it was published");
        let lease = match &published.lent {
            Some(frames) => Lease::new(&[&held, frames]),
            None => Lease::new(&[&held]),
        };
        assert_eq!((frame.shape(), frame.dtype()), (&published.shape[..], published.dtype));
        let (bytes, size) = (published.shown.clone(), published.dtype.size().unwrap_or(1));
        if frame.blob().len() == 8 {
            assert_eq!(frame.blob(), &bytes[..8]);
        }
        assert!(frame.map().is_err(), "a frame can be written");
        let place = frame.buffer().place().expect("it has memory");
        let shadow = self.known(place.allocation).unwrap_or_else(|| {
            let raw = frame.buffer().raw().expect("it exists");
            let whole = Buffer::from_shared(Arc::clone(raw));
            let bytes = whole.read().expect("nobody writes").as_bytes().to_vec();
            Shadow::new(place.allocation, bytes, None)
        });
        shadow.sealed.set(true);
        self.live.insert(place.allocation, Rc::downgrade(&shadow));
        self.given.insert(place.allocation);
        let layout = frame.layout();
        let start = place.range.start + layout.offset();
        let steps = crate::elements::indices(frame.shape()).map(|index| {
            let steps = index.iter().zip(layout.strides());
            let steps: isize = steps.map(|(at, step)| *at as isize * step).sum();
            (start as isize + steps * size as isize) as usize
        });
        let shown = Shown { size, shape: frame.shape().to_vec(), places: steps.collect() };
        let tensor = frame.into_tensor();
        let lease = Some(lease);
        let held = Held { lease, ..Held::alone(tensor, shown, false, shadow) };
        if held.allows(Access::KernelRead) == Expected::Ok {
            let mut flat = vec![0; held.tensor.flat_bytes()];
            held.tensor.copy_to_flat(&mut flat).expect("the model allows it");
            assert!(flat == bytes, "a frame shows something else than was published");
        }
        self.keep(held);
    }
}

/// What keeps a slot from being published while somebody has its tensor.
fn is_work(access: Access) -> bool {
    matches!(access, Access::KernelRead | Access::KernelWrite)
}

fn subscribe(stream: &mut Stream, credits: u8) {
    if stream.subscribers.len() >= 3 {
        return;
    }
    let builder = Subscriber::builder("sequence").directory(directory());
    let builder = builder.credits(u32::from(credits % 4) + 1);
    // The publisher answers here, and the subscriber waits for it.
    let publisher = &mut stream.publisher;
    let subscriber = thread::scope(|scope| {
        let opening = scope.spawn(move || builder.open());
        while !opening.is_finished() {
            publisher.serve().expect("it goes on");
            thread::sleep(Duration::from_micros(50));
        }
        opening.join().expect("it does not panic")
    });
    match subscriber {
        Ok(subscriber) => {
            let (queue, held) = (VecDeque::new(), Rc::default());
            stream.subscribers.push(Consumer { subscriber, queue, held, evicted: false });
        }
        Err(error) => assert!(matches!(error, Error::Refused { .. }), "{error}"),
    }
}
