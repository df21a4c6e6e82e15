//! One error for programs: every crate's error becomes it with `?`.

use std::error::Error as StdError;
use std::{fmt, io};

use crate::{ErrorKind, Remedy};

/// Result of a program that uses this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of Tenure, in two words.
///
/// Its text, its [kind](Error::kind) and its causes are those of the error it was made from, which
/// [`downcast_ref`](Error::downcast_ref) gives back. `Debug` prints the text and the causes, so
/// that a `main` that returns it tells what happened.
///
/// ```
/// use tenure::{ErrorKind, Tensor, TensorMemory};
///
/// fn main() -> tenure::Result<()> {
///     let memory: TensorMemory = "mem".parse()?;
///     let tensor = Tensor::<f32>::new(&[2, 3], Some(memory), None)?;
///     let _guard = tensor.map()?;
///     let error = tenure::Error::from(tensor.map_read().unwrap_err());
///     assert!(error.is_busy());
///     assert_eq!(error.kind(), ErrorKind::Busy);
///     assert!(error.downcast_ref::<tenure::tensor::Error>().is_some());
///     Ok(())
/// }
/// ```
pub struct Error(Box<dyn Told>);

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.told_kind()
    }

    /// What would help, where a call would. The text has it already, in calls of Rust.
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.told_remedy()
    }

    /// The operating system's answer, if it is one. The text has it already.
    pub fn os_error(&self) -> Option<&io::Error> {
        self.0.told_os_error()
    }

    /// Whether dropping a guard, a slot or a frame, or waiting, would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }

    /// The error that it was made from, if that is an `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.as_error().downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0.as_error(), f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = self.to_string();
        f.write_str(&before)?;
        let mut next = self.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            // Some errors quote their causes.
            if !before.contains(&text) {
                write!(f, "\n  caused by: {text}")?;
                before = text;
            }
            next = cause.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.as_error().source()
    }
}

/// What every error of every crate tells about itself.
trait Told: Send + Sync {
    fn told_kind(&self) -> ErrorKind;
    fn told_remedy(&self) -> Option<Remedy>;
    fn told_os_error(&self) -> Option<&io::Error>;
    fn as_error(&self) -> &(dyn StdError + 'static);
}

/// An error type as [`Told`], and its conversion; behind the type what it has besides `kind()`.
macro_rules! told {
    ($error:ty) => {
        told!(@ $error, |_| None, |_| None);
    };
    ($error:ty, remedy) => {
        told!(@ $error, <$error>::remedy, |_| None);
    };
    ($error:ty, remedy, os_error) => {
        told!(@ $error, <$error>::remedy, <$error>::os_error);
    };
    (@ $error:ty, $remedy:expr, $os_error:expr) => {
        impl Told for $error {
            fn told_kind(&self) -> ErrorKind {
                self.kind()
            }
            fn told_remedy(&self) -> Option<Remedy> {
                let remedy: fn(&$error) -> Option<Remedy> = $remedy;
                remedy(self)
            }
            fn told_os_error(&self) -> Option<&io::Error> {
                let os_error: fn(&$error) -> Option<&io::Error> = $os_error;
                os_error(self)
            }
            fn as_error(&self) -> &(dyn StdError + 'static) {
                self
            }
        }

        impl From<$error> for Error {
            #[cold]
            fn from(error: $error) -> Error {
                Error(Box::new(error))
            }
        }
    };
}

told!(crate::layout::Error);
told!(crate::memory::Error, remedy, os_error);
told!(crate::memory::tlsf::Error);
told!(crate::tensor::Error, remedy, os_error);
#[cfg(feature = "plan")]
mod plan {
    use super::*;
    told!(crate::realize::RealizeError, remedy, os_error);
    told!(crate::realize::ReplayError, remedy, os_error);
    told!(crate::plan::CheckError);
    told!(crate::plan::CsvError);
    told!(crate::plan::JsonError);
    told!(crate::plan::PlanError);
    told!(crate::plan::PoolsError);
    told!(crate::plan::ProblemError);
    told!(crate::plan::ScheduleError);
    told!(crate::plan::SizeError);
    told!(crate::plan::UnknownMode);
    told!(crate::plan::UnknownPacker);
    told!(crate::plan::VerifyError);
}
#[cfg(feature = "models")]
told!(crate::models::Error, remedy, os_error);
#[cfg(feature = "files")]
told!(crate::files::Error, remedy, os_error);
#[cfg(feature = "image")]
told!(crate::image::Error, remedy, os_error);
#[cfg(all(feature = "gpu", any(target_os = "linux", target_os = "android")))]
told!(crate::gpu::Missing);
#[cfg(all(feature = "gpu", any(target_os = "linux", target_os = "android")))]
told!(crate::gpu::BadIpc);
#[cfg(all(feature = "camera", any(target_os = "linux", target_os = "android")))]
told!(crate::camera::Error, remedy, os_error);
#[cfg(all(feature = "stream", any(target_os = "linux", target_os = "android")))]
mod stream {
    use super::*;
    told!(crate::stream::Error, remedy, os_error);
    told!(crate::stream::Unfilled);
    told!(crate::stream::gstreamer::Error, remedy);
    told!(crate::stream::recording::Error);
}
#[cfg(all(feature = "bridge", any(target_os = "linux", target_os = "android")))]
told!(crate::bridge::Error, remedy);

impl Told for io::Error {
    fn told_kind(&self) -> ErrorKind {
        ErrorKind::System
    }
    fn told_remedy(&self) -> Option<Remedy> {
        None
    }
    fn told_os_error(&self) -> Option<&io::Error> {
        Some(self)
    }
    fn as_error(&self) -> &(dyn StdError + 'static) {
        self
    }
}

/// For programs that read files of their own besides.
impl From<io::Error> for Error {
    #[cold]
    fn from(error: io::Error) -> Error {
        Error(Box::new(error))
    }
}
