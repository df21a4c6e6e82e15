//! Who may subscribe to a stream, as a C program decides it.
#![expect(unsafe_code, reason = "C passes callbacks")]

use std::ffi::c_void;

use tenure::memory::share::Peer;

/// A process that wants to subscribe, as the kernel knows it.
#[repr(C)]
pub struct PeerInfo {
    /// Process id at the time of connecting; 0 if it has none here, because it lives outside this
    /// process's namespace.
    pub pid: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Is asked whether a process may subscribe. It must return, not throw or jump away.
pub type Allow = Option<unsafe extern "C" fn(context: *mut c_void, peer: *const PeerInfo) -> bool>;

/// Frees the context of a callback. It must return, not throw or jump away.
pub type FreeContext = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// A callback with its context, which is freed when this is dropped.
pub(crate) struct Policy {
    allow: unsafe extern "C" fn(context: *mut c_void, peer: *const PeerInfo) -> bool,
    context: Context,
}

struct Context {
    pointer: *mut c_void,
    free: FreeContext,
}

// SAFETY: by the promise to `Policy::new` any thread may call the functions with the pointer, which
// is used for nothing else.
unsafe impl Send for Context {}
// SAFETY: as above, at one time too.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: by the promise to `Policy::new`; nobody has the pointer any more.
            unsafe { free(self.pointer) }
        }
    }
}

impl Policy {
    /// None without a callback; the context is then freed at once.
    ///
    /// # Safety
    /// As long as the policy lives, any thread may call `allow` with `context`, several at one
    /// time; and when it is dropped, whichever thread does it may call `free`.
    pub(crate) unsafe fn new(
        allow: Allow,
        context: *mut c_void,
        free: FreeContext,
    ) -> Option<Policy> {
        let context = Context { pointer: context, free };
        allow.map(|allow| Policy { allow, context })
    }

    /// Asks.
    pub(crate) fn allows(&self, peer: &Peer) -> bool {
        let peer = PeerInfo { pid: peer.pid, uid: peer.uid, gid: peer.gid };
        // SAFETY: by the promise to `Policy::new`.
        unsafe { (self.allow)(self.context.pointer, &raw const peer) }
    }
}
