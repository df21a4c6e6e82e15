//! How streams are published: the options of publishers.
#![expect(unsafe_code, reason = "C passes pointers and callbacks")]

use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure::TensorMemory;
use tenure::stream::{Publisher, Spec};

use crate::codes::{self, MemoryCode};
use crate::failure::{Failure, Outcome};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, borrow_mut, give, out, take, text};
use crate::policy::{Allow, FreeContext, Policy};
use crate::spec::SpecHandle;
use crate::status::Status;

/// How a stream is published: its name and options, which may open several publishers in turn.
pub struct PublisherOptions {
    name: String,
    directory: Option<PathBuf>,
    spec: Option<Spec>,
    /// Whether frames may look otherwise than `spec`.
    free: bool,
    memory: Option<TensorMemory>,
    claims: Option<usize>,
    credits: Option<usize>,
    credits_each: Option<usize>,
    evict_after: Option<Duration>,
    policy: Option<Arc<Policy>>,
    threadless: bool,
}

impl Handle for PublisherOptions {}

impl PublisherOptions {
    /// A publisher with these options.
    pub(crate) fn open(&self) -> tenure::stream::Result<Publisher> {
        let mut builder = Publisher::builder(&self.name);
        if let Some(directory) = &self.directory {
            builder = builder.directory(directory);
        }
        if let Some(spec) = &self.spec {
            builder = match self.free {
                true => builder.initial_spec(spec.clone()),
                false => builder.spec(spec.clone()),
            };
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
        if let Some(policy) = &self.policy {
            let policy = Arc::clone(policy);
            builder = builder.allow(move |peer| policy.allows(peer));
        }
        if self.threadless {
            builder = builder.without_thread();
        }
        builder.open()
    }
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
            free: false,
            memory: None,
            claims: None,
            credits: None,
            credits_each: None,
            evict_after: None,
            policy: None,
            threadless: false,
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

/// The directory of the socket, instead of `$TENURE_STREAM_DIR`, `$XDG_RUNTIME_DIR/tenure`,
/// `/run/tenure`, or `/tmp/tenure-UID` without any of them.
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

/// What all frames look like: others are `TENURE_STATUS_INVALID` and not published. Memory for a new
/// consumer is made when it comes and not when the first frame needs it. The description is copied.
///
/// # Safety
/// `options` is null or options that nobody else uses; `spec` is null or a description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_spec(
    options: *mut PublisherOptions,
    spec: *const SpecHandle,
) -> Status {
    // SAFETY: both are null or valid, and `options` is used here only: this function's contract.
    unsafe { set_spec(options, spec, false) }
}

/// What the first frames will look like, so that there is memory for them; later ones may look
/// otherwise. The description is copied.
///
/// # Safety
/// `options` is null or options that nobody else uses; `spec` is null or a description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_initial_spec(
    options: *mut PublisherOptions,
    spec: *const SpecHandle,
) -> Status {
    // SAFETY: both are null or valid, and `options` is used here only: this function's contract.
    unsafe { set_spec(options, spec, true) }
}

/// # Safety
/// As [`tenure_publisher_options_set_spec`].
unsafe fn set_spec(options: *mut PublisherOptions, spec: *const SpecHandle, free: bool) -> Status {
    // SAFETY: both are null or valid, and `options` is used here only: this function's contract.
    unsafe {
        change(options, |options| {
            options.spec = Some(borrow(spec, "spec")?.0.clone());
            options.free = free;
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

/// How many frames all consumers together may hold at one time (192 if not said), and each of them
/// (16 if not said). Once half are granted, later consumers get fewer than they ask for.
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

/// Who may subscribe, besides processes of the same user or group, who always may: `allow` is
/// asked about others when they come. It is called on the stream's thread, or, if the publisher has
/// none, on the thread that calls `tenure_publisher_serve`; with several publishers of these options
/// perhaps on several threads at one time. Whoever waits to be let in waits for its answer. It must
/// not use the publisher that it is asked for.
///
/// `context` is handed to it. `free_context`, which may be null, is called with it exactly once,
/// when these options and all publishers opened with them have been freed or another callback was
/// set, on whichever thread lets go of it last; also if this call does not succeed. A null `allow`
/// is as if not said.
///
/// # Safety
/// `options` is null or options that nobody else uses. `allow` and `free_context` are null or
/// functions that any thread may call with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_allow(
    options: *mut PublisherOptions,
    allow: Allow,
    context: *mut c_void,
    free_context: FreeContext,
) -> Status {
    // SAFETY: by the caller's promise. Made first: what the caller gave away is freed in any case.
    let policy = unsafe { Policy::new(allow, context, free_context) };
    let set = |options: &mut PublisherOptions| {
        options.policy = policy.map(Arc::new);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(options, set) }
}

/// Publishers without a thread of their own, if it is false: `tenure_publisher_serve` has to be
/// called to let consumers in. True if not said.
///
/// # Safety
/// `options` is null or options that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_publisher_options_set_thread(
    options: *mut PublisherOptions,
    thread: bool,
) -> Status {
    // SAFETY: by the caller's promise.
    unsafe {
        change(options, |options| {
            options.threadless = !thread;
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
    guarded_free(|| unsafe { take(options, "options") });
}
