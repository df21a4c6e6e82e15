//! Maps: the CPU gets the bytes, and nobody else meanwhile.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_void;

use tenure::memory::{Access, Hold};
use tenure::{Dyn, StridedMap, StridedRead, TensorDyn};

use crate::failure::Failure;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, out, take};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Elements to read and write. Nobody else touches their bytes until it is released.
pub struct MapHandle {
    /// Holds the elements; they are used by address alone.
    held: StridedMap<Dyn>,
    bytes: Bytes,
}

impl Handle for MapHandle {}

/// Elements to read. Others may read them too; nobody writes them until it is released.
pub struct ReadHandle {
    held: StridedRead<Dyn>,
    /// Pages that C may write all the same, of memory that must not be written.
    _pages: Option<Hold>,
    bytes: Bytes,
}

impl Handle for ReadHandle {}

/// Where the elements of a map are.
struct Bytes {
    /// The element with all indices 0, which for reversed dimensions is not the lowest.
    data: *mut u8,
    /// How many bytes there are, if they follow each other.
    together: Option<usize>,
}

// SAFETY: the address is used by whoever has the map, on any thread; the hold beside it is Send.
unsafe impl Send for Bytes {}
// SAFETY: as above; `&Bytes` only gives out numbers.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn of(tensor: &TensorDyn, data: *mut u8) -> Bytes {
        Bytes { data, together: tensor.is_contiguous().then(|| tensor.size_bytes()) }
    }

    /// The number of bytes from `data` on, or why that is no answer.
    fn count(&self, shape: &[usize], strides: &[isize]) -> Result<usize, Failure> {
        self.together.ok_or_else(|| {
            let text = format!(
                "elements of shape {shape:?} with strides {strides:?} do not follow each other: \
                 pass NULL for bytes and step by tenure_tensor_strides(), or copy the tensor with \
                 tenure_tensor_to()"
            );
            Failure::new(Status::Unsupported, text)
        })
    }
}

/// The elements to read and write, where they are; no bytes are copied. Excludes every other use
/// of the same bytes until `tenure_map_release`: `TENURE_STATUS_BUSY` if there is one. The map
/// keeps the bytes, also when the tensor is freed first.
///
/// # Safety
/// `tensor` is null or a handle; `map` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_map(
    tensor: *const TensorHandle,
    map: *mut *mut MapHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, map) = unsafe { (borrow(tensor, "tensor")?, out(map, "map")?) };
        let mut held = tensor.tensor.map_strided()?;
        let bytes = Bytes::of(&tensor.tensor, held.as_mut_ptr());
        give(map, MapHandle { held, bytes });
        Ok(())
    })
}

/// The elements to read, where they are. Several may read the same bytes; nobody writes them until
/// `tenure_read_release`. `TENURE_STATUS_BUSY` if somebody does now. Of a frame, and of other shared
/// memory that may only be read, a program that casts `const` away and writes changes a copy, which
/// nobody else sees and which is gone with the last map.
///
/// # Safety
/// `tensor` is null or a handle; `read` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_map_read(
    tensor: *const TensorHandle,
    read: *mut *mut ReadHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, read) = unsafe { (borrow(tensor, "tensor")?, out(read, "read")?) };
        let tensor = &tensor.tensor;
        let held = tensor.map_strided_read()?;
        let raw = tensor.buffer().raw()?;
        let (span, first) = (tensor.layout().span(), tensor.layout().offset());
        let pages = match !raw.writable() || raw.is_published() {
            true => Some(tensor.buffer().hold(Access::ExportRead, span.clone())?),
            false => None,
        };
        let data = match &pages {
            Some(pages) => pages.address().as_ptr().wrapping_add(first.saturating_sub(span.start)),
            None => held.as_ptr().cast_mut(),
        };
        give(read, ReadHandle { held, _pages: pages, bytes: Bytes::of(tensor, data) });
        Ok(())
    })
}

/// The address of the element with all indices 0; other elements are at its strides
/// (`tenure_tensor_strides`). Valid until the map is released. `bytes` is how many bytes the elements
/// are from there on, and null where that is not asked: of a tensor whose elements do not follow each
/// other (a region, padded rows, a permuted view) it is `TENURE_STATUS_UNSUPPORTED`, because the bytes
/// between them belong to others.
///
/// # Safety
/// `map` is null or a map; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_map_data(
    map: *const MapHandle,
    data: *mut *mut c_void,
    bytes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (map, data) = unsafe { (borrow(map, "map")?, out(data, "data")?) };
        if !bytes.is_null() {
            let count = map.bytes.count(map.held.shape(), map.held.strides())?;
            // SAFETY: `bytes` is not null, and valid for a write, as this function demands.
            unsafe { out(bytes, "bytes") }?.write(count);
        }
        data.write(map.bytes.data.cast());
        Ok(())
    })
}

/// As `tenure_map_data`, to read.
///
/// # Safety
/// `read` is null or a map to read; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_read_data(
    read: *const ReadHandle,
    data: *mut *const c_void,
    bytes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (read, data) = unsafe { (borrow(read, "read")?, out(data, "data")?) };
        if !bytes.is_null() {
            let count = read.bytes.count(read.held.shape(), read.held.strides())?;
            // SAFETY: `bytes` is not null, and valid for a write, as this function demands.
            unsafe { out(bytes, "bytes") }?.write(count);
        }
        data.write(read.bytes.data.cast_const().cast());
        Ok(())
    })
}

/// Whether all bytes were there while they were read: `TENURE_STATUS_DAMAGED` if another process
/// cut the mapped file off and zeros were read instead.
///
/// # Safety
/// `read` is null or a map to read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_read_intact(read: *const ReadHandle) -> Status {
    // SAFETY: by the caller's promise.
    guarded(|| Ok(unsafe { borrow(read, "read") }?.held.intact()?))
}

/// Ends a map; null is fine. Its addresses are not valid any more.
///
/// # Safety
/// `map` is null or a map that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_map_release(map: *mut MapHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(map, "map") });
}

/// Ends a map to read; null is fine. Its addresses are not valid any more.
///
/// # Safety
/// `read` is null or a map to read that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_read_release(read: *mut ReadHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(read, "read") });
}
