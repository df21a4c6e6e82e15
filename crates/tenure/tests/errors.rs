//! One error model: small errors, one kind for each, one error for programs.

use std::error::Error as _;
use std::io;

use tenure::{DType, ErrorKind, PixelFormat, Tensor, TensorMemory};

fn small<E>() {
    let bytes = size_of::<E>();
    assert!(bytes <= 32, "{} has {bytes} bytes", std::any::type_name::<E>());
}

#[test]
fn errors_are_small() {
    small::<tenure::Error>();
    small::<tenure::layout::Error>();
    small::<tenure::memory::Error>();
    small::<tenure::tensor::Error>();
    // Errors that hold one of these beside a tensor's have the room of the latter.
    assert!(size_of::<tenure::layout::Error>() <= 24 && size_of::<tenure::memory::Error>() <= 24);
    #[cfg(feature = "files")]
    small::<tenure::files::Error>();
    #[cfg(feature = "image")]
    small::<tenure::image::Error>();
    #[cfg(feature = "plan")]
    {
        small::<tenure::plan::PlanError>();
        small::<tenure::realize::RealizeError>();
        small::<tenure::realize::ReplayError>();
    }
    #[cfg(all(feature = "gpu", target_os = "linux"))]
    small::<tenure::gpu::BadIpc>();
    #[cfg(all(feature = "stream", target_os = "linux"))]
    small::<tenure::stream::Error>();
    #[cfg(all(feature = "camera", target_os = "linux"))]
    small::<tenure::camera::Error>();
}

/// Every `?` that a program writes becomes `tenure::Error`.
fn program(step: usize) -> tenure::Result<()> {
    match step {
        0 => drop("nothing".parse::<TensorMemory>()?),
        1 => drop("nothing".parse::<DType>()?),
        2 => drop("nothing".parse::<PixelFormat>()?),
        3 => drop(Tensor::<f32>::new(&[usize::MAX, 3], None, None)?),
        4 => drop(Tensor::<f32>::new(&[2], Some(TensorMemory::Mem), None)?.clone_fd()?),
        5 => drop(std::fs::read("/no/such/file")?),
        #[cfg(feature = "plan")]
        6 => drop("nothing".parse::<tenure::plan::PlannerMode>()?),
        #[cfg(feature = "plan")]
        7 => drop(tenure::plan::Schedule::from_json("{")?),
        #[cfg(feature = "files")]
        8 => drop(tenure::files::open("/no/such/file")?),
        #[cfg(feature = "codecs")]
        9 => drop(tenure::image::codec::open("/no/such/file")?),
        #[cfg(feature = "models")]
        10 => drop(tenure::models::read("/no/such/file".as_ref(), &Default::default())?),
        #[cfg(all(feature = "stream", target_os = "linux"))]
        11 => drop(tenure::stream::Subscriber::open("no-such-stream")?),
        #[cfg(all(feature = "camera", target_os = "linux"))]
        12 => drop(tenure::camera::Camera::open("/no/such/camera")?),
        _ => {}
    }
    Ok(())
}

#[test]
fn a_program_needs_one_error() {
    let kinds = [
        ErrorKind::Invalid,
        ErrorKind::Invalid,
        ErrorKind::Invalid,
        ErrorKind::Invalid,
        ErrorKind::Unsupported,
        ErrorKind::System,
        ErrorKind::Invalid,
        ErrorKind::Invalid,
        ErrorKind::System,
        ErrorKind::System,
        ErrorKind::System,
        ErrorKind::NotFound,
        ErrorKind::System,
    ];
    for (step, kind) in kinds.into_iter().enumerate() {
        // Without an error: the feature is off.
        let Err(error) = program(step) else { continue };
        assert_eq!(error.kind(), kind, "{step}: {error}");
        assert!(!error.to_string().is_empty() && format!("{error:?}").contains(&error.to_string()));
        if let Some(cause) = error.source() {
            assert!(!error.to_string().contains(&cause.to_string()), "{error}: {cause}");
        }
        if kind == ErrorKind::System {
            let found = error.os_error().map(io::Error::kind);
            assert_eq!(found, Some(io::ErrorKind::NotFound), "{step}: {error}");
        }
    }
    assert!(program(0).is_err() && program(4).is_err(), "steps without features do fail");
}

#[test]
fn busy_is_one_question() -> tenure::Result<()> {
    let tensor = Tensor::<u8>::new(&[4], Some(TensorMemory::Mem), None)?;
    let _held = tensor.map()?;
    let error = tensor.map_read().unwrap_err();
    assert!(error.is_busy());
    let error = tenure::Error::from(error);
    assert!(error.is_busy());
    assert!(matches!(
        error.downcast_ref(),
        Some(tenure::tensor::Error::Memory(tenure::memory::Error::Busy { .. }))
    ));
    Ok(())
}

#[test]
fn debug_tells_causes_once() {
    let full = tenure::memory::detail::OutOfMemory {
        memory: TensorMemory::Mem,
        bytes: 64,
        available: None,
        source: Some(io::Error::other("no pages")),
    };
    let error = tenure::Error::from(tenure::memory::Error::from(full));
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(error.to_string(), "mem: no room for 64 bytes");
    assert_eq!(format!("{error:?}"), "mem: no room for 64 bytes\n  caused by: no pages");
}
