//! Raw buffers over the bytes of others.

use std::sync::Arc;
#[cfg(linux_like)]
use std::sync::atomic::AtomicBool;

use super::{Core, RawBuffer};
use crate::kind::window::Window;

impl RawBuffer {
    /// The same bytes to be read only: another raw buffer with this one's ledger and identity,
    /// which it keeps.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_memory::{Buffer, RawBuffer, Request, TensorMemory, allocate};
    /// let raw = Arc::new(allocate(Some(TensorMemory::Mem), &Request::new(4)?)?);
    /// let (all, reader) = (Buffer::from_shared(Arc::clone(&raw)), RawBuffer::read_only(raw));
    /// let reader = Buffer::from_raw(reader);
    /// all.write()?.as_bytes_mut().fill(7);
    /// assert_eq!(reader.read()?.as_bytes(), [7; 4]);
    /// assert!(reader.write().is_err());
    /// // One ledger: whoever reads here keeps writers away there.
    /// let _reading = reader.read()?;
    /// assert!(all.write().unwrap_err().is_busy());
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn read_only(home: Arc<RawBuffer>) -> RawBuffer {
        RawBuffer::over(&home, Window::read_only(Arc::clone(&home)))
    }

    /// The same bytes, lent: another raw buffer with this one's ledger, identity and descriptor,
    /// which it keeps. `lease` is dropped when the last handle to the lent bytes is gone: buffer,
    /// slices, tensors, views, guards, exports.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_memory::{Buffer, RawBuffer, Request, TensorMemory, allocate};
    /// let home = Arc::new(allocate(Some(TensorMemory::Mem), &Request::new(4)?)?);
    /// let lease = Arc::new("until all is given back");
    /// let lent = Buffer::from_raw(RawBuffer::lent(Arc::clone(&home), Arc::clone(&lease)));
    /// let part = lent.slice(0..2)?;
    /// drop(lent);
    /// assert_eq!(Arc::strong_count(&lease), 2);
    /// drop(part);
    /// assert_eq!(Arc::strong_count(&lease), 1);
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    pub fn lent(home: Arc<RawBuffer>, lease: impl Send + Sync + 'static) -> RawBuffer {
        RawBuffer::over(&home, Window::lent(Arc::clone(&home), Box::new(lease)))
    }

    pub(super) fn over(home: &RawBuffer, window: Window) -> RawBuffer {
        let core = home.core();
        let core = Core {
            ledger: Arc::clone(&core.ledger),
            identity: core.identity.same(),
            object: None,
            address: core.address,
            size: core.size,
            kind: core.kind,
            writable: crate::RawMemory::writable(&window),
            maintained: core.maintained,
            record: None,
            watch: super::watch::Watch::default(),
            #[cfg(linux_like)]
            exports: super::exports::Exports::default(),
            #[cfg(linux_like)]
            turn: None,
            #[cfg(linux_like)]
            left_behind: AtomicBool::new(false),
            memory: Box::new(window),
        };
        let name = home.name.clone();
        RawBuffer { core: Some(Box::new(core)), name, home: None, refusals: vec![] }
    }
}
