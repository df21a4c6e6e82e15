//! The buffer protocol: memoryviews over raw memory, held in the ledger until they are released.
#![expect(unsafe_code, reason = "fills in structures of Python, which asks for addresses")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::time::Duration;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{
    self, Py_buffer, PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT,
    PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_IsContiguous,
};
use pyo3::prelude::*;
use tenure::memory::{Access, Hold};
use tenure::{DType, TensorDyn};

use crate::fail::{Answer, Fail};
use crate::pending;

/// What a view shows: the lists that it points to, and what it holds.
pub(crate) struct Shown {
    hold: Hold,
    /// From the first byte held to the first element.
    start: usize,
    /// In the words of Python's `struct`; `None` for elements that it has no word for.
    format: Option<&'static CStr>,
    item: isize,
    shape: Vec<isize>,
    /// In bytes.
    strides: Vec<isize>,
    read_only: bool,
}

/// The word that Python's `struct` has for an element type.
fn struct_word(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::U16 => c"H",
        DType::I16 => c"h",
        DType::U32 => c"I",
        DType::I32 => c"i",
        // The native word of 8 bytes, which is what numpy calls it too.
        DType::U64 if cfg!(target_os = "windows") => c"Q",
        DType::I64 if cfg!(target_os = "windows") => c"q",
        DType::U64 => c"L",
        DType::I64 => c"l",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::Bool => c"?",
        // Words of PEP 3118, which numpy knows and Python's `struct` does not.
        DType::Complex64 => c"Zf",
        DType::Complex128 => c"Zd",
        _ => return None,
    })
}

impl Shown {
    /// The elements as Python's `struct` has them. Copies of them that are under way are waited for,
    /// at most so long.
    pub(crate) fn elements(
        py: Python<'_>,
        tensor: &TensorDyn,
        read_only: bool,
        timeout: Option<Duration>,
    ) -> Answer<Shown> {
        let dtype = tensor.dtype();
        let Some(item) = dtype.size() else {
            let message = format!("{dtype} elements share bytes: use map_read(), or __dlpack__");
            return Err(PyBufferError::new_err(message).into());
        };
        let layout = tensor.layout();
        // All of them fit: elements, packed bytes and strides in bytes of every layout do.
        let item = item as isize;
        let shape = layout.shape().iter().map(|&dim| dim as isize).collect();
        let strides = layout.strides().iter().map(|&stride| stride * item).collect();
        // Before the memory is prepared for the CPU.
        pending::settle(py, tensor, !read_only, timeout)?;
        Shown::new(tensor, read_only, struct_word(dtype), item, shape, strides)
    }

    /// The same, and the bytes of elements that `struct` has no word for: in a dimension of their
    /// own, or in a row where they share bytes.
    pub(crate) fn anything(
        py: Python<'_>,
        tensor: &TensorDyn,
        read_only: bool,
        timeout: Option<Duration>,
    ) -> Answer<Shown> {
        let dtype = tensor.dtype();
        if struct_word(dtype).is_some() {
            return Shown::elements(py, tensor, read_only, timeout);
        }
        let mut shown = if dtype.is_sub_byte() {
            if !tensor.layout().is_contiguous() {
                let message = format!("{dtype} elements with gaps have no bytes of their own");
                return Err(PyBufferError::new_err(message).into());
            }
            let bytes = tensor.size_bytes() as isize;
            pending::settle(py, tensor, !read_only, timeout)?;
            Shown::new(tensor, read_only, None, 1, vec![bytes], vec![1])?
        } else {
            let mut shown = Shown::elements(py, tensor, read_only, timeout)?;
            shown.shape.push(shown.item);
            shown.strides.push(1);
            shown
        };
        (shown.format, shown.item) = (Some(c"B"), 1);
        Ok(shown)
    }

    fn new(
        tensor: &TensorDyn,
        read_only: bool,
        format: Option<&'static CStr>,
        item: isize,
        shape: Vec<isize>,
        strides: Vec<isize>,
    ) -> Answer<Shown> {
        if tensor.is_multi_buffer() {
            let message = "the image has its planes in several buffers: take one with plane()";
            return Err(PyBufferError::new_err(message).into());
        }
        let layout = tensor.layout();
        let overlapping = !layout.is_row_major() && layout.may_self_overlap();
        let unwritten = !tensor.is_writable()? || tensor.buffer().raw()?.is_published();
        let read_only = read_only || overlapping || unwritten;
        let access = if read_only { Access::ExportRead } else { Access::ExportWrite };
        let span = layout.span();
        let start = layout.offset().saturating_sub(span.start);
        let hold = tensor.buffer().hold(access, span)?;
        Ok(Shown { hold, start, format, item, shape, strides, read_only })
    }

    /// Address of the first element.
    pub(crate) fn address(&self) -> *mut u8 {
        self.hold.address().as_ptr().wrapping_add(self.start)
    }

    pub(crate) fn read_only(&self) -> bool {
        self.read_only
    }

    /// Fills in what Python asked for. `exporter` is kept by the view.
    ///
    /// # Safety
    /// `view` must be null or valid for a write, as in a call of `__getbuffer__`.
    pub(crate) unsafe fn give(
        self,
        exporter: Bound<'_, PyAny>,
        view: *mut Py_buffer,
        flags: c_int,
    ) -> Answer<()> {
        let has = |flag: c_int| flags & flag == flag;
        if view.is_null() {
            return Err(refused("the view to fill in is null"));
        }
        // SAFETY: not null, and valid by the caller's promise. Python looks here on failure.
        unsafe { (*view).obj = ptr::null_mut() };
        if self.read_only && has(PyBUF_WRITABLE) {
            return Err(refused("the tensor is read-only: a writable buffer was asked for"));
        }
        if has(PyBUF_FORMAT) && self.format.is_none() {
            return Err(refused("Python has no format for these elements: use __dlpack__"));
        }
        let count = self.shape.len();
        let shown = Box::new(self);
        let list = |list: &[isize]| match count {
            0 => ptr::null_mut(),
            _ => list.as_ptr().cast_mut(),
        };
        let (shape, strides) = (list(&shown.shape), list(&shown.strides));
        // Python and its consumers trust this number; what does not fit would be a smaller one.
        let bytes = shown.shape.iter().try_fold(shown.item, |bytes, dim| bytes.checked_mul(*dim));
        let len =
            bytes.ok_or_else(|| refused("the elements have more bytes than can be counted"))?;
        let mut filled = Py_buffer {
            buf: shown.address().cast(),
            obj: ptr::null_mut(),
            len,
            itemsize: shown.item,
            readonly: shown.read_only.into(),
            // At most `MAX_RANK`, and one.
            ndim: count as c_int,
            format: shown.format.map_or(ptr::null_mut(), |word| word.as_ptr().cast_mut()),
            shape,
            strides,
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        };
        // SAFETY: every list has `ndim` numbers, and is only read.
        let (in_c, in_f) = unsafe {
            let is = |order: u8| PyBuffer_IsContiguous(&filled, order as _) == 1;
            (is(b'C'), is(b'F'))
        };
        let in_order = (in_c || has(PyBUF_STRIDES) && !has(PyBUF_C_CONTIGUOUS))
            && (in_f || !has(PyBUF_F_CONTIGUOUS))
            && (in_c || in_f || !has(PyBUF_ANY_CONTIGUOUS));
        if !in_order {
            return Err(refused("the elements are not in the order asked for: copy the tensor"));
        }
        if !has(PyBUF_FORMAT) {
            filled.format = ptr::null_mut();
        }
        if !has(PyBUF_STRIDES) {
            filled.strides = ptr::null_mut();
        }
        if !has(PyBUF_ND) {
            if has(PyBUF_FORMAT) {
                return Err(refused("a format without a shape says nothing: ask for both"));
            }
            (filled.ndim, filled.shape) = (1, ptr::null_mut());
        }
        filled.internal = Box::into_raw(shown).cast::<c_void>();
        filled.obj = exporter.into_ptr();
        // SAFETY: valid by the caller's promise.
        unsafe { view.write(filled) };
        Ok(())
    }
}

fn refused(why: &'static str) -> Fail {
    PyBufferError::new_err(why).into()
}

/// Ends a view.
///
/// # Safety
/// `view` must be what [`Shown::give`] filled in, and end here.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: by the caller's promise, `internal` is the box, which nobody frees twice.
    unsafe {
        let shown = (*view).internal.cast::<Shown>();
        (*view).internal = ptr::null_mut();
        if !shown.is_null() {
            drop(Box::from_raw(shown));
        }
    }
}
