//! Memory of a device as a buffer object of OpenGL: the same bytes, no copy.
//!
//! Memory is made for Vulkan and given to the context of the caller, who loads its functions:
//! `GL_EXT_memory_object_fd`. OpenGL cannot export memory, so that it goes this way round; both
//! then read and write it.
#![expect(unsafe_code, reason = "calls OpenGL with functions that the caller loads")]

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::fmt;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Arc;

use tenure_memory::backend::DeviceHold;
use tenure_memory::{Access, DeviceFault, Result};
use tenure_tensor::{ElementKind, Tensor};

use crate::Gpu;

const EXTENSIONS: c_uint = 0x1F03;
const NUM_EXTENSIONS: c_uint = 0x821D;
const NUM_DEVICE_UUIDS: c_uint = 0x9596;
const DEVICE_UUID: c_uint = 0x9597;
const DRIVER_UUID: c_uint = 0x9598;
const DEDICATED: c_uint = 0x9581;
const OPAQUE_FD: c_uint = 0x9586;
/// A binding that drawing does not look at.
const COPY_WRITE_BUFFER: c_uint = 0x8F37;
/// `GL_COPY_WRITE_BUFFER_BINDING` has the same number.
const COPY_WRITE_BUFFER_BINDING: c_uint = COPY_WRITE_BUFFER;

type Names = unsafe extern "system" fn(c_int, *mut c_uint);
type Delete = unsafe extern "system" fn(c_int, *const c_uint);

/// The functions of a context that are used here.
#[derive(Clone, Copy)]
struct Functions {
    get_error: unsafe extern "system" fn() -> c_uint,
    get_integer: unsafe extern "system" fn(c_uint, *mut c_int),
    get_string: unsafe extern "system" fn(c_uint, c_uint) -> *const u8,
    get_bytes: unsafe extern "system" fn(c_uint, *mut u8),
    get_bytes_of: unsafe extern "system" fn(c_uint, c_uint, *mut u8),
    make_buffers: Names,
    delete_buffers: Delete,
    bind_buffer: unsafe extern "system" fn(c_uint, c_uint),
    make_memories: Names,
    delete_memories: Delete,
    parameter: unsafe extern "system" fn(c_uint, c_uint, *const c_int),
    import_fd: unsafe extern "system" fn(c_uint, u64, c_uint, c_int),
    storage: unsafe extern "system" fn(c_uint, isize, c_uint, u64),
}

/// A buffer object of OpenGL whose bytes are those of a tensor. The tensor's memory is held as lent
/// to foreign code until it is dropped, which leaves the object to its context: see
/// [`GlBuffer::delete`].
#[must_use = "the object stays with its context until delete() is called there"]
pub struct GlBuffer {
    functions: Functions,
    name: c_uint,
    memory: c_uint,
    hold: DeviceHold,
}

/// A function by its name.
///
/// # Safety
/// `F` must be a function pointer of the function's type, and `load` give functions of OpenGL.
unsafe fn find<F: Copy>(
    load: &mut dyn FnMut(&CStr) -> *const c_void,
    name: &'static CStr,
) -> Result<F, DeviceFault> {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    let address = load(name);
    match address.is_null() {
        // SAFETY: an address of a function, by the caller's promise; pointers of one size.
        false => Ok(unsafe { std::mem::transmute_copy(&address) }),
        true => Err(DeviceFault::Lacks("memory objects in this OpenGL context")),
    }
}

impl Functions {
    /// # Safety
    /// As [`find`].
    unsafe fn new(load: &mut dyn FnMut(&CStr) -> *const c_void) -> Result<Functions, DeviceFault> {
        // SAFETY: types are those of OpenGL's registry.
        unsafe {
            Ok(Functions {
                get_error: find(load, c"glGetError")?,
                get_integer: find(load, c"glGetIntegerv")?,
                get_string: find(load, c"glGetStringi")?,
                get_bytes: find(load, c"glGetUnsignedBytevEXT")?,
                get_bytes_of: find(load, c"glGetUnsignedBytei_vEXT")?,
                make_buffers: find(load, c"glGenBuffers")?,
                delete_buffers: find(load, c"glDeleteBuffers")?,
                bind_buffer: find(load, c"glBindBuffer")?,
                make_memories: find(load, c"glCreateMemoryObjectsEXT")?,
                delete_memories: find(load, c"glDeleteMemoryObjectsEXT")?,
                parameter: find(load, c"glMemoryObjectParameterivEXT")?,
                import_fd: find(load, c"glImportMemoryFdEXT")?,
                storage: find(load, c"glBufferStorageMemEXT")?,
            })
        }
    }

    /// Whether the context has an extension: functions may be there and do nothing.
    ///
    /// # Safety
    /// A context must be current, here and below.
    unsafe fn has(&self, wanted: &CStr) -> bool {
        let mut count = 0;
        // SAFETY: a place for a number; strings are the driver's and stay.
        unsafe {
            (self.get_integer)(NUM_EXTENSIONS, &mut count);
            (0..count.cast_unsigned()).any(|index| {
                let name = (self.get_string)(EXTENSIONS, index);
                !name.is_null() && CStr::from_ptr(name.cast()) == wanted
            })
        }
    }

    /// What the driver calls itself and its devices, as [`crate::Properties::uuid`] does.
    ///
    /// # Safety
    /// As [`Functions::has`].
    unsafe fn uuids(&self) -> Vec<[u8; 16]> {
        let (mut count, mut driver) = (0, [0; 16]);
        // SAFETY: places for a number and for sixteen bytes.
        unsafe {
            (self.get_integer)(NUM_DEVICE_UUIDS, &mut count);
            (self.get_bytes)(DRIVER_UUID, driver.as_mut_ptr());
        }
        let device = |index| {
            let mut device = [0; 16];
            // SAFETY: as above.
            unsafe { (self.get_bytes_of)(DEVICE_UUID, index, device.as_mut_ptr()) };
            crate::share::uuid(device, driver)
        };
        (0..count.cast_unsigned()).map(device).collect()
    }

    /// The first error since it was asked last.
    ///
    /// # Safety
    /// As [`Functions::has`].
    unsafe fn check(&self) -> Result<(), DeviceFault> {
        let mut first = 0;
        // SAFETY: no arguments. A lost context has errors without end.
        for code in std::iter::repeat_with(|| unsafe { (self.get_error)() }).take(8) {
            match code {
                0 => break,
                code if first == 0 => first = code,
                _ => {}
            }
        }
        match first {
            0 => Ok(()),
            code => {
                let name = format!("OpenGL's {code:#06x}");
                Err(DeviceFault::Answer { code: i64::from(code), name })
            }
        }
    }
}

impl Gpu {
    /// The allocation of a tensor from [`Gpu::shareable`] as a buffer object of the OpenGL context
    /// that is current on this thread, whose functions `load` finds (`eglGetProcAddress`). Its first
    /// byte is the allocation's; OpenGL does not map such an object. Who writes when is for the caller to order: `glFinish` before
    /// copies from it, [`Tensor::copy_from`] or a fence before OpenGL reads.
    ///
    /// # Errors
    /// If the tensor is another device's or was not made to be shared; the context has no
    /// `GL_EXT_memory_object_fd`, or is another driver's or device's; or it refuses the memory.
    ///
    /// # Safety
    /// A context of OpenGL (3.0 or ES 3.0, or later) must be current on this thread, and `load` give
    /// its functions, or null.
    pub unsafe fn gl_buffer<E: ElementKind>(
        &self,
        tensor: &Tensor<E>,
        load: &mut dyn FnMut(&CStr) -> *const c_void,
    ) -> Result<GlBuffer> {
        let what = "sharing memory with OpenGL";
        let fault = |fault| self.properties().fault(what, fault);
        // SAFETY: by the caller's promise.
        let functions = unsafe { Functions::new(load) }.map_err(fault)?;
        // SAFETY: a context is current.
        unsafe {
            if !functions.has(c"GL_EXT_memory_object_fd") {
                let lacks = "GL_EXT_memory_object_fd in this OpenGL context";
                return Err(fault(DeviceFault::Lacks(lacks)));
            }
            if !functions.uuids().contains(&self.properties().uuid) {
                return Err(fault(DeviceFault::OtherDevice));
            }
        }
        let exported = self.export(tensor)?;
        let raw = Arc::clone(tensor.buffer().raw()?);
        let range = 0..raw.size();
        let hold = DeviceHold::over(raw, Access::ExportWrite, range)?;
        let room = exported.room as u64;
        let mut buffer = GlBuffer { functions, name: 0, memory: 0, hold };
        // SAFETY: a context is current; the descriptor is of so much memory of this very driver,
        // in an allocation of its own, and OpenGL's once it has taken it.
        unsafe {
            // What others left is not ours.
            let _ = functions.check();
            (functions.make_memories)(1, &mut buffer.memory);
            (functions.parameter)(buffer.memory, DEDICATED, &1);
            (functions.import_fd)(buffer.memory, room, OPAQUE_FD, exported.fd.as_raw_fd());
            if let Err(refused) = functions.check() {
                buffer.delete();
                return Err(fault(refused));
            }
            let _ = exported.fd.into_raw_fd();
            (functions.make_buffers)(1, &mut buffer.name);
            let mut before = 0;
            (functions.get_integer)(COPY_WRITE_BUFFER_BINDING, &mut before);
            (functions.bind_buffer)(COPY_WRITE_BUFFER, buffer.name);
            let bytes = isize::try_from(exported.bytes).unwrap_or(isize::MAX);
            (functions.storage)(COPY_WRITE_BUFFER, bytes, buffer.memory, 0);
            // As the caller had it.
            (functions.bind_buffer)(COPY_WRITE_BUFFER, before.cast_unsigned());
            if let Err(refused) = functions.check() {
                buffer.delete();
                return Err(fault(refused));
            }
        }
        Ok(buffer)
    }
}

impl GlBuffer {
    /// The object's name, for OpenGL.
    pub fn name(&self) -> u32 {
        self.name
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.hold.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Deletes the object, and lets go of the tensor's memory.
    ///
    /// # Safety
    /// The context that it was made in, or one that shares with it, must be current on this thread.
    pub unsafe fn delete(self) {
        // SAFETY: by the caller's promise; zero names nothing, and is passed over.
        unsafe {
            (self.functions.delete_buffers)(1, &self.name);
            (self.functions.delete_memories)(1, &self.memory);
        }
    }
}

impl fmt::Debug for GlBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlBuffer")
            .field("name", &self.name)
            .field("memory", &self.memory)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
