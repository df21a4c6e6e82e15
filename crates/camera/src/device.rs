//! An open device node that captures.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use tenure_memory::backend::Process;

use crate::kernel;
use crate::kernel::structures::{CAPTURE, CAPTURE_PLANES, Capability, text};
use crate::{Error, Result};

/// Who a camera is, in its driver's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The camera: `HD Pro Webcam C920`.
    pub name: String,
    /// Its driver: `uvcvideo`.
    pub driver: String,
    /// Where it is plugged in: `usb-0000:00:14.0-1`.
    pub bus: String,
}

/// The device, shared by the camera, its streams and their frames.
#[derive(Debug)]
pub(crate) struct Device {
    fd: OwnedFd,
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    /// The kind of queue: planes in one buffer, or maybe in several.
    pub(crate) kind: u32,
    /// Who opened it. A process that was forked off has the same descriptor, and must not stop or
    /// give back what is the other's.
    pub(crate) process: Process,
}

const VIDEO_CAPTURE: u32 = 1;
const VIDEO_CAPTURE_PLANES: u32 = 0x1000;
const STREAMING: u32 = 0x0400_0000;
const HAS_DEVICE_CAPABILITIES: u32 = 0x8000_0000;

/// What else a node can be, by capability.
const OTHERS: [(u32, &str); 8] = [
    (0x8000 | 0x4000, "a codec or converter (memory to memory)"),
    (0x0080_0000 | 0x0800_0000, "a node for metadata"),
    (0x0002 | 0x2000, "a video output"),
    (0x0004 | 0x0200, "a video overlay"),
    (0x0010 | 0x0020 | 0x0040 | 0x0080, "a node for teletext and captions"),
    (0x0010_0000 | 0x0040_0000, "a software-defined radio"),
    (0x0004_0000 | 0x0001_0000, "a radio or tuner"),
    (0x1000_0000, "a touch sensor"),
];

/// Opens a node and asks who it is.
pub(crate) fn ask(path: &Path) -> Result<(OwnedFd, Capability)> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let failed = |errno: Errno| match errno {
        Errno::BUSY | Errno::NODEV | Errno::NXIO => Error::driver(path, "opening", errno),
        _ => Error::from(crate::detail::Open { path: path.to_owned(), cause: errno.into() }),
    };
    let not = |found| Error::from(crate::detail::NotACamera { path: path.to_owned(), found });
    // Looked at first: opening a pipe or a tape may have effects.
    let stat = rustix::fs::stat(path).map_err(failed)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => {}
        FileType::RegularFile => return Err(not("a file")),
        FileType::Directory => return Err(not("a folder")),
        _ => return Err(not("no character device")),
    }
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    match kernel::capability(fd.as_fd()) {
        Ok(capability) => Ok((fd, capability)),
        Err(errno @ (Errno::NODEV | Errno::NXIO)) => Err(Error::driver(path, "asking", errno)),
        Err(_) => Err(not("a device that does not speak V4L2")),
    }
}

pub(crate) fn identity(capability: &Capability) -> Identity {
    Identity {
        name: text(&capability.card),
        driver: text(&capability.driver),
        bus: text(&capability.bus),
    }
}

/// The kind of queue that a node captures with, or what it is instead.
pub(crate) fn queue_kind(capability: &Capability) -> Result<u32, &'static str> {
    let all = capability.capabilities;
    let has_own = all & HAS_DEVICE_CAPABILITIES != 0;
    let own = if has_own { capability.device_capabilities } else { all };
    let kind = match own {
        _ if own & VIDEO_CAPTURE != 0 => CAPTURE,
        _ if own & VIDEO_CAPTURE_PLANES != 0 => CAPTURE_PLANES,
        _ => {
            let what = OTHERS.iter().find(|(bits, _)| own & bits != 0);
            return Err(what.map_or("a V4L2 device that does not capture", |(_, words)| words));
        }
    };
    if own & STREAMING == 0 {
        return Err("a camera that only serves read(), without buffers to share");
    }
    Ok(kind)
}

impl Device {
    pub(crate) fn open(path: &Path) -> Result<Device> {
        let (fd, capability) = ask(path)?;
        let kind = queue_kind(&capability).map_err(|found| {
            Error::from(crate::detail::NotACamera { path: path.to_owned(), found })
        })?;
        Ok(Device {
            fd,
            path: path.to_owned(),
            identity: identity(&capability),
            kind,
            process: Process::current(),
        })
    }

    /// What the driver said, in words.
    pub(crate) fn failed(&self, what: &'static str) -> impl Fn(Errno) -> Error + '_ {
        move |errno| Error::driver(&self.path, what, errno)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
