//! Why a call did not do what it was asked, and which status that is.

use std::fmt::Display;

use tenure::memory::DeviceFault;
use tenure::realize::RealizeError;
#[cfg(linux_like)]
use tenure::stream;
use tenure::{files, image, layout, memory, plan};

use crate::status::Status;

/// The result of what a call does.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A status and its text.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Failure {
        Failure::new(Status::Invalid, text)
    }

    pub(crate) fn null(what: &str) -> Failure {
        Failure::new(Status::Null, format!("{what} is a null pointer"))
    }

    fn of(status: Status, error: &impl Display) -> Failure {
        Failure::new(status, in_c(error.to_string()))
    }
}

fn of_memory(error: &memory::Error) -> Status {
    use memory::Error;
    match error {
        Error::Busy { .. } => Status::Busy,
        Error::Unavailable { .. } => Status::Unavailable,
        Error::NoneServed { .. } | Error::OutOfMemory { .. } | Error::PoolFull { .. } => {
            Status::OutOfMemory
        }
        Error::ReadOnly { .. } => Status::ReadOnly,
        Error::NotMappable { .. }
        | Error::NoDescriptor { .. }
        | Error::NotDma { .. }
        | Error::NotSealable { .. }
        | Error::Modifier { .. } => Status::Unsupported,
        Error::Open { .. } | Error::System { .. } => Status::System,
        Error::Truncated | Error::Message { .. } => Status::Damaged,
        Error::Closed { .. } => Status::Closed,
        Error::NoSpace { .. } | Error::NotOpen { .. } => Status::Unavailable,
        Error::Device { fault, .. } => match fault {
            DeviceFault::NoQueue { .. } => Status::NotFound,
            DeviceFault::OtherDevice | DeviceFault::Lacks(_) => Status::Unsupported,
            _ => Status::Unavailable,
        },
        _ => Status::Invalid,
    }
}

/// What the library says of its own calls, in the calls of C.
const CALLS: [(&str, &str); 4] = [
    ("open one with tenure::gpu", "open one with tenure_device_open()"),
    ("tenure::gpu::open", "tenure_device_open"),
    ("to(Some(TensorMemory::Mem))", "tenure_tensor_to() and TENURE_MEMORY_MEM"),
    ("with copy_from()", "with tenure_tensor_copy_from()"),
];

fn in_c(text: String) -> String {
    CALLS.iter().fold(text, |text, (rust, c)| text.replace(rust, c))
}

fn of_tensor(error: &tenure::Error) -> Status {
    use tenure::Error;
    match error {
        Error::Memory(error) => of_memory(error),
        Error::SeveralBuffers { .. } | Error::Overlapping { .. } => Status::Unsupported,
        #[cfg(linux_like)]
        Error::Description(_) => Status::Damaged,
        _ => Status::Invalid,
    }
}

fn of_image(error: &image::Error) -> Status {
    use image::Error;
    match error {
        Error::Tensor(error) => of_tensor(error),
        Error::Memory(error) => of_memory(error),
        Error::NoEngine { .. } | Error::Engine { .. } => Status::Unavailable,
        Error::Threads { .. } | Error::Read { .. } | Error::Write { .. } | Error::Encoded(_) => {
            Status::System
        }
        Error::NoPicture { .. } | Error::Undecodable { .. } => Status::Damaged,
        _ => Status::Invalid,
    }
}

fn of_files(error: &files::Error) -> Status {
    use files::Error;
    match error.cause() {
        Error::Tensor(error) => of_tensor(error),
        Error::Damaged { .. } | Error::UnknownFormat { .. } | Error::CutOff { .. } => {
            Status::Damaged
        }
        Error::NoSuchTensor { .. } => Status::NotFound,
        Error::NoSuchType { .. } | Error::NoTensor { .. } | Error::NotAView { .. } => {
            Status::Unsupported
        }
        Error::Open(_) | Error::Read { .. } | Error::Io(_) => Status::System,
        Error::Stopped { .. } => Status::Stopped,
        _ => Status::Invalid,
    }
}

#[cfg(linux_like)]
fn of_stream(error: &stream::Error) -> Status {
    use stream::Error;
    match error {
        Error::Tensor(error) => of_tensor(error),
        Error::Memory(error) => of_memory(error),
        Error::Taken { .. }
        | Error::NoSlot { .. }
        | Error::DevicesBusy { .. }
        | Error::AllHeld { .. }
        | Error::StillHeld => Status::Busy,
        Error::NoStream { .. } => Status::NotFound,
        Error::NoAnswer { .. } => Status::NoAnswer,
        Error::Refused { .. } | Error::Producer { .. } => Status::Refused,
        Error::MemoryLimit { .. } => Status::OutOfMemory,
        Error::Ended { .. } => Status::Closed,
        Error::Evicted { .. } => Status::Evicted,
        Error::Packet { .. } | Error::Report { .. } => Status::Damaged,
        Error::Directory { .. } | Error::System { .. } => Status::System,
        _ => Status::Invalid,
    }
}

impl From<memory::Error> for Failure {
    fn from(error: memory::Error) -> Failure {
        Failure::of(of_memory(&error), &error)
    }
}

impl From<tenure::Error> for Failure {
    fn from(error: tenure::Error) -> Failure {
        Failure::of(of_tensor(&error), &error)
    }
}

impl From<image::Error> for Failure {
    fn from(error: image::Error) -> Failure {
        Failure::of(of_image(&error), &error)
    }
}

impl From<files::Error> for Failure {
    fn from(error: files::Error) -> Failure {
        Failure::of(of_files(&error), &error)
    }
}

#[cfg(linux_like)]
impl From<stream::Error> for Failure {
    fn from(error: stream::Error) -> Failure {
        Failure::of(of_stream(&error), &error)
    }
}

impl From<layout::Error> for Failure {
    fn from(error: layout::Error) -> Failure {
        Failure::of(Status::Invalid, &error)
    }
}

impl From<plan::PlanError> for Failure {
    fn from(error: plan::PlanError) -> Failure {
        Failure::of(Status::Invalid, &error)
    }
}

impl From<plan::JsonError> for Failure {
    fn from(error: plan::JsonError) -> Failure {
        Failure::of(Status::Invalid, &error)
    }
}

impl From<RealizeError> for Failure {
    fn from(error: RealizeError) -> Failure {
        let status = error.memory().map_or(Status::Invalid, of_memory);
        Failure::of(status, &error)
    }
}
