//! The handler for SIGBUS: installing it, keeping it, and passing on what is not ours.
#![expect(unsafe_code, reason = "installs a signal handler and calls others")]

use std::ffi::c_void;
use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::others::{OTHERS, Passing};
use super::{Range, ranges, refill};
use crate::{Error, Result};

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// Both do the same. A handler that was installed over one of them saved it as "the one before",
/// and is then called from the other: if the first is back after that, it has stepped aside.
const OURS: [Handler; 2] = [first, second];

extern "C" fn first(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    handle(signal, info, context);
}

extern "C" fn second(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // Not the same instructions: the compiler must not give both one address.
    std::hint::black_box(1);
    handle(signal, info, context);
}

fn is_ours(action: &libc::sigaction) -> Option<usize> {
    OURS.iter().position(|ours| *ours as usize == action.sa_sigaction)
}

/// Makes sure that this thread survives mapped memory that another process takes away.
///
/// A file that is shortened while it is mapped (also named shared memory, and huge pages that are
/// given back) raises SIGBUS in whoever touches what is gone. Tenure handles it: the bytes read as
/// zero, and the buffer answers [`Error::Truncated`] from then on. This holds for files of any
/// size and any number of pages, on every thread, and also if another handler was installed
/// before.
///
/// It cannot hold where the signal does not reach Tenure:
///
/// - **A handler that is installed over Tenure's while a guard or an export is alive.** Every map
///   of such memory and every new mapping of it calls this function, which puts Tenure's handler
///   back in front and passes other signals on to the one that it found. Until then the other
///   handler decides. One that steps aside when a fault comes is survived: Python's `faulthandler`
///   reports a bus error and the program goes on. One that returns without doing anything is
///   called for ever (a function given to Python's `signal.signal(SIGBUS, …)`), and the default
///   action kills.
/// - **A thread that blocks SIGBUS.** The kernel kills a process that faults with the signal
///   blocked. This function unblocks it for the calling thread, so a thread that maps is safe. One
///   that reads through a guard or an export from another thread has to leave the signal
///   unblocked, or call this function or [`crate::prepare_thread`] first, as the threads do that
///   Tenure starts.
///
/// Two short system calls; nothing is installed that is there already.
///
/// # Errors
/// [`Error::System`] if the kernel refuses the handler, which it does under no condition known.
pub fn ensure_sigbus_handler() -> Result<()> {
    unblock();
    let now = current().ok_or_else(failed)?;
    if is_ours(&now).is_some() {
        return Ok(());
    }
    while !OTHERS.turn.take() {
        std::thread::yield_now();
    }
    let answer = install();
    OTHERS.turn.give_back();
    answer
}

/// Lets SIGBUS reach this thread: blocking it does not keep a fault away, it makes it deadly.
pub(crate) fn unblock() {
    // SAFETY: a set on the stack, valid when zeroed; changes which signals this thread gets.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
    }
}

fn current() -> Option<libc::sigaction> {
    // SAFETY: asks only; the structure is valid when zeroed.
    unsafe {
        let mut now: libc::sigaction = mem::zeroed();
        (libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut now) == 0).then_some(now)
    }
}

fn failed() -> Error {
    Error::from(crate::detail::System {
        what: "installing a handler for SIGBUS",
        cause: io::Error::last_os_error(),
    })
}

/// Which of [`OURS`] is installed next.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// Installs the handler over what is there, with the turn.
fn install() -> Result<()> {
    let found = current().ok_or_else(failed)?;
    if is_ours(&found).is_some() {
        return Ok(());
    }
    // Entered before it is replaced: from then on signals are passed on to it.
    OTHERS.enter(&found);
    // Not the one that it found when it was installed.
    let ours = OURS[LAST.fetch_xor(1, Ordering::Relaxed) % OURS.len()];
    // SAFETY: the structure is plain data for which all zeros is valid, and the handler has the
    // signature that SA_SIGINFO asks for and only does what a signal handler may.
    let answer = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = ours as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // Nothing interrupts the handler.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
    };
    if answer == 0 { Ok(()) } else { Err(failed()) }
}

/// Only atomics and system calls: nothing that a signal handler may not do.
fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let errno = errno();
    // SAFETY: the kernel passes a valid siginfo to a handler installed with SA_SIGINFO.
    let (address, code) = unsafe { ((*info).si_addr().addr(), (*info).si_code) };
    // Signals that were sent carry whatever their sender wrote: only the kernel is believed.
    let ours = match code {
        libc::BUS_ADRERR => refilled(address, false),
        libc::BUS_MCEERR_AR => refilled(address, true),
        // A handler that was installed over this one steps aside when a fault comes, and sends the
        // signal again to the one before it: the fault itself follows.
        libc::SI_TKILL => sent_by_this_process(info) && ranges().any(heralds_fault),
        _ => false,
    };
    if !ours {
        pass_on(signal, code <= 0, info, context);
    }
    // SAFETY: the place of this thread.
    unsafe { *errno_place() = errno };
}

fn refilled(address: usize, broken: bool) -> bool {
    ranges().any(|range| {
        range.get().is_some_and(|watched| {
            (watched.start..watched.end).contains(&address)
                && refill::refill(range, watched, address, broken)
        })
    })
}

fn sent_by_this_process(info: *mut libc::siginfo_t) -> bool {
    // SAFETY: a valid siginfo of a signal that `tkill` sent, which names its sender.
    unsafe { (*info).si_pid() == libc::getpid() }
}

/// Whether a fault is to come in a range. Once for each: what is sent after that is meant.
fn heralds_fault(range: &Range) -> bool {
    refill::awaits_fault(range) && !range.heralded.swap(true, Ordering::Relaxed)
}

/// Not ours: the handler before does it now.
fn pass_on(signal: i32, sent: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
    let passing = Passing::of(info.addr());
    let latest = OTHERS.latest(passing.below());
    let Some((at, other)) = latest else { return restore_default(signal, sent) };
    let ours = current().and_then(|action| is_ours(&action));
    match other.sa_sigaction {
        // Faults cannot be ignored.
        libc::SIG_IGN if sent => return,
        libc::SIG_DFL | libc::SIG_IGN => return restore_default(signal, sent),
        handler if other.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: Handler = unsafe { mem::transmute(handler) };
            let _passing = passing.to(at);
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: the program installed this address as a handler with this signature.
            let handler: extern "C" fn(i32) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
    }
    let now = current();
    let replaced = now.as_ref().and_then(is_ours) != ours;
    if replaced || is_pending(signal) {
        // It has stepped aside: what comes next is for the one before it.
        OTHERS.leave(at);
    }
    // What was sent does not come again by itself; a fault does.
    if sent && now.is_some_and(|now| now.sa_sigaction == libc::SIG_DFL) {
        // SAFETY: async-signal-safe; arrives when the handler has returned.
        unsafe { libc::raise(signal) };
    }
}

fn is_pending(signal: i32) -> bool {
    // SAFETY: async-signal-safe; a set on the stack, valid when zeroed.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigpending(&raw mut set) == 0 && libc::sigismember(&raw const set, signal) == 1
    }
}

/// The instruction runs again and the signal then does what it does without a handler.
fn restore_default(signal: i32, sent: bool) {
    // SAFETY: async-signal-safe, and the structure is valid when zeroed (SIG_DFL).
    unsafe {
        let action: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, &raw const action, ptr::null_mut());
        if sent {
            libc::raise(signal);
        }
    }
}

fn errno() -> i32 {
    // SAFETY: the place of this thread.
    unsafe { *errno_place() }
}

/// Where the C library keeps this thread's error number, which a handler must not change.
fn errno_place() -> *mut i32 {
    // SAFETY: no arguments.
    #[cfg(target_os = "android")]
    return unsafe { libc::__errno() };
    // SAFETY: no arguments.
    #[cfg(not(target_os = "android"))]
    return unsafe { libc::__errno_location() };
}
