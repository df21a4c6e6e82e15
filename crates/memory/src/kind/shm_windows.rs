//! Shared memory on Windows: sections of the paging file, by name.
//!
//! A section lives for as long as some process has it open. Its size never changes, so that what
//! is mapped stays. Tested under Wine; see the table of platforms.
#![expect(unsafe_code, reason = "calls Windows")]

use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::backend::ObjectKey;
use crate::{
    Allocator, Buffer, CpuAddress, Error, RawBuffer, RawMemory, Request, Result, TensorMemory, Why,
};

type Handle = *mut c_void;

const PAGE_READWRITE: u32 = 4;
/// `FILE_MAP_READ | FILE_MAP_WRITE`.
const READ_WRITE: u32 = 6;
const ALREADY_EXISTS: i32 = 183;
const MEM_RESERVE: u32 = 0x2000;
const MEM_RELEASE: u32 = 0x8000;
const PAGE_NOACCESS: u32 = 1;
/// What views start at.
const GRANULARITY: usize = 64 << 10;
/// How often another thread may be quicker to take the addresses that would do.
const TRIES: usize = 16;

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
    fn MapViewOfFileEx(
        section: Handle,
        access: u32,
        offset_high: u32,
        offset_low: u32,
        bytes: usize,
        address: *mut c_void,
    ) -> *mut c_void;
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
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
        let section = Section::create(self.name.as_deref(), request.bytes(), request.align())?;
        Ok(RawBuffer::new(section, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(self.clone()))
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
        return Err(Error::from(crate::detail::Open { path: name.into(), cause }));
    }
    Ok(format!("Local\\tenure-{name}").encode_utf16().chain([0]).collect())
}

fn failed(what: &'static str) -> Error {
    Error::from(crate::detail::System { what, cause: io::Error::last_os_error() })
}

/// A view of all of a section that is open, which has `bytes` bytes; null if there is none.
fn view(section: Handle, bytes: usize, align: usize) -> *mut c_void {
    let at = |address| {
        // SAFETY: a section that is open; all of it, where nothing is mapped: Windows refuses
        // addresses that are in use.
        unsafe { MapViewOfFileEx(section, READ_WRITE, 0, 0, 0, address) }
    };
    if align <= GRANULARITY {
        return at(ptr::null_mut());
    }
    let Some(reach) = bytes.checked_add(align) else { return ptr::null_mut() };
    for _ in 0..TRIES {
        // Addresses that are free, with an aligned one among them; given back before they are
        // used, because a view cannot take the place of a reservation.
        // SAFETY: Windows chooses the addresses, which nobody else knows before they are released.
        let free = unsafe {
            let free = VirtualAlloc(ptr::null_mut(), reach, MEM_RESERVE, PAGE_NOACCESS);
            if free.is_null() {
                return free;
            }
            VirtualFree(free, 0, MEM_RELEASE);
            free
        };
        let view = at(free.map_addr(|address| address.next_multiple_of(align)));
        // Another thread may have taken the place meanwhile.
        if !view.is_null() {
            return view;
        }
    }
    ptr::null_mut()
}

impl Section {
    fn create(name: Option<&str>, bytes: usize, align: usize) -> Result<Section> {
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
            return Err(Error::from(crate::detail::OutOfMemory {
                memory,
                bytes,
                available: None,
                source,
            }));
        }
        if let (Some(ALREADY_EXISTS), Some(name)) = (cause.raw_os_error(), name) {
            // SAFETY: opened just now.
            unsafe { CloseHandle(handle) };
            return Err(Error::from(crate::detail::Open { path: name.into(), cause }));
        }
        Section::map(handle, name, Some(bytes), align)
    }

    fn open(name: &str) -> Result<Section> {
        let whole = whole_name(name)?;
        // SAFETY: the name ends with a zero.
        let handle = unsafe { OpenFileMappingW(READ_WRITE, 0, whole.as_ptr()) };
        if handle.is_null() {
            let cause = io::Error::last_os_error();
            return Err(Error::from(crate::detail::Open { path: name.into(), cause }));
        }
        Section::map(handle, Some(name), None, GRANULARITY)
    }

    /// Takes the handle, and maps all of the section at a multiple of `align`.
    fn map(
        handle: Handle,
        name: Option<&str>,
        size: Option<usize>,
        align: usize,
    ) -> Result<Section> {
        let view = view(handle, size.unwrap_or(0).max(1), align);
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
