//! What to do about an error, as data: each language says it in its own calls.
//!
//! The text of an error names values; where a call would help, it ends with a [`Remedy`]. Its words
//! depend on the [`Language`] in which the text is made: Rust, unless [`Language::say`] says
//! otherwise.

mod words;

use std::cell::Cell;
use std::fmt;

thread_local! {
    static NOW: Cell<Language> = const { Cell::new(Language::Rust) };
}

/// In whose calls remedies are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Language {
    /// Methods and functions of the Rust crates.
    #[default]
    Rust,
    /// Functions of the C library.
    C,
    /// Methods, functions and keywords of the Python package.
    Python,
    /// Options of the command `tenure`.
    Command,
    /// No remedies: for texts that go to other processes, or into other texts.
    Plain,
}

impl Language {
    /// The text of an error whose remedies are told in this language.
    ///
    /// ```
    /// use tenure_layout::{Language, Remedy};
    /// assert_eq!(Language::C.say(&Remedy::SetFormat), "call tenure_tensor_set_format() first");
    /// assert_eq!(Language::Rust.say(&Remedy::SetFormat), "call set_format() first");
    /// ```
    pub fn say(self, error: &(impl fmt::Display + ?Sized)) -> String {
        self.during(|| error.to_string())
    }

    /// Runs `work` so that the texts of errors that this thread makes in it are in this language.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        /// Brings the language before it back, also when `work` panics.
        struct Before(Language);
        impl Drop for Before {
            fn drop(&mut self) {
                NOW.set(self.0);
            }
        }
        let _before = Before(NOW.replace(self));
        work()
    }
}

/// What would help: a value that [`Remedy::words`] tells in the calls of each language. Errors that
/// have one give it by `remedy()`, and end their text with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Copy a tensor to memory that the CPU reaches.
    CopyToMain,
    /// Open the device that has the memory.
    OpenDevice {
        /// What opens it: `cuda`, `hip`.
        backend: &'static str,
        /// Its number.
        number: usize,
    },
    /// Open a device.
    OpenAnyDevice,
    /// Open a file instead of allocating it.
    OpenFile,
    /// Map read-only bytes for reading.
    MapForReading,
    /// Duplicate the descriptor of memory that is not a DMA-BUF.
    CloneDescriptor,
    /// Use a tensor whose element type is known at run time.
    UseDynamic,
    /// Map elements that do not follow each other.
    MapOtherwise {
        /// Whether there are rows.
        rows: bool,
        /// Whether the bytes between the elements are the tensor's own.
        whole: bool,
    },
    /// Map elements whose neighbours belong to others.
    MapRows,
    /// Say which format the pixels have.
    SetFormat,
    /// Take one image of a batch.
    TakeOneImage,
    /// Use an image that is no batch as it is.
    UseImageItself,
    /// Map the planes of an image one by one.
    MapPlanes,
    /// Ask for the DLPack structure that can say "read-only".
    AskVersionedDlpack,
    /// Set the colour of the destination.
    SetColour,
    /// Say how integers stand for real numbers.
    GiveQuantization,
    /// Open any file as one tensor.
    OpenRaw,
    /// Load a tensor instead of viewing it in its file.
    LoadTensor,
    /// List the cameras.
    ListCameras,
    /// Resume a paused camera.
    ResumeCamera,
    /// Capture into contiguous memory, or into buffers of the driver.
    CaptureContiguous,
    /// Subscribe although another user publishes the stream.
    TrustProducer {
        /// The user.
        uid: u32,
    },
    /// Drop frames, or ask for more.
    DropFrames,
    /// Let a subscriber keep more memory mapped.
    RaiseLimits,
    /// Let frames differ from those that were declared.
    LetFramesDiffer,
    /// Publish or drop slots, or ask for more.
    PublishSlots,
    /// Try again, or ask for more slots.
    TryAgainOrMoreSlots,
    /// Say what frames look like.
    DescribeFrames,
    /// Let GStreamer read rows with gaps.
    AllowVideoMeta,
    /// Give unknown dimensions of a model a value.
    GiveDimensions,
    /// Let a bridge use more memory.
    RaiseBridgeMemory,
}

impl Remedy {
    /// The remedy at the end of a text: a colon and the words, or nothing in a language that has no
    /// such call.
    pub fn clause(self) -> Clause {
        Clause(Some(self))
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(NOW.get()))
    }
}

/// How a text of an error ends: with its remedy, if there is one. See [`Remedy::clause`].
#[derive(Debug, Clone, Copy)]
pub struct Clause(Option<Remedy>);

impl From<Option<Remedy>> for Clause {
    fn from(remedy: Option<Remedy>) -> Clause {
        Clause(remedy)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.map(|remedy| remedy.words(NOW.get())).unwrap_or_default();
        if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
    }
}

#[cfg(test)]
mod tests;
