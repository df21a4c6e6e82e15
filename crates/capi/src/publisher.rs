//! Publishers of streams: how a stream is opened, and what is sent over it.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::stream::{Meta, Publisher, Receipt, Spec};
use tenure::{TensorDyn, TensorMemory};

use crate::codes::{self, MemoryCode};
use crate::failure::{Failure, Outcome};
use crate::fence::FenceHandle;
use crate::guarded::{guarded, guarded_free};
use crate::pointers::{borrow, borrow_mut, give, list, optional, out, take, text};
use crate::slot::SlotHandle;
use crate::spec::SpecHandle;
use crate::status::Status;
use crate::streams::ReportHandle;
use crate::tensor::TensorHandle;

/// How a stream is published: its name and options, which may open several publishers in turn.
pub struct PublisherOptions {
    name: String,
    directory: Option<PathBuf>,
    spec: Option<Spec>,
    memory: Option<TensorMemory>,
    claims: Option<usize>,
    credits: Option<usize>,
    credits_each: Option<usize>,
    evict_after: Option<Duration>,
}

/// Publishes tensors under a name, to every process that subscribes. Any thread may use it. It has
/// a thread of its own, so a process that forks opens it afterwards.
pub struct PublisherHandle(Mutex<Publisher>);

impl PublisherHandle {
    fn lock(&self) -> MutexGuard<'_, Publisher> {
        // What a panic leaves is what an error leaves.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What travels with a frame besides the tensor. All zeros is nothing.
#[repr(C)]
pub struct FrameMeta {
    /// When it was taken, in nanoseconds of `CLOCK_MONOTONIC`, as cameras say it; 0 if that is not
    /// known.
    pub timestamp: u64,
    /// Bytes of the user's own, at most 16 KiB, which are copied; null if there are none.
    pub blob: *const c_void,
    /// How many.
    pub blob_bytes: usize,
    /// The frame is complete when this fence is done, because a device still writes it; null if it
    /// is complete.
    pub fence: *const FenceHandle,
}

/// What became of a published frame.
#[repr(C)]
pub struct PublishReceipt {
    /// Number of the frame.
    pub sequence: u64,
    /// Consumers that it was sent to.
    pub consumers: usize,
    /// Consumers that had no credit left and did not get it.
    pub dropped: usize,
}

/// What C says of a frame.
///
/// # Safety
/// `meta` is null or valid, and what it points to stays so while the result is used.
pub(crate) unsafe fn meta<'a>(meta: *const FrameMeta) -> Outcome<Meta<'a>> {
    // SAFETY: by the caller's promise.
    let Some(said) = (unsafe { optional(meta, "meta")? }) else { return Ok(Meta::new()) };
    // SAFETY: by the caller's promise.
    let blob = unsafe { list(said.blob.cast::<u8>(), said.blob_bytes, "blob")? };
    let mut meta = Meta::new().blob(blob);
    if said.timestamp != 0 {
        meta = meta.timestamp(Duration::from_nanos(said.timestamp));
    }
    // SAFETY: by the caller's promise.
    match unsafe { optional(said.fence, "fence")? } {
        Some(fence) => Ok(meta.fence(&fence.0)),
        None => Ok(meta),
    }
}

/// Publishes, and puts the receipt out if somebody wants it.
///
/// # Safety
/// `receipt` is null or valid.
pub(crate) unsafe fn with_receipt(
    receipt: *mut PublishReceipt,
    publish: impl FnOnce() -> Outcome<Receipt>,
) -> Outcome {
    // SAFETY: by the caller's promise. Looked at before anything is published.
    let room = if receipt.is_null() { None } else { Some(unsafe { out(receipt, "receipt") }?) };
    let Receipt { sequence, consumers, dropped } = publish()?;
    room.map(|room| room.write(PublishReceipt { sequence, consumers, dropped }));
    Ok(())
}

/// Options for a stream of this name (letters, digits, `-`, `_`, `.`, and `/` between parts), as
/// usual.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_new(
    name: *const c_char,
    options: *mut *mut PublisherOptions,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (name, options) = unsafe { (text(name, "name")?, out(options, "options")?) };
        let made = PublisherOptions {
            name: name.to_owned(),
            directory: None,
            spec: None,
            memory: None,
            claims: None,
            credits: None,
            credits_each: None,
            evict_after: None,
        };
        give(options, made);
        Ok(())
    })
}

/// Changes options.
///
/// # Safety
/// `options` is null or options that nobody else uses meanwhile.
unsafe fn change(
    options: *mut PublisherOptions,
    change: impl FnOnce(&mut PublisherOptions) -> Outcome,
) -> Status {
    // SAFETY: by the caller's promise.
    guarded(|| change(unsafe { borrow_mut(options, "options")? }))
}

/// A number of which none is an error.
fn at_least_one(count: usize, what: &str) -> Outcome<Option<usize>> {
    if count == 0 {
        return Err(Failure::invalid(format!("{what} is 0: at least 1 is needed")));
    }
    Ok(Some(count))
}

/// The directory of the socket, instead of `$TENURE_STREAM_DIR`, `$XDG_RUNTIME_DIR/tenure` or
/// `/run/tenure`.
///
/// # Safety
/// `options` is null or options that nobody else uses; `directory` is null or a text that ends
/// with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_directory(
    options: *mut PublisherOptions,
    directory: *const c_char,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.directory = Some(text(directory, "directory")?.into());
            Ok(())
        })
    }
}

/// What frames look like, so that memory for a new consumer is made when it comes and not when the
/// first frame needs it. The description is copied.
///
/// # Safety
/// `options` is null or options that nobody else uses; `spec` is null or a description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_spec(
    options: *mut PublisherOptions,
    spec: *const SpecHandle,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.spec = Some(borrow(spec, "spec")?.0.clone());
            Ok(())
        })
    }
}

/// The memory of slots: `TENURE_MEMORY_SHM`, as if not said or automatic, or `TENURE_MEMORY_DMA`.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_memory(
    options: *mut PublisherOptions,
    memory: MemoryCode,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.memory = codes::memory(memory)?;
            Ok(())
        })
    }
}

/// How many slots may be claimed at one time; 2 if not said.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_claims(
    options: *mut PublisherOptions,
    claims: usize,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.claims = at_least_one(claims, "claims")?;
            Ok(())
        })
    }
}

/// How many frames all consumers together may hold at one time (64 if not said), and each of them
/// (16 if not said).
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_credits(
    options: *mut PublisherOptions,
    all: usize,
    each: usize,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            let (all, each) = (at_least_one(all, "all")?, at_least_one(each, "each")?);
            (options.credits, options.credits_each) = (all, each);
            Ok(())
        })
    }
}

/// Puts a consumer out that has held all its frames for so many nanoseconds; with 0, as if not
/// said, it keeps them and gets no others.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_evict_after(
    options: *mut PublisherOptions,
    nanoseconds: u64,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.evict_after = (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds));
            Ok(())
        })
    }
}

/// Gives options back; null is fine. Publishers opened with them go on.
///
/// # Safety
/// `options` is null or options that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_free(options: *mut PublisherOptions) {
    // SAFETY: by the caller's promise.
    guarded_free(|| drop(unsafe { take(options) }));
}

/// Takes the name, and lets consumers in. `TENURE_STATUS_BUSY` if another producer has the name.
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

impl PublisherOptions {
    fn open(&self) -> tenure::stream::Result<Publisher> {
        let mut builder = Publisher::builder(&self.name);
        if let Some(directory) = &self.directory {
            builder = builder.directory(directory);
        }
        if let Some(spec) = &self.spec {
            builder = builder.spec(spec.clone());
        }
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        if let Some(claims) = self.claims {
            builder = builder.claims(claims);
        }
        if let Some(credits) = self.credits {
            builder = builder.credits(credits);
        }
        if let Some(credits) = self.credits_each {
            builder = builder.credits_each(credits);
        }
        if let Some(patience) = self.evict_after {
            builder = builder.evict_after(patience);
        }
        builder.open()
    }
}

/// A slot to fill, for a frame that looks like `spec`, or with null like the one before. Its bytes
/// are what the last frame in it left. `TENURE_STATUS_BUSY` if too many are claimed already.
///
/// # Safety
/// `publisher` is null or a publisher, `spec` null or a description; `slot` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_claim(
    publisher: *const PublisherHandle,
    spec: *const SpecHandle,
    slot: *mut *mut SlotHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, spec, slot) = unsafe {
            (borrow(publisher, "publisher")?, optional(spec, "spec")?, out(slot, "slot")?)
        };
        let mut publisher = publisher.lock();
        let claimed = match spec {
            Some(spec) => publisher.claim_as(&spec.0)?,
            None => publisher.claim()?,
        };
        give(slot, claimed.into());
        Ok(())
    })
}

/// Publishes a tensor in one of the ways that there are.
///
/// # Safety
/// As [`tenure_publisher_publish`].
unsafe fn publish(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
    way: impl FnOnce(&mut Publisher, &TensorDyn, Meta<'_>) -> tenure::stream::Result<Receipt>,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (publisher, tensor, meta) = unsafe {
            (borrow(publisher, "publisher")?, borrow(tensor, "tensor")?, self::meta(meta)?)
        };
        let publish = || Ok(way(&mut publisher.lock(), &tensor.tensor, meta)?);
        // SAFETY: by the caller's promise.
        unsafe { with_receipt(receipt, publish) }
    })
}

/// Publishes a tensor that lives in shared memory or a DMA-BUF, as it is: nothing is copied. Its
/// memory is kept from being written in this process until the last consumer has let go, and
/// shared memory is sealed for good. `meta` and `receipt` may be null.
///
/// # Safety
/// Handles are null or valid; `meta` and what it points to, and `receipt`, are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_publish(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        publish(publisher, tensor, meta, receipt, |it, tensor, meta| {
            it.publish_tensor(tensor, meta)
        })
    }
}

/// Publishes a copy of a tensor in any memory; otherwise as `tenure_publisher_publish`.
///
/// # Safety
/// As `tenure_publisher_publish`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_publish_copy(
    publisher: *const PublisherHandle,
    tensor: *const TensorHandle,
    meta: *const FrameMeta,
    receipt: *mut PublishReceipt,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        publish(publisher, tensor, meta, receipt, |it, tensor, meta| it.publish_copy(tensor, meta))
    }
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
    guarded_free(|| drop(unsafe { take(publisher) }));
}
