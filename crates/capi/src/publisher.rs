//! Publishers of streams: opened, served, looked at and ended. What they send is in `publishing`.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure::stream::Publisher;

use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, out, take};
use crate::publisher_options::PublisherOptions;
use crate::status::Status;
use crate::streams::ReportHandle;

/// Publishes tensors under a name, to every process that subscribes. Any thread may use it. It has
/// a thread of its own, unless its options say otherwise, so a process that forks opens it
/// afterwards.
pub struct PublisherHandle(Mutex<Publisher>);

impl Handle for PublisherHandle {}

impl PublisherHandle {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Publisher> {
        // What a panic leaves is what an error leaves.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the name, and lets consumers in. `TENURE_STATUS_EXISTS` if another producer has the name.
///
/// # Safety
/// `options` is null or options; `publisher` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_open(
    options: *const PublisherOptions,
    publisher: *mut *mut PublisherHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (options, publisher) =
            unsafe { (borrow(options, "options")?, out(publisher, "publisher")?) };
        give(publisher, PublisherHandle(Mutex::new(options.open()?)));
        Ok(())
    })
}

/// A descriptor to poll, for publishers without a thread: readable when `tenure_publisher_serve`
/// has something to do. It is the publisher's, the same one while the publisher lives, and only to
/// be waited for.
///
/// # Safety
/// `publisher` is null or a publisher; `fd` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_fd(
    publisher: *const PublisherHandle,
    fd: *mut c_int,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, fd) = unsafe { (borrow(publisher, "publisher")?, out(fd, "fd")?) };
        fd.write(publisher.lock().as_fd().as_raw_fd());
        Ok(())
    })
}

/// Answers whoever came, gave back or went, without waiting; for publishers without a thread. To be
/// called when the descriptor is readable, and every second or so besides: who connects and says
/// nothing is sent away after 2 seconds, and who hangs as `tenure_publisher_options_set_evict_after`
/// says, when it is called. Publishing does not need it.
///
/// # Safety
/// `publisher` is null or a publisher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_serve(publisher: *const PublisherHandle) -> Status {
    // SAFETY: by the caller's promise.
    guarded(|| Ok(unsafe { borrow(publisher, "publisher")? }.lock().serve()?))
}

/// How many consumers there are: those that get the next frame, if they have a credit left.
///
/// # Safety
/// `publisher` is null or a publisher; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_consumers(
    publisher: *const PublisherHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, count) = unsafe { (borrow(publisher, "publisher")?, out(count, "count")?) };
        count.write(publisher.lock().consumers());
        Ok(())
    })
}

/// The stream at this moment: slots, consumers, rates. The same that other processes get from
/// `tenure_stream_stat`.
///
/// # Safety
/// `publisher` is null or a publisher; `report` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_report(
    publisher: *const PublisherHandle,
    report: *mut *mut ReportHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, report) =
            unsafe { (borrow(publisher, "publisher")?, out(report, "report")?) };
        let stats = publisher.lock().stats();
        give(report, ReportHandle::new(&stats)?);
        Ok(())
    })
}

/// Puts a consumer out, by its number in the report. Puts out whether there was such a consumer.
///
/// # Safety
/// `publisher` is null or a publisher; `evicted` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_evict(
    publisher: *const PublisherHandle,
    consumer: u64,
    evicted: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, evicted) =
            unsafe { (borrow(publisher, "publisher")?, out(evicted, "evicted")?) };
        evicted.write(publisher.lock().evict(consumer));
        Ok(())
    })
}

/// Ends the stream; null is fine. Consumers are told, and what they hold stays valid; slots that
/// are claimed can still be freed, and publish to nobody.
///
/// # Safety
/// `publisher` is null or a publisher that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_free(publisher: *mut PublisherHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(publisher, "publisher") });
}
