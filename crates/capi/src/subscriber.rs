//! Subscribers: frames of a stream as they come.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Duration;

use tenure::stream::{Frame, Subscriber, SubscriberBuilder};

use crate::failure::{Failure, Outcome};
use crate::frame::FrameHandle;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, borrow_mut, give, out, take, text};
use crate::status::Status;

/// How a stream is subscribed to: its name and options, which may open several subscribers.
pub struct SubscriberOptions(SubscriberBuilder);

impl Handle for SubscriberOptions {}

/// Gets the frames of a stream. One thread at a time.
pub struct SubscriberHandle(Subscriber);

impl Handle for SubscriberHandle {}

/// Numbers of a subscriber.
#[repr(C)]
pub struct SubscriberFigures {
    /// Frames that can be held at one time: what was asked for, or fewer.
    pub credits: usize,
    /// The number by which the producer knows this consumer.
    pub id: u64,
    /// Tells one life of the producer from the next.
    pub incarnation: u64,
    /// Frames that did not come because no credit was left, up to this moment.
    pub dropped: u64,
    /// Frames that came and were passed over by `tenure_subscriber_latest`.
    pub skipped: u64,
}

/// So many nanoseconds; less than 0 is without end.
fn time(nanoseconds: i64) -> Duration {
    u64::try_from(nanoseconds).map_or(Duration::MAX, Duration::from_nanos)
}

/// Options for a stream of this name, as usual.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_new(
    name: *const c_char,
    options: *mut *mut SubscriberOptions,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (name, options) = unsafe { (text(name, "name")?, out(options, "options")?) };
        give(options, SubscriberOptions(Subscriber::builder(name)));
        Ok(())
    })
}

/// Changes options.
///
/// # Safety
/// `options` is null or options that nobody else uses meanwhile.
unsafe fn change(
    options: *mut SubscriberOptions,
    change: impl FnOnce(SubscriberBuilder) -> Outcome<SubscriberBuilder>,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let options = unsafe { borrow_mut(options, "options")? };
        options.0 = change(options.0.clone())?;
        Ok(())
    })
}

/// The directory of the socket, instead of `$TENURE_STREAM_DIR`, `$XDG_RUNTIME_DIR/tenure`,
/// `/run/tenure`, or `/tmp/tenure-UID` without any of them.
///
/// # Safety
/// `options` is null or options that nobody else uses; `directory` is null or a text that ends
/// with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_directory(
    options: *mut SubscriberOptions,
    directory: *const c_char,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { change(options, |builder| Ok(builder.directory(text(directory, "directory")?))) }
}

/// How many frames to hold at one time, those included that wait to be read; 3 if not said. The
/// producer may grant fewer.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_credits(
    options: *mut SubscriberOptions,
    credits: u32,
) -> Status {
    let set = |builder: SubscriberBuilder| match credits {
        0 => Err(Failure::invalid("credits is 0: at least 1 is needed")),
        credits => Ok(builder.credits(credits)),
    };
    // SAFETY: by the caller's promise.
    unsafe { change(options, set) }
}

/// Opening waits so many nanoseconds for somebody to publish the stream, or without end if it is
/// less than 0; not at all if not said.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_wait(
    options: *mut SubscriberOptions,
    nanoseconds: i64,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { change(options, |builder| Ok(builder.wait(time(nanoseconds)))) }
}

/// When the stream ends, waits for the next producer of that name instead of saying so.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_follow(
    options: *mut SubscriberOptions,
    follow: bool,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { change(options, |builder| Ok(builder.follow(follow))) }
}

/// Gives frames out before devices are done with them: the user waits for `tenure_frame_fence`.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_explicit_fences(
    options: *mut SubscriberOptions,
    explicit_fences: bool,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe { change(options, |builder| Ok(builder.explicit_fences(explicit_fences))) }
}

/// Waits for the next frame also while all credits are held, if it is true: for programs that
/// release frames in another thread. False if not said: to wait for a frame that cannot come is then
/// `TENURE_STATUS_BUSY`.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_wait_when_full(
    options: *mut SubscriberOptions,
    wait_when_full: bool,
) -> Status {
    // SAFETY: `options` is null or valid and used here only: this function's contract.
    unsafe { change(options, |builder| Ok(builder.wait_when_full(wait_when_full))) }
}

/// Accepts a stream of this user too, in a directory of this user. If not said, a producer must be
/// of this user, root, the owner of the directory, or of this process's group.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_producer_uid(
    options: *mut SubscriberOptions,
    uid: u32,
) -> Status {
    // SAFETY: `options` is null or valid and used here only: this function's contract.
    unsafe { change(options, |builder| Ok(builder.producer_uid(uid))) }
}

/// How many bytes of the producer's memory may be mapped at one time, and in how many memories,
/// each of which takes a descriptor; 0 for what is usual: half of the machine's memory, half of the
/// descriptors that this process may have. Frames beyond that are `TENURE_STATUS_OUT_OF_MEMORY`.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_set_limits(
    options: *mut SubscriberOptions,
    bytes: usize,
    memories: usize,
) -> Status {
    let set = |mut builder: SubscriberBuilder| {
        if bytes > 0 {
            builder = builder.memory_limit(bytes);
        }
        if memories > 0 {
            builder = builder.descriptor_limit(memories);
        }
        Ok(builder)
    };
    // SAFETY: `options` is null or valid and used here only: this function's contract.
    unsafe { change(options, set) }
}

/// Gives options back; null is fine. Subscribers opened with them go on.
///
/// # Safety
/// `options` is null or options that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_options_free(options: *mut SubscriberOptions) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(options, "options") });
}

/// Subscribes. `TENURE_STATUS_NOT_FOUND` if nobody publishes the stream, `TENURE_STATUS_REFUSED`
/// with the producer's reason, `TENURE_STATUS_NO_ANSWER` if it hangs.
///
/// # Safety
/// `options` is null or options; `subscriber` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_open(
    options: *const SubscriberOptions,
    subscriber: *mut *mut SubscriberHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (options, subscriber) =
            unsafe { (borrow(options, "options")?, out(subscriber, "subscriber")?) };
        give(subscriber, SubscriberHandle(options.0.clone().open()?));
        Ok(())
    })
}

/// Puts a frame out, or null.
fn put(room: &mut MaybeUninit<*mut FrameHandle>, frame: Option<Frame>) {
    match frame {
        Some(frame) => give(room, FrameHandle(frame)),
        None => {
            room.write(ptr::null_mut());
        }
    }
}

/// The next frame, waiting for it at most so many nanoseconds; 0 only looks, and less than 0 waits
/// without end. Puts out null if none came. `TENURE_STATUS_CLOSED` if the producer ended the stream
/// or died (unless the subscriber follows), `TENURE_STATUS_EVICTED` if it put this consumer out,
/// `TENURE_STATUS_BUSY` at once if it would wait while all frames that may be held are (see
/// `tenure_subscriber_options_set_wait_when_full`).
///
/// # Safety
/// `subscriber` is null or a subscriber that nobody else uses; `frame` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_next(
    subscriber: *mut SubscriberHandle,
    nanoseconds: i64,
    frame: *mut *mut FrameHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (subscriber, frame) =
            unsafe { (borrow_mut(subscriber, "subscriber")?, out(frame, "frame")?) };
        put(frame, subscriber.0.next(time(nanoseconds))?);
        Ok(())
    })
}

/// The newest frame that is here already, giving back those before it; null if there is none, and
/// `TENURE_STATUS_BUSY` if none can be because all frames that may be held are. Otherwise as
/// `tenure_subscriber_next`.
///
/// # Safety
/// As `tenure_subscriber_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_latest(
    subscriber: *mut SubscriberHandle,
    frame: *mut *mut FrameHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (subscriber, frame) =
            unsafe { (borrow_mut(subscriber, "subscriber")?, out(frame, "frame")?) };
        put(frame, subscriber.0.latest()?);
        Ok(())
    })
}

/// A descriptor to poll: readable when there may be a frame. It is the subscriber's and only to be
/// waited for. It stays the same, after `tenure_subscriber_reopen` too.
///
/// # Safety
/// `subscriber` is null or a subscriber; `fd` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_fd(
    subscriber: *const SubscriberHandle,
    fd: *mut c_int,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (subscriber, fd) = unsafe { (borrow(subscriber, "subscriber")?, out(fd, "fd")?) };
        fd.write(subscriber.0.as_raw_fd());
        Ok(())
    })
}

/// How many frames are held at this moment, their tensors, maps and exports included. None comes
/// while these are all credits.
///
/// # Safety
/// `subscriber` is null or a subscriber; `held` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_held(
    subscriber: *const SubscriberHandle,
    held: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: both are null or valid: this function's contract.
        let (subscriber, held) = unsafe { (borrow(subscriber, "subscriber")?, out(held, "held")?) };
        held.write(subscriber.0.held());
        Ok(())
    })
}

/// Credits, and how many frames did not come.
///
/// # Safety
/// `subscriber` is null or a subscriber; `figures` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_figures(
    subscriber: *const SubscriberHandle,
    figures: *mut SubscriberFigures,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (subscriber, figures) =
            unsafe { (borrow(subscriber, "subscriber")?, out(figures, "figures")?) };
        let subscriber = &subscriber.0;
        figures.write(SubscriberFigures {
            credits: subscriber.credits(),
            id: subscriber.id(),
            incarnation: subscriber.incarnation(),
            dropped: subscriber.dropped(),
            skipped: subscriber.skipped(),
        });
        Ok(())
    })
}

/// Subscribes again after the stream ended, waiting at most so many nanoseconds for a producer, or
/// without end if it is less than 0. Frames that are held stay valid.
///
/// # Safety
/// `subscriber` is null or a subscriber that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_reopen(
    subscriber: *mut SubscriberHandle,
    nanoseconds: i64,
) -> Status {
    // SAFETY: by the caller's promise.
    guarded(|| Ok(unsafe { borrow_mut(subscriber, "subscriber")? }.0.reopen(time(nanoseconds))?))
}

/// Ends a subscription; null is fine. Frames that are held stay valid.
///
/// # Safety
/// `subscriber` is null or a subscriber that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_subscriber_free(subscriber: *mut SubscriberHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(subscriber, "subscriber") });
}
