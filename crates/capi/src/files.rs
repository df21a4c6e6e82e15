//! Tensors from files: mapped where they are, or loaded into memory.
#![expect(unsafe_code, reason = "C passes pointers and callbacks")]

use std::ffi::{CString, c_char, c_void};
use std::ops::ControlFlow;

use tenure::TensorDyn;
use tenure::files::{self, TensorFile};

use crate::codes::{self, MemoryCode};
use crate::failure::Failure;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, optional, out, take, text, texts};
use crate::pool::PoolHandle;
use crate::status::Status;
use crate::tensor::{TensorHandle, c_text};

/// A file with tensors, or several that belong together. Any thread may use it.
pub struct FileHandle {
    file: TensorFile,
    /// As C wants them, in the order of the file.
    names: Vec<CString>,
    /// What else the file says, as C wants it.
    metadata: Vec<(CString, CString)>,
}

impl Handle for FileHandle {}

/// Tensors that were loaded.
pub struct LoadedHandle {
    tensors: Vec<(CString, TensorDyn)>,
}

impl Handle for LoadedHandle {}

/// Is told how many of all bytes are loaded, on the thread that loads; false ends the loading. It
/// must return, not throw or jump away.
pub type Progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, all: u64) -> bool>;

/// Opens a safetensors, GGUF, npy, npz or raw file, or a folder of safetensors files with an
/// index. Nothing but the head is read.
///
/// # Safety
/// `path` is null or a text that ends with a zero; `file` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_open(
    path: *const c_char,
    file: *mut *mut FileHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (path, room) = unsafe { (text(path, "path")?, out(file, "file")?) };
        let file = files::open(path)?;
        let names = file.entries().iter().map(|entry| c_text(entry.name())).collect();
        let pair = |(key, value): &(String, String)| (c_text(key), c_text(value));
        let metadata = file.metadata().iter().map(pair).collect();
        give(room, FileHandle { file, names, metadata });
        Ok(())
    })
}

/// How many tensors there are.
///
/// # Safety
/// `file` is null or a file; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_count(file: *const FileHandle, count: *mut usize) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, count) = unsafe { (borrow(file, "file")?, out(count, "count")?) };
        count.write(file.names.len());
        Ok(())
    })
}

/// The name of a tensor by its number, in the order of the file. Valid until the file is freed.
///
/// # Safety
/// `file` is null or a file; `name` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_name(
    file: *const FileHandle,
    index: usize,
    name: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, name) = unsafe { (borrow(file, "file")?, out(name, "name")?) };
        let found = file.names.get(index).ok_or_else(|| none("tensor", index, file.names.len()))?;
        name.write(found.as_ptr());
        Ok(())
    })
}

/// How many things the file says besides its tensors, each a key and a value.
///
/// # Safety
/// `file` is null or a file; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_metadata_count(
    file: *const FileHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, count) = unsafe { (borrow(file, "file")?, out(count, "count")?) };
        count.write(file.metadata.len());
        Ok(())
    })
}

/// One of the things that the file says, by its number. Valid until the file is freed.
///
/// # Safety
/// `file` is null or a file; `key` and `value` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_metadata(
    file: *const FileHandle,
    index: usize,
    key: *mut *const c_char,
    value: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, key) = unsafe { (borrow(file, "file")?, out(key, "key")?) };
        // SAFETY: by the caller's promise.
        let value = unsafe { out(value, "value")? };
        let found = file.metadata.get(index);
        let (have, means) = found.ok_or_else(|| none("metadata", index, file.metadata.len()))?;
        key.write(have.as_ptr());
        value.write(means.as_ptr());
        Ok(())
    })
}

fn none(what: &str, index: usize, count: usize) -> Failure {
    let text = format!("there is no {what} {index}: there are {count}, counted from 0");
    Failure::new(Status::NotFound, text)
}

/// A tensor by name: a read-only view of the mapped file, whose pages come from the disk when they
/// are touched (or a copy where no view is possible, as of compressed bytes). It stays when the
/// file is freed.
///
/// # Safety
/// `file` is null or a file; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_tensor(
    file: *const FileHandle,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, name, tensor) =
            unsafe { (borrow(file, "file")?, text(name, "name")?, out(tensor, "tensor")?) };
        give(tensor, file.file.tensor(name)?.into());
        Ok(())
    })
}

/// Gives a file back; null is fine. Tensors of it stay.
///
/// # Safety
/// `file` is null or a file that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_free(file: *mut FileHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(file, "file") });
}

/// Brings tensors into memory: those with the `count` `names`, or all if `names` is null, into
/// memory of `pool`, or if that is null into `memory`. `progress` may be null; `context` is passed
/// on to it. All of it is loaded, or nothing.
///
/// # Safety
/// Pointers are null or valid; `progress` may be called with `context` until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_load(
    file: *const FileHandle,
    names: *const *const c_char,
    count: usize,
    memory: MemoryCode,
    pool: *const PoolHandle,
    progress: Progress,
    context: *mut c_void,
    loaded: *mut *mut LoadedHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (file, room) = unsafe { (borrow(file, "file")?, out(loaded, "loaded")?) };
        // SAFETY: by the caller's promise.
        let pool = unsafe { optional(pool, "pool")? };
        let mut load = file.file.load();
        if !names.is_null() {
            // SAFETY: by the caller's promise.
            load = load.only(unsafe { texts(names, count, "names")? })?;
        }
        load = match (pool, codes::memory(memory)?) {
            (Some(pool), _) => load.allocator(&pool.0),
            (None, Some(memory)) => load.memory(memory),
            (None, None) => load,
        };
        if let Some(progress) = progress {
            load = load.progress(move |now| {
                // SAFETY: by the caller's promise; this is called before the function returns.
                match unsafe { progress(context, now.done, now.all) } {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
        }
        let tensors = load.run()?.into_tensors().into_iter();
        let tensors = tensors.map(|(name, tensor)| (c_text(&name), tensor)).collect();
        give(room, LoadedHandle { tensors });
        Ok(())
    })
}

/// How many tensors were loaded.
///
/// # Safety
/// `loaded` is null or what was loaded; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_loaded_count(
    loaded: *const LoadedHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (loaded, count) = unsafe { (borrow(loaded, "loaded")?, out(count, "count")?) };
        count.write(loaded.tensors.len());
        Ok(())
    })
}

/// A loaded tensor by its number, in the order of the file, and its name (which may be null),
/// valid until what was loaded is freed. The tensor stays.
///
/// # Safety
/// `loaded` is null or what was loaded; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_loaded_tensor(
    loaded: *const LoadedHandle,
    index: usize,
    name: *mut *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (loaded, tensor) = unsafe { (borrow(loaded, "loaded")?, out(tensor, "tensor")?) };
        let found =
            loaded.tensors.get(index).ok_or_else(|| none("tensor", index, loaded.tensors.len()))?;
        if !name.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(name, "name")? }.write(found.0.as_ptr());
        }
        give(tensor, found.1.clone().into());
        Ok(())
    })
}

/// Gives the list of what was loaded back; null is fine. Tensors taken from it stay.
///
/// # Safety
/// `loaded` is null or what was loaded, which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_loaded_free(loaded: *mut LoadedHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(loaded, "loaded") });
}
