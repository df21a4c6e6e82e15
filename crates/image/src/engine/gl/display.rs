//! EGL without a screen: library, display, context, images of memory, fences.
#![expect(unsafe_code, reason = "calls EGL, which is loaded at run time")]

use std::ffi::{CStr, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use khronos_egl as egl;

use super::gbm;

type Egl = egl::DynamicInstance<egl::EGL1_5>;

// The library stays loaded, as drivers have threads and exit handlers in it.
static LIBRARY: OnceLock<Result<Egl, String>> = OnceLock::new();

const PLATFORM_SURFACELESS: egl::Enum = 0x31DD;
const PLATFORM_DEVICE: egl::Enum = 0x313F;
const PLATFORM_GBM: egl::Enum = 0x31D7;
const LINUX_DMA_BUF: egl::Enum = 0x3270;
const FOURCC: egl::Attrib = 0x3271;
const PLANE0_FD: egl::Attrib = 0x3272;
const PLANE0_OFFSET: egl::Attrib = 0x3273;
const PLANE0_PITCH: egl::Attrib = 0x3274;
/// Red, green, blue, alpha in the order of bytes: `AB24`.
const ABGR8888: egl::Attrib = 0x3432_4241;
const RESET_STRATEGY: egl::Int = 0x31BD;
const LOSE_CONTEXT: egl::Int = 0x31BF;
const NATIVE_FENCE: egl::Enum = 0x3144;

type DupFence = unsafe extern "system" fn(*mut c_void, *mut c_void) -> i32;

/// A context that is current on the thread that made it, until dropped.
pub(super) struct Display {
    egl: &'static Egl,
    display: egl::Display,
    context: egl::Context,
    surface: Option<egl::Surface>,
    /// Which platform it is on.
    pub(super) platform: &'static str,
    /// Whether memory can be imported by descriptor.
    pub(super) imports: bool,
    dup_fence: Option<DupFence>,
}

/// A picture in memory that was imported.
pub(super) struct Image(egl::Image);

impl Image {
    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.0.as_ptr()
    }
}

fn library() -> Result<&'static Egl, String> {
    let load = || {
        // SAFETY: loads the system's EGL, whose initialisers may be run at any time.
        unsafe { Egl::load_required() }.map_err(|error| format!("libEGL.so.1: {error}"))
    };
    LIBRARY.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|own| own == word)
}

impl Display {
    /// Opens the first display that gives a context, and makes it current; only on the platform
    /// named, if one is.
    ///
    /// # Errors
    /// Every display tried and why it did not serve.
    pub(super) fn open(only: Option<&str>) -> Result<Display, String> {
        let egl = library()?;
        let words = egl.query_string(None, egl::EXTENSIONS).map(CStr::to_string_lossy);
        let client = words.unwrap_or_default();
        let mut reasons = vec![];
        for (platform, find) in PLATFORMS {
            if only.is_some_and(|only| only != *platform) {
                continue;
            }
            for display in find(egl, &client) {
                match display.and_then(|display| Display::on(egl, display, platform)) {
                    Ok(display) => return Ok(display),
                    Err(reason) => reasons.push(format!("{platform}: {reason}")),
                }
            }
        }
        Err(reasons.join(", "))
    }

    fn on(
        egl: &'static Egl,
        display: egl::Display,
        platform: &'static str,
    ) -> Result<Display, String> {
        let said = |what: &'static str| move |error: egl::Error| format!("{what}: {error}");
        egl.initialize(display).map_err(said("eglInitialize"))?;
        let words = egl.query_string(Some(display), egl::EXTENSIONS).map(CStr::to_string_lossy);
        let words = words.map_err(said("eglQueryString"))?;
        egl.bind_api(egl::OPENGL_ES_API).map_err(said("eglBindAPI"))?;
        let wanted = [
            egl::RENDERABLE_TYPE,
            egl::OPENGL_ES3_BIT,
            egl::SURFACE_TYPE,
            egl::PBUFFER_BIT,
            egl::NONE,
        ];
        let config = match egl.choose_first_config(display, &wanted) {
            Ok(Some(config)) => config,
            // SAFETY: EGL_NO_CONFIG_KHR, which this display takes.
            _ if has(&words, "EGL_KHR_no_config_context") => unsafe {
                egl::Config::from_ptr(std::ptr::null_mut())
            },
            Ok(None) => return Err("no configuration has OpenGL ES 3".to_owned()),
            Err(error) => return Err(said("eglChooseConfig")(error)),
        };
        let context = context(egl, display, config).map_err(said("eglCreateContext"))?;
        let surface = match has(&words, "EGL_KHR_surfaceless_context") {
            true => None,
            false => {
                let size = [egl::WIDTH, 1, egl::HEIGHT, 1, egl::NONE];
                egl.create_pbuffer_surface(display, config, &size).ok()
            }
        };
        let imports = has(&words, "EGL_EXT_image_dma_buf_import");
        let dup_fence = egl
            .get_proc_address("eglDupNativeFenceFDANDROID")
            .filter(|_| has(&words, "EGL_ANDROID_native_fence_sync"))
            // SAFETY: the extension gives the function this type.
            .map(|function| unsafe {
                std::mem::transmute::<extern "system" fn(), DupFence>(function)
            });
        let own = Display { egl, display, context, surface, platform, imports, dup_fence };
        egl.make_current(display, surface, surface, Some(context))
            .map_err(said("eglMakeCurrent"))?;
        Ok(own)
    }

    /// The address of an OpenGL function.
    pub(super) fn function(&self, name: &str) -> *const c_void {
        self.egl.get_proc_address(name).map_or(std::ptr::null(), |function| function as *const _)
    }

    /// Imports `height` rows of `words` words of four bytes each. The caller has checked that they
    /// lie inside the memory behind `fd`.
    ///
    /// # Errors
    /// What the driver said.
    pub(super) fn import(
        &self,
        fd: BorrowedFd<'_>,
        (offset, pitch): (usize, usize),
        (words, height): (usize, usize),
    ) -> Result<Image, String> {
        let attributes = [
            egl::WIDTH as egl::Attrib,
            words,
            egl::HEIGHT as egl::Attrib,
            height,
            FOURCC,
            ABGR8888,
            PLANE0_FD,
            fd.as_raw_fd() as egl::Attrib,
            PLANE0_OFFSET,
            offset,
            PLANE0_PITCH,
            pitch,
            egl::ATTRIB_NONE,
        ];
        // SAFETY: no context and no client buffer, as this target wants it.
        let nothing = unsafe {
            (
                egl::Context::from_ptr(egl::NO_CONTEXT),
                egl::ClientBuffer::from_ptr(std::ptr::null_mut()),
            )
        };
        let (context, buffer) = nothing;
        let image =
            self.egl.create_image(self.display, context, LINUX_DMA_BUF, buffer, &attributes);
        image.map(Image).map_err(|error| format!("eglCreateImage: {error}"))
    }

    pub(super) fn forget(&self, image: Image) {
        // Nobody is left to tell.
        let _ = self.egl.destroy_image(self.display, image.0);
    }

    /// A sync file for everything given to the GPU so far; `flush` gives the driver the commands.
    pub(super) fn fence(&self, flush: impl FnOnce()) -> Option<OwnedFd> {
        let dup = self.dup_fence?;
        // SAFETY: a native fence takes no attributes; the sync belongs to this display.
        unsafe {
            let none = [egl::ATTRIB_NONE];
            let sync = self.egl.create_sync(self.display, NATIVE_FENCE, &none).ok()?;
            flush();
            let fd = dup(self.display.as_ptr(), sync.as_ptr());
            let _ = self.egl.destroy_sync(self.display, sync);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // The display itself stays: others in this process may use it, and ending it would end
        // theirs.
        let _ = self.egl.make_current(self.display, None, None, None);
        if let Some(surface) = self.surface {
            let _ = self.egl.destroy_surface(self.display, surface);
        }
        let _ = self.egl.destroy_context(self.display, self.context);
        let _ = self.egl.release_thread();
    }
}

type Found = Result<egl::Display, String>;
/// Finds the displays of a platform; with the extensions that EGL has without one.
type Find = fn(&'static Egl, &str) -> Vec<Found>;

/// Where displays are looked for, in this order: without a screen, on devices that EGL or GBM
/// know, and whatever is the default.
const PLATFORMS: &[(&str, Find)] =
    &[("surfaceless", surfaceless), ("device", on_devices), ("gbm", on_cards), ("default", usual)];

fn display_of(egl: &'static Egl, platform: egl::Enum, native: *mut c_void) -> Found {
    // SAFETY: the callers give the native display that the platform wants: none, or a device that
    // EGL or GBM named and that stays.
    let display = unsafe { egl.get_platform_display(platform, native, &[egl::ATTRIB_NONE]) };
    display.map_err(|error| format!("eglGetPlatformDisplay: {error}"))
}

fn lacks(extension: &str) -> Vec<Found> {
    vec![Err(format!("EGL has no {extension}"))]
}

fn surfaceless(egl: &'static Egl, client: &str) -> Vec<Found> {
    match has(client, "EGL_MESA_platform_surfaceless") {
        true => vec![display_of(egl, PLATFORM_SURFACELESS, std::ptr::null_mut())],
        false => lacks("EGL_MESA_platform_surfaceless"),
    }
}

fn on_devices(egl: &'static Egl, client: &str) -> Vec<Found> {
    if !has(client, "EGL_EXT_platform_device") {
        return lacks("EGL_EXT_platform_device");
    }
    match devices(egl) {
        devices if devices.is_empty() => vec![Err("EGL names no device".to_owned())],
        devices => devices.into_iter().map(|at| display_of(egl, PLATFORM_DEVICE, at)).collect(),
    }
}

fn on_cards(egl: &'static Egl, client: &str) -> Vec<Found> {
    if !has(client, "EGL_KHR_platform_gbm") && !has(client, "EGL_MESA_platform_gbm") {
        return lacks("EGL_KHR_platform_gbm");
    }
    match gbm::cards() {
        Ok(cards) => {
            cards.iter().map(|card| display_of(egl, PLATFORM_GBM, card.as_ptr())).collect()
        }
        Err(reason) => vec![Err(reason)],
    }
}

fn usual(egl: &'static Egl, _: &str) -> Vec<Found> {
    // SAFETY: the default display needs no native one.
    let default = unsafe { egl.get_display(egl::DEFAULT_DISPLAY) };
    vec![default.ok_or_else(|| "there is none".to_owned())]
}

fn devices(egl: &'static Egl) -> Vec<*mut c_void> {
    type Query = unsafe extern "system" fn(i32, *mut *mut c_void, *mut i32) -> u32;
    let Some(query) = egl.get_proc_address("eglQueryDevicesEXT") else { return vec![] };
    let (mut devices, mut count) = ([std::ptr::null_mut(); 8], 0);
    // SAFETY: the function has this type and writes at most as many devices as it is told.
    let done = unsafe {
        let query = std::mem::transmute::<extern "system" fn(), Query>(query);
        query(devices.len() as i32, devices.as_mut_ptr(), &raw mut count)
    };
    let count = if done == egl::TRUE { usize::try_from(count).unwrap_or(0) } else { 0 };
    devices.into_iter().take(count).collect()
}

/// The newest version there is; one that says when it is lost, if there is such.
fn context(
    egl: &'static Egl,
    display: egl::Display,
    config: egl::Config,
) -> Result<egl::Context, egl::Error> {
    let mut last = egl::Error::BadMatch;
    for minor in [2, 1, 0] {
        let version = [egl::CONTEXT_MAJOR_VERSION, 3, egl::CONTEXT_MINOR_VERSION, minor];
        let [a, b, c, d] = version;
        let lists = [
            &[a, b, c, d, RESET_STRATEGY, LOSE_CONTEXT, egl::NONE][..],
            &[a, b, c, d, egl::NONE][..],
        ];
        for list in lists {
            match egl.create_context(display, config, None, list) {
                Ok(context) => return Ok(context),
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}
