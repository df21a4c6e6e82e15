//! Shared memory on Windows: sections of the paging file, by name.
//!
//! A section lives for as long as some process has it open. Its size never changes, so that what
//! is mapped stays. Type-checked, not run by this project; see the table of platforms.
#![expect(unsafe_code, reason = "calls Windows")]

use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ptr::{self, NonNull};

use crate::{
    Allocator, Buffer, CpuAddress, Error, ObjectKey, RawBuffer, RawMemory, Request, Result,
    TensorMemory, Why,
};

type Handle = *mut c_void;

const PAGE_READWRITE: u32 = 4;
/// `FILE_MAP_READ | FILE_MAP_WRITE`.
const READ_WRITE: u32 = 6;
const ALREADY_EXISTS: i32 = 183;
/// What views start at.
const GRANULARITY: usize = 64 << 10;

#[repr(C)]
struct BasicInformation {
    base: *mut c_void,
    allocation_base: *mut c_void,
    allocation_protect: u32,
    partition: u16,
    region_size: usize,
    state: u32,
    protect: u32,
    kind: u32,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateFileMappingW(
        file: Handle,
        attributes: *const c_void,
        protection: u32,
        size_high: u32,
        size_low: u32,
        name: *const u16,
    ) -> Handle;
    fn OpenFileMappingW(access: u32, inherit: i32, name: *const u16) -> Handle;
    fn MapViewOfFile(
        section: Handle,
        access: u32,
        offset_high: u32,
        offset_low: u32,
        bytes: usize,
    ) -> *mut c_void;
    fn UnmapViewOfFile(view: *const c_void) -> i32;
    fn VirtualQuery(address: *const c_void, found: *mut BasicInformation, bytes: usize) -> usize;
    fn CloseHandle(handle: Handle) -> i32;
}

/// Allocates sections: under a name of the user's, or without one, so that nobody else can open them.
#[derive(Debug, Clone, Default)]
pub struct Shm {
    name: Option<String>,
}

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    static UNNAMED: Shm = Shm { name: None };
    Ok(&UNNAMED)
}

impl Shm {
    /// Memory that others open by this name, with [`open_named`].
    pub fn named(name: &str) -> Shm {
        Shm { name: Some(name.to_owned()) }
    }
}

impl Allocator for Shm {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let (bytes, align) = (request.bytes(), request.align());
        if align > GRANULARITY {
            return Err(Error::BadRequest { bytes, align });
        }
        let section = Section::create(self.name.as_deref(), bytes)?;
        Ok(RawBuffer::new(section, request.name()))
    }
}

/// Opens memory that somebody made with [`Shm::named`]; at least so many bytes of it.
///
/// # Errors
/// If there is none of this name, or it is shorter.
pub fn open_named(name: &str, bytes: usize) -> Result<Buffer> {
    let section = Section::open(name)?;
    if section.size < bytes {
        return Err(Error::TooShort { have: section.size as u64, need: bytes as u64 });
    }
    Ok(Buffer::from_raw(RawBuffer::new(section, Some(name))))
}

/// A mapped section.
struct Section {
    handle: Handle,
    address: NonNull<u8>,
    size: usize,
    /// For those that have a name, by which this process can open them again.
    key: Option<ObjectKey>,
}

// SAFETY: views may be used on any thread; access is ordered by the ledger.
unsafe impl Send for Section {}
// SAFETY: as above.
unsafe impl Sync for Section {}

/// The whole name of a section, in this session, for Windows; names with separators could mean the
/// same in two ways.
fn whole_name(name: &str) -> Result<Vec<u16>> {
    if name.is_empty() || name.len() > 200 || name.contains(['\\', '/', '\0']) {
        let cause = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(Error::Open { path: name.into(), cause });
    }
    Ok(format!("Local\\tenure-{name}").encode_utf16().chain([0]).collect())
}

fn failed(what: &'static str) -> Error {
    Error::System { what, cause: io::Error::last_os_error() }
}

impl Section {
    fn create(name: Option<&str>, bytes: usize) -> Result<Section> {
        let whole = name.map(whole_name).transpose()?;
        let pointer = whole.as_ref().map_or(ptr::null(), |whole| whole.as_ptr());
        let size = bytes.max(1) as u64;
        let (high, low) = ((size >> 32) as u32, size as u32);
        // SAFETY: no file stands for the paging file; the name ends with a zero, or there is none.
        let handle = unsafe {
            let paging_file = ptr::without_provenance_mut(usize::MAX);
            CreateFileMappingW(paging_file, ptr::null(), PAGE_READWRITE, high, low, pointer)
        };
        let cause = io::Error::last_os_error();
        if handle.is_null() {
            let (memory, source) = (TensorMemory::Shm, Some(cause));
            return Err(Error::OutOfMemory { memory, bytes, available: None, source });
        }
        if let (Some(ALREADY_EXISTS), Some(name)) = (cause.raw_os_error(), name) {
            // SAFETY: opened just now.
            unsafe { CloseHandle(handle) };
            return Err(Error::Open { path: name.into(), cause });
        }
        Section::map(handle, name, Some(bytes))
    }

    fn open(name: &str) -> Result<Section> {
        let whole = whole_name(name)?;
        // SAFETY: the name ends with a zero.
        let handle = unsafe { OpenFileMappingW(READ_WRITE, 0, whole.as_ptr()) };
        if handle.is_null() {
            let cause = io::Error::last_os_error();
            return Err(Error::Open { path: name.into(), cause });
        }
        Section::map(handle, Some(name), None)
    }

    /// Takes the handle, and maps all of the section.
    fn map(handle: Handle, name: Option<&str>, size: Option<usize>) -> Result<Section> {
        // SAFETY: a section that is open; all of it.
        let view = unsafe { MapViewOfFile(handle, READ_WRITE, 0, 0, 0) };
        let Some(address) = NonNull::new(view.cast::<u8>()) else {
            let error = failed("mapping a section");
            // SAFETY: opened by the caller, who gave it here.
            unsafe { CloseHandle(handle) };
            return Err(error);
        };
        // Two views of one section answer to one ledger.
        let key = name.map(|name| {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            ObjectKey { device: u64::MAX, inode: hasher.finish() }
        });
        let mut section = Section { handle, address, size: 0, key };
        section.size = match size {
            Some(size) => size,
            None => section.measured()?,
        };
        Ok(section)
    }

    /// Bytes of the view, in whole pages.
    fn measured(&self) -> Result<usize> {
        let mut found = BasicInformation {
            base: ptr::null_mut(),
            allocation_base: ptr::null_mut(),
            allocation_protect: 0,
            partition: 0,
            region_size: 0,
            state: 0,
            protect: 0,
            kind: 0,
        };
        // SAFETY: an address of this process and a place for the answer.
        let written = unsafe {
            let address = self.address.as_ptr().cast();
            VirtualQuery(address, &raw mut found, size_of::<BasicInformation>())
        };
        if written == 0 { Err(failed("measuring a section")) } else { Ok(found.region_size) }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: mapped and opened in `map` and its callers, and closed once.
        unsafe {
            UnmapViewOfFile(self.address.as_ptr().cast());
            CloseHandle(self.handle);
        }
    }
}

// SAFETY: a view is valid until it is unmapped, when `self` is dropped; sections of the paging file
// are zeroed, and their size never changes.
unsafe impl RawMemory for Section {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Shm
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::Fixed(self.address)
    }

    fn object(&self) -> Option<ObjectKey> {
        self.key
    }
}
