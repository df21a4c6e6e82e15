//! What travels with a frame: encoded here, believed by nobody until decoded here.
//!
//! A frame is one message. Its elements are the message's body; this is what lies beside it. Numbers
//! are little-endian and fixed in width. Decoding checks every field against every other and against
//! the length of the body, so that memory is only taken for what really came.

use tenure_image::codec::MOST_PIXELS;
use tenure_layout::{DType, PixelFormat};
use tenure_stream::Spec;
use tenure_stream::wire::{LONGEST_BLOB, LONGEST_DESCRIPTION};
use tenure_tensor::TensorDyn;
use tenure_tensor::wire::Description;

use crate::dense;

#[cfg(test)]
mod tests;

/// The version that this build speaks.
pub const VERSION: u16 = 1;
/// The largest frame, in bytes of its elements.
pub const LARGEST: usize = 1 << 30;
/// The most that can travel beside a body.
pub const LONGEST: usize = HEAD + LONGEST_DESCRIPTION + LONGEST_BLOB;

const MARK: u32 = u32::from_le_bytes(*b"TNBR");
/// Bytes before description and blob.
const HEAD: usize = 4 + 2 + 1 + 1 + 5 * 8 + 2 * 4;
/// Stands for a time that nobody said.
const NO_TIME: u64 = u64::MAX;
/// Larger numbers are lies: no stream has counted so far.
const LAST_SEQUENCE: u64 = u64::MAX >> 2;
/// LZ4 and JPEG make at most so many bytes of one.
const BEST_LZ4: usize = 255;
const BEST_JPEG: usize = 1100;

mod code {
    pub(super) const FRAME: u8 = 0;
    pub(super) const END: u8 = 1;
}

/// How the elements of a frame lie in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// As they are: planes and rows one after the other, without gaps.
    Plain = 0,
    /// The same as one block of LZ4.
    Lz4 = 1,
    /// As a JPEG file.
    Jpeg = 2,
}

impl Encoding {
    fn from_code(code: u8) -> Option<Encoding> {
        [Encoding::Plain, Encoding::Lz4, Encoding::Jpeg].into_iter().find(|it| *it as u8 == code)
    }
}

/// What is wrong with a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It ends in the middle of a field.
    #[error("it ends in the middle of {0}")]
    Short(&'static str),
    /// Bytes are left over.
    #[error("{0} bytes are left over")]
    Long(usize),
    /// Nothing lies beside the body.
    #[error("nothing says what it is")]
    Bare,
    /// It does not begin as a packet does.
    #[error("it begins with {found:#010x}, which is no packet of a bridge")]
    NotOurs {
        /// The first four bytes.
        found: u32,
    },
    /// A version that this build does not speak.
    #[error("it has version {found}, this build speaks {VERSION}")]
    Version {
        /// Its version.
        found: u16,
    },
    /// A code that means nothing.
    #[error("{what} {found} is unknown")]
    Unknown {
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A number out of its range.
    #[error("{what} is {found}, at most {limit} is possible")]
    TooLarge {
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest possible.
        limit: u64,
    },
    /// A description that cannot be read.
    #[error("its description cannot be read: {0}")]
    Description(#[from] tenure_tensor::wire::Fault),
    /// A description of what cannot be.
    #[error("its description is impossible: {0}")]
    Impossible(String),
    /// A description with gaps, or of memory that is not its own.
    #[error("its description has gaps, offsets or a name, which frames lose on their way")]
    NotDense,
    /// Another number of bytes than its description says.
    #[error("it has {found} bytes, its description says {expected}")]
    Bytes {
        /// Bytes that it says or has.
        found: u64,
        /// Bytes of such a tensor.
        expected: u64,
    },
    /// A body that cannot become so many bytes.
    #[error("{body} bytes cannot become {bytes}")]
    Ratio {
        /// Bytes of the body.
        body: u64,
        /// Bytes that it should become.
        bytes: u64,
    },
    /// More memory than the sender has earned by sending.
    #[error(
        "{wanted} bytes of memory are more than a sender of {came} bytes can have: {most} (it has to \
         send more before its frames are believed)"
    )]
    Unearned {
        /// Bytes of memory that the stream would have.
        wanted: u64,
        /// Bytes that came so far.
        came: u64,
        /// The most memory for as many.
        most: u64,
    },
    /// A JPEG file of what is not sent as one.
    #[error(
        "it is said to be jpeg, and described as {format} of {dtype}: that is u8 in rgb, bgr, grey, planar-rgb or nv12"
    )]
    NoPicture {
        /// The format that it is described with.
        format: &'static str,
        /// The type of its elements.
        dtype: DType,
    },
    /// A body that cannot be unpacked.
    #[error("its body cannot be unpacked: {0}")]
    Body(String),
}

impl Fault {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Damaged
    }
}

/// What lies beside a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Packet {
    /// A frame.
    Frame(Box<Head>),
    /// The producer has ended the stream.
    End {
        /// Which life of the producer.
        incarnation: u64,
    },
}

/// A frame without its elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// How the elements lie in the body.
    pub encoding: Encoding,
    /// Tells one life of the producer from the next.
    pub incarnation: u64,
    /// Number of the frame, counted by the producer.
    pub sequence: u64,
    /// When it was taken, in nanoseconds of the sender's clock, if the producer said so.
    pub captured: Option<u64>,
    /// When it was sent, by the same clock.
    pub sent: u64,
    /// Bytes of its elements without gaps.
    pub bytes: usize,
    /// What it looks like, without gaps.
    pub description: Description,
    /// Bytes of the producer's own.
    pub blob: Vec<u8>,
}

impl Head {
    /// The head of a frame with this tensor, as plain elements.
    ///
    /// # Errors
    /// If its shape is impossible, or it is too large or too long to travel.
    pub fn of(tensor: &TensorDyn) -> crate::Result<Head> {
        let description = Description::of(tensor, tenure_tensor::Sharing::ReadOnly)?;
        let (description, bytes) = dense::dense(&description)?;
        bounded("number of bytes", bytes as u64, LARGEST as u64)?;
        let length = description.encode().len() as u64;
        bounded("length of the description", length, LONGEST_DESCRIPTION as u64)?;
        Ok(Head {
            encoding: Encoding::Plain,
            incarnation: 0,
            sequence: 0,
            captured: None,
            sent: 0,
            bytes,
            description,
            blob: vec![],
        })
    }

    /// The slots that such frames need.
    ///
    /// # Errors
    /// If the description is impossible.
    pub fn spec(&self) -> crate::Result<Spec> {
        dense::spec(&self.description)
    }
}

impl Packet {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        let empty = (vec![], &[][..]);
        let (kind, encoding, numbers, (description, blob)) = match self {
            Packet::End { incarnation } => (code::END, 0, [*incarnation, 0, 0, 0, 0], empty),
            Packet::Frame(head) => {
                let captured = head.captured.unwrap_or(NO_TIME);
                let numbers =
                    [head.incarnation, head.sequence, captured, head.sent, head.bytes as u64];
                let parts = (head.description.encode(), &head.blob[..]);
                (code::FRAME, head.encoding as u8, numbers, parts)
            }
        };
        let mut out = Vec::with_capacity(HEAD + description.len() + blob.len());
        out.extend_from_slice(&MARK.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[kind, encoding]);
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        for length in [description.len(), blob.len()] {
            out.extend_from_slice(&(length as u32).to_le_bytes());
        }
        out.extend_from_slice(&description);
        out.extend_from_slice(blob);
        out
    }

    /// Reads what lies beside a body of so many bytes, checking everything.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn decode(packet: &[u8], body: usize) -> Result<Packet, Fault> {
        let mut input = Reader { rest: packet };
        let mark = u32::from_le_bytes(input.array("its mark")?);
        if mark != MARK {
            return Err(Fault::NotOurs { found: mark });
        }
        let version = u16::from_le_bytes(input.array("its version")?);
        if version != VERSION {
            return Err(Fault::Version { found: version });
        }
        let [kind, encoding] = input.array("its kind")?;
        let incarnation = input.u64("its incarnation")?;
        let sequence = input.u64("its sequence")?;
        let captured = input.u64("its times")?;
        let sent = input.u64("its times")?;
        let bytes = input.u64("its size")?;
        let description = u32::from_le_bytes(input.array("its lengths")?);
        let blob = u32::from_le_bytes(input.array("its lengths")?);
        match kind {
            code::FRAME => {}
            code::END => {
                let rest = input.rest.len() + body;
                return if rest == 0 {
                    Ok(Packet::End { incarnation })
                } else {
                    Err(Fault::Long(rest))
                };
            }
            found => return Err(Fault::Unknown { what: "kind", found: found.into() }),
        }
        let unknown = Fault::Unknown { what: "encoding", found: encoding.into() };
        let encoding = Encoding::from_code(encoding).ok_or(unknown)?;
        bounded("sequence", sequence, LAST_SEQUENCE)?;
        bounded("number of bytes", bytes, LARGEST as u64)?;
        bounded("length of the description", description.into(), LONGEST_DESCRIPTION as u64)?;
        bounded("length of the blob", blob.into(), LONGEST_BLOB as u64)?;
        let description = input.bytes(description as usize, "its description")?;
        let blob = input.bytes(blob as usize, "its blob")?.to_vec();
        if !input.rest.is_empty() {
            return Err(Fault::Long(input.rest.len()));
        }
        let description = Description::decode(description)?;
        let bytes = check_description(&description, bytes)?;
        check_body(encoding, &description, bytes, body)?;
        Ok(Packet::Frame(Box::new(Head {
            encoding,
            incarnation,
            sequence,
            captured: (captured != NO_TIME).then_some(captured),
            sent,
            bytes,
            description,
            blob,
        })))
    }
}

/// Checks that frames can look like this, and have so many bytes.
fn check_description(description: &Description, bytes: u64) -> Result<usize, Fault> {
    let impossible =
        |error: crate::Error| Fault::Impossible(tenure_layout::Language::Plain.say(&error));
    let (dense, expected) = dense::dense(description).map_err(impossible)?;
    if dense != *description {
        return Err(Fault::NotDense);
    }
    if bytes != expected as u64 {
        return Err(Fault::Bytes { found: bytes, expected: expected as u64 });
    }
    let _ = dense::spec(description).map_err(impossible)?;
    Ok(expected)
}

/// Checks that a body of this length can be those bytes.
fn check_body(
    encoding: Encoding,
    description: &Description,
    bytes: usize,
    body: usize,
) -> Result<(), Fault> {
    let ratio = Err(Fault::Ratio { body: body as u64, bytes: bytes as u64 });
    match encoding {
        Encoding::Plain if body != bytes => {
            Err(Fault::Bytes { found: body as u64, expected: bytes as u64 })
        }
        Encoding::Jpeg if !is_photograph(description) => {
            let format = description.image.as_ref().map_or("no picture", |it| it.format.name());
            Err(Fault::NoPicture { format, dtype: description.dtype })
        }
        Encoding::Lz4 if bytes > body.saturating_mul(BEST_LZ4) => ratio,
        Encoding::Jpeg if bytes > body.saturating_mul(BEST_JPEG) => ratio,
        _ => Ok(()),
    }
}

/// Whether JPEG can hold it: bytes of a format without alpha that pictures can be decoded into, sides
/// that it can count, and no more pixels than are decoded.
pub(crate) fn is_photograph(description: &Description) -> bool {
    use PixelFormat::{Bgr, Grey, Nv12, PlanarRgb, Rgb};
    let side = usize::from(u16::MAX);
    description.image.as_ref().is_some_and(|image| {
        description.dtype == DType::U8
            && matches!(image.format, Rgb | Bgr | Grey | PlanarRgb | Nv12)
            && image.width <= side
            && image.height <= side
            && image.width.saturating_mul(image.height) <= MOST_PIXELS
    })
}

fn bounded(what: &'static str, found: u64, limit: u64) -> Result<(), Fault> {
    if found > limit { Err(Fault::TooLarge { what, found, limit }) } else { Ok(()) }
}

/// Takes fields from the front of a packet.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(*field)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, Fault> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Fault> {
        let (field, rest) = self.rest.split_at_checked(len).ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(field)
    }
}
