//! What errors tell to do: in the calls of the language in which they are told, and of no other.
#![cfg(target_os = "linux")]

use tenure::memory::{DeviceVendor, Why};
use tenure::{DType, Error, Language, LogicalMemorySpace, PixelFormat, Remedy, TensorMemory};
use tenure::{memory, tensor};

const SPACE: LogicalMemorySpace = LogicalMemorySpace::GpuMemory { device_id: 1 };

fn in_memory() -> Vec<Error> {
    let memory = TensorMemory::Device;
    let not_allocated = |remedy| {
        let why = Why::NotAllocated { reason: "it is made elsewhere", remedy: Some(remedy) };
        memory::Error::from(memory::detail::Unavailable { memory, why })
    };
    let not_open = |vendor| {
        memory::Error::from(tenure::memory::detail::NotOpen { memory, space: SPACE, vendor })
    };
    let errors = [
        not_allocated(Remedy::OpenFile),
        not_allocated(Remedy::OpenAnyDevice),
        memory::Error::NotMappable { memory, space: SPACE },
        not_open(DeviceVendor::Cuda),
        not_open(DeviceVendor::Rocm),
        memory::Error::ReadOnly { memory },
        memory::Error::NotDma { memory },
    ];
    // By way of the tensor's error, which passes them on.
    errors.into_iter().map(|error| tensor::Error::from(error).into()).collect()
}

fn of_tensors() -> Vec<Error> {
    use tensor::detail::{Batched, NotABatch, NotAnImage, NotContiguous, NotWhole, Which};
    let (which, shape) = (Which::default, || vec![2, 3].into());
    let strides = || vec![1, 2].into();
    let strided = |rows, whole| {
        NotContiguous { tensor: which(), shape: shape(), strides: strides(), rows, whole }.into()
    };
    let errors = [
        tensor::Error::NoRustType { dtype: DType::U4 },
        strided(true, true),
        strided(true, false),
        strided(false, true),
        strided(false, false),
        NotWhole { tensor: which(), shape: shape(), strides: strides() }.into(),
        NotAnImage { tensor: which(), shape: shape() }.into(),
        Batched { tensor: which(), shape: shape() }.into(),
        NotABatch { tensor: which(), shape: shape(), format: PixelFormat::Rgb }.into(),
        tensor::Error::SeveralBuffers { tensor: which(), format: PixelFormat::Nv12, buffers: 2 },
    ];
    errors.into_iter().map(Error::from).collect()
}

#[cfg(feature = "image")]
fn of_images() -> Vec<Error> {
    use tenure::image::{self, detail};
    let colour = tenure::Colour::from_code(0).unwrap();
    let errors = [
        detail::NotAnImage { role: "source", shape: vec![3] }.into(),
        image::Error::ColourOfRgb {
            colour,
            source_format: PixelFormat::Rgb,
            destination: PixelFormat::Nv12,
            written: colour,
        },
        image::Error::IntegersWithoutScale { dtype: DType::I8 },
    ];
    errors.into_iter().map(Error::from).collect()
}

#[cfg(feature = "files")]
fn of_files() -> Vec<Error> {
    use tenure::files::{self, detail};
    let errors = [
        files::Error::UnknownFormat { begins: "`noise`".to_owned() },
        detail::NotAView { name: "x".to_owned(), why: "its blocks are packed" }.into(),
    ];
    let within = |cause| files::Error::from(detail::In { path: "model.bin".into(), cause });
    errors.into_iter().map(|error| within(error).into()).collect()
}

#[cfg(feature = "stream")]
fn of_streams() -> Vec<Error> {
    use tenure::stream::{self, detail};
    let name = || "camera".to_owned();
    let (declared, found) = ("u8 [4]".to_owned(), "u8 [5]".to_owned());
    let errors: [stream::Error; 7] = [
        detail::Producer { name: name(), path: "/run/camera".into(), uid: 1000 }.into(),
        detail::AllHeld { name: name(), credits: 3 }.into(),
        detail::MemoryLimit { name: name(), bytes: 9, byte_limit: 8, memories: 1, memory_limit: 1 }
            .into(),
        detail::OtherSpec { name: name(), declared, found }.into(),
        detail::NoSlot { name: name(), claimed: 2, limit: 2 }.into(),
        detail::DevicesBusy { name: name(), resting: 2 }.into(),
        stream::Error::NoSpec { name: name() },
    ];
    errors.into_iter().map(Error::from).collect()
}

#[cfg(feature = "camera")]
fn of_cameras() -> Vec<Error> {
    use std::io;

    use tenure::camera::{self, detail};
    let path = || "/dev/video9".into();
    let errors: [camera::Error; 3] = [
        detail::Open { path: path(), cause: io::ErrorKind::NotFound.into() }.into(),
        detail::BufferRefused { path: path(), cause: io::Error::from_raw_os_error(22) }.into(),
        camera::Error::Paused,
    ];
    errors.into_iter().map(Error::from).collect()
}

fn all() -> Vec<Error> {
    let mut all = in_memory();
    all.extend(of_tensors());
    #[cfg(feature = "dlpack")]
    {
        let device = tenure::DlDevice { device_type: 2, device_id: 0 };
        let faults = [
            tenure::dlpack::Fault::ReadOnlyUnversioned,
            tenure::dlpack::Fault::Unreachable { have: device, asked: device },
        ];
        all.extend(faults.into_iter().map(|fault| tensor::Error::from(fault).into()));
    }
    #[cfg(feature = "image")]
    all.extend(of_images());
    #[cfg(feature = "files")]
    all.extend(of_files());
    #[cfg(feature = "stream")]
    all.extend(of_streams());
    #[cfg(feature = "camera")]
    all.extend(of_cameras());
    #[cfg(feature = "models")]
    all.push(tenure::models::Error::DimsNotSet { names: vec!["batch".to_owned()] }.into());
    all
}

#[test]
fn texts_end_with_the_remedy_of_their_language() {
    for error in all() {
        let remedy = error.remedy().unwrap_or_else(|| panic!("no remedy: {error}"));
        let plain = Language::Plain.say(&error);
        let languages = [Language::Rust, Language::C, Language::Python, Language::Command];
        for language in languages {
            let words = remedy.words(language);
            let text = language.say(&error);
            match words.is_empty() {
                true => assert_eq!(text, plain),
                false => assert_eq!(text, format!("{plain}: {words}")),
            }
        }
        assert_eq!(error.to_string(), Language::Rust.say(&error));
    }
}

#[test]
fn texts_have_calls_of_one_language() {
    for error in all() {
        let c = Language::C.say(&error);
        assert!(!c.contains("::") && !c.contains("tenure."), "{c}");
        let python = Language::Python.say(&error);
        assert!(!python.contains("::") && !python.contains("tenure_"), "{python}");
        assert!(!python.contains("TENURE_"), "{python}");
        let rust = Language::Rust.say(&error);
        assert!(!rust.contains("tenure_") && !rust.contains("tenure."), "{rust}");
        let command = Language::Command.say(&error);
        assert!(!command.contains("::") && !command.contains("()"), "{command}");
    }
}
