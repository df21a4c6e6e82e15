//! A queue of a real driver, whose work a test holds back, lets go on, or fails.
#![expect(unsafe_code, reason = "calls OpenCL, to hold work back and to let it fail")]

use super::*;
use crate::opencl::{LIBRARIES, answer, found};

/// A device's queue, and work in it that a test lets go on, or fail.
struct Held {
    queue: Queue,
    usm: Usm,
    memory: Address,
    context: Handle,
    /// Ends what the work waits for: 0 lets it go on.
    end: unsafe extern "C" fn(Handle, Code) -> Code,
    until: Handle,
}

const BYTES: usize = 1 << 16;

impl Held {
    /// A queue whose first work waits.
    fn new() -> Held {
        let api = Api::load(&LIBRARIES).unwrap();
        let (library, name) = crate::library::load(&LIBRARIES).unwrap();
        let all = found::all(&api).unwrap();
        let found = all.into_iter().find(|found| found.unusable.is_none()).unwrap();
        let (usm, mut code) = (found.usm.unwrap(), 0);
        let context = api.new_context(found.platform, found.id).unwrap();
        // SAFETY: functions have the types of OpenCL's header; everything is of one context, which
        // stays; memory is there until the queue is gone, and nobody else uses it.
        unsafe {
            let event: unsafe extern "C" fn(Handle, *mut Code) -> Handle =
                crate::library::function(&library, "clCreateUserEvent", &name).unwrap();
            let end = crate::library::function(&library, "clSetUserEventStatus", &name).unwrap();
            let queue = Queue::new(&api, context, found.id).unwrap();
            let memory = (usm.host)(context, null(), BYTES, 0, &mut code);
            let memory = Address(std::ptr::NonNull::new(memory).unwrap());
            memory.0.write_bytes(1, BYTES);
            let until = event(context, &mut code);
            let (mut done, half) = (Handle(null_mut()), memory.0.add(BYTES / 2));
            let (to, from) = (memory.0.as_ptr(), half.as_ptr());
            let begun = (usm.copy)(queue.queue, 0, to, from, 8, 1, &until, &mut done);
            assert_eq!((code, begun), (0, 0));
            {
                let mut marks = queue.marks();
                marks.last = 1;
                let mark = Mark { events: vec![done], api: Arc::clone(&api) };
                marks.open.push_back((1, Arc::new(mark)));
            }
            Held { queue, usm, memory, context, end, until }
        }
    }

    fn fill(&self, value: u8) -> Result<u64, Code> {
        let fill = Placed::Fill { to: self.memory, bytes: BYTES / 2, pattern: [value; 4] };
        // SAFETY: the queue's own memory.
        unsafe { self.queue.submit(&self.usm, &[fill]) }
    }

    fn end(&self, code: Code) {
        // SAFETY: an event of ours, ended once.
        assert_eq!(unsafe { (self.end)(self.until, code) }, 0);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.queue.finish();
        // SAFETY: nothing uses it any more.
        unsafe {
            (self.usm.free)(self.context, self.memory.0.as_ptr());
            (self.queue.api.release_event)(self.until);
        }
    }
}

#[test]
#[ignore = "needs a driver"]
fn work_waits_its_turn() {
    let held = Held::new();
    let second = held.fill(7).unwrap();
    let soon = Some(Duration::from_millis(20));
    assert_eq!(held.queue.wait(second, soon), Ok(false));
    assert_eq!(held.queue.wait(1, Some(Duration::ZERO)), Ok(false));
    held.end(0);
    assert_eq!(held.queue.wait(second, None), Ok(true));
    assert_eq!((held.queue.wait(1, soon), held.queue.failed()), (Ok(true), None));
    // SAFETY: all work is done.
    assert_eq!(unsafe { held.memory.0.read() }, 7);
}

#[test]
#[ignore = "needs a driver"]
fn work_that_failed_is_told_to_everybody_who_waits() {
    let held = Held::new();
    let second = held.fill(7).unwrap();
    held.end(answer::OUT_OF_RESOURCES);
    // Whoever asks first, about whichever of them, and with whatever patience.
    let failed = held.queue.wait(second, None).unwrap_err();
    assert!(failed < 0, "{failed}");
    for number in [1, second] {
        for patience in [None, Some(Duration::ZERO)] {
            assert_eq!(held.queue.wait(number, patience), Err(failed), "{number}");
        }
    }
    assert_eq!(held.queue.failed(), Some(failed));
    assert_eq!(answer::ended(failed), tenure_memory::DeviceFault::Lost);
}
