//! Work on its way: a point in time that devices reach and others wait for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::duplicate::duplicate;
use crate::kind::dma::{export_fence, import_fence};
use crate::{Access, Buffer, Error, RawBuffer, Result, TensorMemory};

/// A sync file: becomes done when the device work behind it is, never goes back. Where the work is
/// not a device's it is the reading end of a pipe: done when a byte arrives, failed when the other
/// end closes without one.
#[derive(Debug)]
#[must_use = "the work may still be on its way: wait for it, or pass the fence on"]
pub struct Fence {
    fd: OwnedFd,
    /// Why the work failed, if it did and whoever did it knows.
    cause: Option<Arc<OnceLock<Error>>>,
}

impl Fence {
    /// Takes a sync file from another library or process, or another descriptor of a fence.
    ///
    /// ```
    /// use tenure_memory::Fence;
    /// let (signal, fence) = Fence::pair()?;
    /// let other = Fence::from_fd(&fence)?;
    /// assert!(!other.is_done()?);
    /// signal.done();
    /// assert!(other.is_done()? && fence.is_done()?);
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the descriptor is closed or this process has none left.
    pub fn from_fd(fd: impl AsFd) -> Result<Fence> {
        Ok(Fence { fd: duplicate(fd)?, cause: None })
    }

    /// A fence, and what makes it done.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_memory::Fence;
    /// let (signal, fence) = Fence::pair()?;
    /// assert!(!fence.is_done()?);
    /// std::thread::spawn(move || signal.done());
    /// assert!(fence.wait(None)?);
    /// let (signal, fence) = Fence::pair()?;
    /// drop(signal);
    /// assert!(fence.wait(None).is_err());
    /// let (signal, fence) = Fence::pair()?;
    /// signal.failed(tenure_memory::Error::Truncated);
    /// assert!(fence.wait(None).unwrap_err().to_string().contains("cut off"));
    /// # Ok::<(), tenure_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this process has no descriptors left.
    pub fn pair() -> Result<(Signal, Fence)> {
        let (end, start) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|errno| Error::system("making a pipe for a fence", errno))?;
        let _reader = duplicate(&end)?;
        let cause = Arc::new(OnceLock::new());
        let signal = Signal { fd: start, _reader, cause: Arc::clone(&cause) };
        Ok((signal, Fence { fd: end, cause: Some(cause) }))
    }

    /// Waits until the work is done, at most so long; `None` waits without end. Says whether it
    /// is done.
    ///
    /// # Errors
    /// If the device failed: with its own error, where it is known.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
        let cause = || self.cause.as_ref().and_then(|cause| cause.get());
        wait_for(self.fd.as_fd(), PollFlags::IN, timeout)
            .map_err(|error| cause().map_or(error, again))
    }

    /// Whether the work is done.
    ///
    /// # Errors
    /// If the device failed.
    pub fn is_done(&self) -> Result<bool> {
        self.wait(Some(Duration::ZERO))
    }

    /// The sync file.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The sync file, given away.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for Fence {
    /// Readable when the work is done, or has failed: for event loops. It is not to be read from.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The other end of a fence whose work is not a device's own: says that the work is done. Dropped
/// without a word, the work has failed.
#[derive(Debug)]
#[must_use = "dropped without a word, the work has failed"]
pub struct Signal {
    fd: OwnedFd,
    /// The fence's own end: while somebody could read, writing raises no SIGPIPE, which would end
    _reader: OwnedFd,
    cause: Arc<OnceLock<Error>>,
}

impl Signal {
    /// The work is done.
    pub fn done(self) {
        // A pipe has room for a byte.
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.fd, &[1]));
    }

    /// The work has failed, and this is why.
    pub fn failed(self, error: Error) {
        // Nobody else sets it; the other end closes afterwards, with this.
        let _ = self.cause.set(error);
    }
}

/// The same error for everybody who waits.
fn again(cause: &Error) -> Error {
    match cause {
        Error::Device(device) => Error::from(crate::detail::Device {
            device: Arc::clone(&device.device),
            what: device.what,
            fault: device.fault.clone(),
        }),
        other => Error::system(
            "the work behind a fence",
            std::io::Error::other(tenure_layout::Language::Plain.say(other)),
        ),
    }
}

/// Whether the work will never be done: the other end of a pipe closed without a word, say.
fn failed(found: PollFlags, wanted: PollFlags) -> bool {
    found.intersects(PollFlags::ERR | PollFlags::NVAL)
        || found.contains(PollFlags::HUP) && !found.intersects(wanted)
}

fn wait_for(fd: BorrowedFd<'_>, events: PollFlags, timeout: Option<Duration>) -> Result<bool> {
    // A time too far away to be said is no limit.
    let deadline = timeout.and_then(|timeout| std::time::Instant::now().checked_add(timeout));
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(std::time::Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [PollFd::from_borrowed_fd(fd, events)];
        match poll(&mut fds, left.as_ref()) {
            Ok(0) => return Ok(false),
            Ok(_) if failed(fds[0].revents(), events) => {
                return Err(Error::system("waiting for a fence", Errno::IO));
            }
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Error::system("waiting for a fence", errno)),
        }
    }
}

impl RawBuffer {
    fn dma_descriptor(&self) -> Result<BorrowedFd<'_>> {
        match self.memory() {
            TensorMemory::Dma => self.own_descriptor(),
            memory => Err(Error::NotDma { memory }),
        }
    }
}

impl Buffer {
    /// What devices must finish before `access` may begin.
    ///
    /// # Errors
    /// If the memory is no DMA-BUF, or the kernel (before 6.0) cannot say.
    pub fn fence(&self, access: Access) -> Result<Fence> {
        let fd = export_fence(self.raw()?.dma_descriptor()?, access)
            .map_err(|errno| Error::system("exporting a fence from the DMA-BUF", errno))?;
        Ok(Fence { fd, cause: None })
    }

    /// Everybody that uses the memory from now on, CPU or device, waits for `fence`, whose work
    /// does `access`.
    ///
    /// # Errors
    /// If the memory is no DMA-BUF, or the kernel (before 6.0) cannot do it.
    pub fn add_fence(&self, fence: &Fence, access: Access) -> Result<()> {
        import_fence(self.raw()?.dma_descriptor()?, fence.fd(), access)
            .map_err(|errno| Error::system("adding a fence to the DMA-BUF", errno))
    }

    /// Waits, at most so long, until devices are done as far as `access` needs it. Says whether
    /// they are. Memory that no device shares is ready at once.
    ///
    /// # Errors
    /// If the device failed.
    pub fn wait_ready(&self, access: Access, timeout: Option<Duration>) -> Result<bool> {
        let raw = self.raw()?;
        if raw.memory() != TensorMemory::Dma {
            return Ok(true);
        }
        // Reading waits for writers, writing for everybody.
        let events = if access.writes() { PollFlags::OUT } else { PollFlags::IN };
        wait_for(raw.dma_descriptor()?, events, timeout)
    }
}
