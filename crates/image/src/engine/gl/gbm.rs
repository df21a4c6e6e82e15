//! Graphics cards without a screen: devices of GBM on render nodes, for drivers that know EGL
//! through them only.
#![expect(unsafe_code, reason = "calls GBM, which is loaded at run time")]

use std::ffi::c_void;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;

use libloading::{Library, Symbol};
use rustix::fs::{Mode, OFlags, open};

/// Render nodes have these numbers.
const NODES: std::ops::Range<u32> = 128..192;

/// A card. It stays open, as EGL's displays do.
pub(super) struct Card {
    /// What EGL is given.
    device: NonNull<c_void>,
    _node: OwnedFd,
}

// SAFETY: GBM's functions may be called from any thread; here only EGL uses the device, which
// locks it.
unsafe impl Send for Card {}
// SAFETY: as above.
unsafe impl Sync for Card {}

impl Card {
    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.device.as_ptr()
    }
}

static CARDS: OnceLock<Result<Vec<Card>, String>> = OnceLock::new();

/// The cards of this machine, opened once.
///
/// # Errors
/// Why there are none.
pub(super) fn cards() -> Result<&'static [Card], String> {
    CARDS.get_or_init(find).as_deref().map_err(Clone::clone)
}

fn find() -> Result<Vec<Card>, String> {
    let mut reasons = vec![];
    let mut nodes = vec![];
    for number in NODES {
        let path = format!("/dev/dri/renderD{number}");
        match open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Ok(node) => nodes.push((path, node)),
            Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => reasons.push(format!("{path}: {errno}")),
        }
    }
    if nodes.is_empty() {
        reasons.insert(0, "there is no /dev/dri/renderD* to open".to_owned());
        return Err(reasons.join(", "));
    }
    let library = library()?;
    let mut cards = vec![];
    for (path, node) in nodes {
        // SAFETY: the library gives the function this type; it keeps the descriptor, which the
        // card keeps open.
        let device = unsafe {
            let create: Symbol<'_, unsafe extern "C" fn(i32) -> *mut c_void> = library
                .get(b"gbm_create_device\0")
                .map_err(|error| format!("libgbm.so.1: {error}"))?;
            create(node.as_raw_fd())
        };
        match NonNull::new(device) {
            Some(device) => cards.push(Card { device, _node: node }),
            None => reasons.push(format!("{path}: gbm_create_device gives nothing")),
        }
    }
    if cards.is_empty() { Err(reasons.join(", ")) } else { Ok(cards) }
}

/// The library, which stays loaded, as devices have code in it.
fn library() -> Result<&'static Library, String> {
    // SAFETY: loads the system's GBM, whose initialisers may be run at any time.
    let library = unsafe { Library::new("libgbm.so.1") };
    library.map(|library| &*Box::leak(Box::new(library))).map_err(|error| error.to_string())
}
