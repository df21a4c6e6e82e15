//! A DLPack producer written from the specification alone, without any of our code: it can also
//! make what no producer should.
#![expect(unsafe_code, reason = "makes structures as foreign code does")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlpack_ffi::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    DLTensor,
};

use super::Versioned;

/// What a structure is to say. Whatever is not given is as numpy would say it.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) words: Vec<u64>,
    pub(crate) null_data: bool,
    pub(crate) byte_offset: u64,
    pub(crate) ndim: Option<i32>,
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) strides: Option<Vec<i64>>,
    /// Code, bits, lanes.
    pub(crate) dtype: (u8, u8, u16),
    /// Type and id.
    pub(crate) device: (u32, i32),
    pub(crate) flags: u64,
    pub(crate) version: (u32, u32),
    pub(crate) without_deleter: bool,
    /// Somebody else's structure, whose memory this one describes.
    pub(crate) keep: Option<Arc<Versioned>>,
}

impl Description {
    /// Sixteen `f32` from 0 to 15, in four rows.
    pub(crate) fn new() -> Description {
        let pair = |n: u32| {
            let [low, high] = [n * 2, n * 2 + 1].map(|n| u64::from((n as f32).to_bits()));
            if cfg!(target_endian = "little") { low | high << 32 } else { high | low << 32 }
        };
        Description {
            words: (0..8).map(pair).collect(),
            null_data: false,
            byte_offset: 0,
            ndim: None,
            shape: Some(vec![4, 4]),
            strides: Some(vec![4, 1]),
            dtype: (2, 32, 1),
            device: (1, 0),
            flags: 0,
            version: (1, 3),
            without_deleter: false,
            keep: None,
        }
    }
}

/// Says how often a deleter ran.
#[derive(Debug, Clone)]
pub(crate) struct Deleted(Arc<AtomicUsize>);

impl Deleted {
    pub(crate) fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// One of the two structures.
pub(crate) trait Structure: Sized + 'static {
    fn make(tensor: DLTensor, said: &Description) -> Self;
    fn tensor(&mut self) -> &mut DLTensor;
}

impl Structure for DLManagedTensorVersioned {
    fn make(dl_tensor: DLTensor, said: &Description) -> Self {
        let (major, minor) = said.version;
        let deleter =
            (!said.without_deleter).then_some(delete::<Self> as unsafe extern "C" fn(*mut Self));
        let version = DLPackVersion { major, minor };
        Self { version, manager_ctx: ptr::null_mut(), deleter, flags: said.flags, dl_tensor }
    }

    fn tensor(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }
}

impl Structure for DLManagedTensor {
    fn make(dl_tensor: DLTensor, said: &Description) -> Self {
        let deleter =
            (!said.without_deleter).then_some(delete::<Self> as unsafe extern "C" fn(*mut Self));
        Self { dl_tensor, manager_ctx: ptr::null_mut(), deleter }
    }

    fn tensor(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }
}

/// The structure and everything that it points to.
#[repr(C)]
struct Owned<S> {
    structure: S,
    words: Vec<u64>,
    shape: Option<Vec<i64>>,
    strides: Option<Vec<i64>>,
    _keep: Option<Arc<Versioned>>,
    deleted: Arc<AtomicUsize>,
}

unsafe extern "C" fn delete<S>(structure: *mut S) {
    // SAFETY: `produce` made it, and deleters are called once; if not, the count says so, and a
    // sanitizer sees it.
    let owned = unsafe { Box::from_raw(structure.cast::<Owned<S>>()) };
    owned.deleted.fetch_add(1, Ordering::SeqCst);
}

/// Frees a structure whose deleter is missing.
///
/// # Safety
/// `structure` must come from [`produce`] and not be used again.
pub(crate) unsafe fn discard<S>(structure: *mut S) {
    // SAFETY: by the caller's promise.
    drop(unsafe { Box::from_raw(structure.cast::<Owned<S>>()) });
}

fn list(numbers: &mut Option<Vec<i64>>) -> *mut i64 {
    numbers.as_mut().map_or(ptr::null_mut(), |numbers| numbers.as_mut_ptr())
}

/// Makes a structure that says this. Without a deleter it is leaked.
pub(crate) fn produce<S: Structure>(said: &Description) -> (*mut S, Deleted) {
    let ndim = said.ndim.unwrap_or(said.shape.as_ref().map_or(0, |shape| shape.len() as i32));
    let (code, bits, lanes) = said.dtype;
    let tensor = DLTensor {
        data: ptr::null_mut(),
        device: DLDevice { device_type: DLDeviceType(said.device.0), device_id: said.device.1 },
        ndim,
        dtype: DLDataType { code, bits, lanes },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: said.byte_offset,
    };
    let deleted = Deleted(Arc::new(AtomicUsize::new(0)));
    let owned = Box::into_raw(Box::new(Owned {
        structure: S::make(tensor, said),
        words: said.words.clone(),
        shape: said.shape.clone(),
        strides: said.strides.clone(),
        _keep: said.keep.clone(),
        deleted: Arc::clone(&deleted.0),
    }));
    // SAFETY: a box that nobody else knows.
    unsafe {
        let data = match &said.keep {
            Some(lent) => lent.tensor().data,
            None => (*owned).words.as_mut_ptr().cast::<c_void>(),
        };
        let (shape, strides) = (list(&mut (*owned).shape), list(&mut (*owned).strides));
        let tensor = (*owned).structure.tensor();
        tensor.data = if said.null_data { ptr::null_mut() } else { data };
        (tensor.shape, tensor.strides) = (shape, strides);
    }
    (owned.cast(), deleted)
}
