//! Memory of Vulkan as a buffer object of OpenGL. Needs EGL with memory objects: Mesa has both.
#![cfg(all(linux_like, feature = "vulkan"))]
#![expect(unsafe_code, reason = "calls EGL and OpenGL as a program does that draws")]

use std::ffi::{CStr, c_void};

use common::{numbers, values};
use khronos_egl as egl;
use tenure_gpu::{Gpu, vulkan};
use tenure_memory::TensorMemory::Device;
use tenure_tensor::Tensor;

#[path = "common/devices.rs"]
mod common;

type Egl = egl::DynamicInstance<egl::EGL1_5>;

/// A context that is current on this thread.
struct Context {
    egl: Egl,
    display: egl::Display,
    context: egl::Context,
}

const SURFACELESS: egl::Enum = 0x31DD;
const ARRAY_BUFFER: u32 = 0x8892;
const COPY_READ_BUFFER: u32 = 0x8F36;
const COPY_WRITE_BUFFER: u32 = 0x8F37;
const STREAM_READ: u32 = 0x88E1;
const MAP_READ: u32 = 1;

impl Context {
    fn new() -> Context {
        // SAFETY: loads the system's EGL, and asks for a display without a screen.
        let egl = unsafe { Egl::load_required() }.unwrap();
        // SAFETY: as above.
        let display = unsafe {
            egl.get_platform_display(SURFACELESS, egl::DEFAULT_DISPLAY, &[egl::ATTRIB_NONE])
        };
        let display = display.unwrap();
        egl.initialize(display).unwrap();
        egl.bind_api(egl::OPENGL_ES_API).unwrap();
        let wanted = [egl::SURFACE_TYPE, egl::PBUFFER_BIT, egl::NONE];
        let config = egl.choose_first_config(display, &wanted).unwrap().unwrap();
        let version = [egl::CONTEXT_MAJOR_VERSION, 3, egl::NONE];
        let context = egl.create_context(display, config, None, &version).unwrap();
        egl.make_current(display, None, None, Some(context)).unwrap();
        Context { egl, display, context }
    }

    fn load(&self, name: &CStr) -> *const c_void {
        let found = self.egl.get_proc_address(name.to_str().unwrap());
        found.map_or(std::ptr::null(), |function| function as *const c_void)
    }

    /// # Safety
    /// `F` must be the function's type.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        let address = self.load(name);
        assert!(!address.is_null(), "{name:?}");
        // SAFETY: by the caller's promise.
        unsafe { std::mem::transmute_copy(&address) }
    }

    fn share(
        &self,
        gpu: &Gpu,
        tensor: &Tensor<u16>,
    ) -> tenure_memory::Result<tenure_gpu::GlBuffer> {
        // SAFETY: the context is current, and these are its functions.
        unsafe { gpu.gl_buffer(tensor, &mut |name| self.load(name)) }
    }

    /// A new name of a buffer.
    fn make(&self) -> u32 {
        let mut name = 0;
        // SAFETY: the type is that of OpenGL's registry; a place for a name.
        unsafe {
            let make: unsafe extern "system" fn(i32, *mut u32) = self.function(c"glGenBuffers");
            make(1, &mut name);
        }
        name
    }

    /// What is bound to a target whose question has the same number.
    fn bound(&self, target: u32) -> u32 {
        let mut name = 0;
        // SAFETY: as above.
        unsafe {
            let ask: unsafe extern "system" fn(u32, *mut i32) = self.function(c"glGetIntegerv");
            ask(target, &mut name);
        }
        name.cast_unsigned()
    }

    fn bind(&self, target: u32, buffer: u32) {
        // SAFETY: the type is that of OpenGL's registry.
        unsafe {
            let bind: unsafe extern "system" fn(u32, u32) = self.function(c"glBindBuffer");
            bind(target, buffer);
        }
    }

    /// What OpenGL reads in a buffer: copied by it into one that can be mapped.
    fn read(&self, buffer: u32, bytes: usize) -> Vec<u16> {
        type Make = unsafe extern "system" fn(i32, *mut u32);
        type Data = unsafe extern "system" fn(u32, isize, *const c_void, u32);
        type Copy = unsafe extern "system" fn(u32, u32, isize, isize, isize);
        type Map = unsafe extern "system" fn(u32, isize, isize, u32) -> *const u16;
        let len = bytes as isize;
        self.bind(ARRAY_BUFFER, buffer);
        // SAFETY: as above; both buffers have so many bytes, and one is mapped while it is read.
        unsafe {
            let mut own = 0;
            self.function::<Make>(c"glGenBuffers")(1, &mut own);
            self.bind(COPY_READ_BUFFER, own);
            self.function::<Data>(c"glBufferData")(
                COPY_READ_BUFFER,
                len,
                std::ptr::null(),
                STREAM_READ,
            );
            let copy: Copy = self.function(c"glCopyBufferSubData");
            copy(ARRAY_BUFFER, COPY_READ_BUFFER, 0, 0, len);
            let address =
                self.function::<Map>(c"glMapBufferRange")(COPY_READ_BUFFER, 0, len, MAP_READ);
            assert!(!address.is_null());
            let values = std::slice::from_raw_parts(address, bytes / 2).to_vec();
            let unmap: unsafe extern "system" fn(u32) -> u8 = self.function(c"glUnmapBuffer");
            assert_eq!(unmap(COPY_READ_BUFFER), 1);
            let delete: unsafe extern "system" fn(i32, *const u32) =
                self.function(c"glDeleteBuffers");
            delete(1, &own);
            values
        }
    }

    fn write(&self, buffer: u32, at: usize, values: &[u16]) {
        type Write = unsafe extern "system" fn(u32, isize, isize, *const u16);
        self.bind(ARRAY_BUFFER, buffer);
        // SAFETY: as above.
        unsafe {
            let write: Write = self.function(c"glBufferSubData");
            write(ARRAY_BUFFER, at as isize, size_of_val(values) as isize, values.as_ptr());
            let finish: unsafe extern "system" fn() = self.function(c"glFinish");
            finish();
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ = self.egl.make_current(self.display, None, None, None);
        let _ = self.egl.destroy_context(self.display, self.context);
    }
}

#[test]
#[ignore = "needs Vulkan, and OpenGL of the same driver"]
fn both_read_and_write_the_same_bytes() {
    let (gpu, context) = (vulkan::open(0).unwrap(), Context::new());
    let tensor =
        Tensor::<u16>::builder(&[5000]).allocator(&*gpu.shareable().unwrap()).build().unwrap();
    tensor.copy_from(&numbers(&[5000])).unwrap();
    // What the program had bound is bound afterwards.
    let before = context.make();
    context.bind(COPY_WRITE_BUFFER, before);
    let buffer = context.share(&gpu, &tensor).unwrap();
    assert_eq!(context.bound(COPY_WRITE_BUFFER), before);
    assert_eq!((buffer.len(), buffer.is_empty()), (10_000, false));
    assert_eq!(context.read(buffer.name(), 10_000), values(&numbers(&[5000])));
    context.write(buffer.name(), 20, &[7, 8, 9]);
    let expected = {
        let mut all = values(&numbers(&[5000]));
        all[10..13].copy_from_slice(&[7, 8, 9]);
        all
    };
    assert_eq!(values(&tensor), expected);
    tensor.fill(3).unwrap();
    assert_eq!(context.read(buffer.name(), 10_000), [3; 5000]);
    // OpenGL has the memory for as long as the object exists, whoever else lets go of it.
    let weak = tensor.buffer_identity().weak();
    drop(tensor);
    assert!(weak.upgrade().is_some());
    assert_eq!(context.read(buffer.name(), 10_000), [3; 5000]);
    // SAFETY: its context is current.
    unsafe { buffer.delete() };
    assert!(weak.upgrade().is_none());
}

#[test]
#[ignore = "needs Vulkan, and OpenGL of the same driver"]
fn buffers_of_every_size() {
    let (gpu, context) = (vulkan::open(0).unwrap(), Context::new());
    for len in [1, 2, 512, 2048, 2047, 1 << 20] {
        let tensor =
            Tensor::<u16>::builder(&[len]).allocator(&*gpu.shareable().unwrap()).build().unwrap();
        let buffer = context.share(&gpu, &tensor).unwrap();
        context.write(buffer.name(), 2 * (len - 1), &[77]);
        assert_eq!(values(&tensor)[len - 1], 77);
        // SAFETY: its context is current.
        unsafe { buffer.delete() };
    }
}

#[test]
#[ignore = "needs Vulkan, and OpenGL of the same driver"]
fn what_cannot_be_shared_is_refused() {
    let (gpu, context) = (vulkan::open(0).unwrap(), Context::new());
    let words = |tensor: &Tensor<u16>| context.share(&gpu, tensor).unwrap_err().to_string();
    let plain = gpu.to(&numbers(&[10]), Device).unwrap();
    assert!(words(&plain).contains("allocate it to be shared"), "{}", words(&plain));
    assert!(words(&numbers(&[10])).contains("not this device's"));
    // A context without memory objects: its functions are not found.
    let shared =
        Tensor::<u16>::builder(&[10]).allocator(&*gpu.shareable().unwrap()).build().unwrap();
    let mut less = |name: &CStr| match name.to_bytes().ends_with(b"FdEXT") {
        true => std::ptr::null(),
        false => context.load(name),
    };
    // SAFETY: the context is current.
    let error = unsafe { gpu.gl_buffer(&shared, &mut less) }.unwrap_err().to_string();
    assert!(error.contains("memory objects"), "{error}");
    // Nothing stays held.
    assert_eq!(shared.buffer().raw().unwrap().held(), 0);
}
