//! The description of a tensor in a message: encoded here, believed by nobody until decoded here.
//!
//! Numbers are little-endian and fixed in width; elements are in memory that both sides share, in the
//! order of the machine. Decoding checks every field; what it gives back
//! still has to be checked against the memory that came along, which building the layouts does.

use tenure_layout::{Colour, DType, ErrorKind, MAX_RANK, PixelFormat, Quantization, ZeroPoints};

mod rebuild;

use crate::fields::{Cut, Reader, Writer};

/// The longest name that travels, in bytes.
pub const LONGEST_NAME: usize = 255;
/// The most planes an image has.
pub const MOST_PLANES: usize = 4;

/// A tensor without its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Element type.
    pub dtype: DType,
    /// Elements per dimension.
    pub shape: Vec<usize>,
    /// Elements between neighbours of each dimension.
    pub strides: Vec<isize>,
    /// Byte of the memory at which the first element lies.
    pub offset: usize,
    /// Whether the receiver may only read.
    pub read_only: bool,
    /// The image, if the tensor is one.
    pub image: Option<ImageDescription>,
    /// Colour description.
    pub colour: Option<Colour>,
    /// Quantisation.
    pub quantization: Option<Quantization>,
    /// Name.
    pub name: Option<String>,
}

/// An image without its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageDescription {
    /// Format.
    pub format: PixelFormat,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// For each plane: which descriptor, byte offset, row stride in bytes.
    pub planes: Vec<(u8, usize, usize)>,
}

/// What is wrong with an encoded description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It ends in the middle of a field.
    #[error("it ends in the middle of {0}")]
    Short(&'static str),
    /// Bytes are left over.
    #[error("{0} bytes are left over")]
    Long(usize),
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
    /// A name that is not text.
    #[error("its name is not UTF-8")]
    Name,
    /// A quantisation that cannot be.
    #[error("its quantisation is impossible: {0}")]
    Quantization(String),
    /// More elements than the memory has bytes for: broadcast or overlapping ones. Whoever reads
    /// or copies them would need any amount of memory on the word of the other side.
    #[error(
        "its elements have {packed} bytes, its memory only {memory}: broadcast and overlapping \
         elements do not travel beyond the size of their memory, send a copy"
    )]
    Packed {
        /// Bytes of all elements without gaps.
        packed: usize,
        /// Bytes of the memory, in whole pages of 4096.
        memory: usize,
    },
}

impl Fault {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Damaged
    }
}

impl From<Cut> for Fault {
    fn from(cut: Cut) -> Fault {
        match cut {
            Cut::Short(what) => Fault::Short(what),
            Cut::Long(bytes) => Fault::Long(bytes),
            Cut::TooLarge { what, found, limit } => Fault::TooLarge { what, found, limit },
        }
    }
}

mod flag {
    pub(super) const READ_ONLY: u8 = 1;
    pub(super) const IMAGE: u8 = 2;
    pub(super) const COLOUR: u8 = 4;
    pub(super) const QUANTIZATION: u8 = 8;
    pub(super) const NAME: u8 = 16;
    pub(super) const ALL: u8 = 31;
}

impl Description {
    /// The bytes of the message's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let mut flags = 0;
        let mut set = |bit, is: bool| flags |= if is { bit } else { 0 };
        set(flag::READ_ONLY, self.read_only);
        set(flag::IMAGE, self.image.is_some());
        set(flag::COLOUR, self.colour.is_some());
        set(flag::QUANTIZATION, self.quantization.is_some());
        set(flag::NAME, self.name.is_some());
        out.u8(flags);
        out.u8(self.dtype.code());
        out.u8(self.shape.len() as u8);
        out.size(self.offset);
        for (&dim, &stride) in self.shape.iter().zip(&self.strides) {
            out.size(dim);
            out.i64(stride as i64);
        }
        if let Some(image) = &self.image {
            out.u8(image.format.code());
            out.size(image.width);
            out.size(image.height);
            out.u8(image.planes.len() as u8);
            for &(descriptor, offset, stride) in &image.planes {
                out.u8(descriptor);
                out.size(offset);
                out.size(stride);
            }
        }
        if let Some(colour) = self.colour {
            out.u8(colour.code());
        }
        if let Some(quantization) = &self.quantization {
            encode_quantization(quantization, &mut out);
        }
        if let Some(name) = &self.name {
            // Cut at a character, so that it stays text.
            let mut end = name.len().min(LONGEST_NAME);
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            out.u8(end as u8);
            out.bytes(&name.as_bytes()[..end]);
        }
        out.into_bytes()
    }

    /// Reads a description, checking every field.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn decode(body: &[u8]) -> Result<Description, Fault> {
        let mut input = Reader::new(body);
        let flags = input.u8("its flags")?;
        if flags & !flag::ALL != 0 {
            return Err(Fault::Unknown { what: "flag set", found: flags.into() });
        }
        let has = |bit| flags & bit != 0;
        let code = input.u8("its element type")?;
        let dtype = DType::from_code(code)
            .ok_or(Fault::Unknown { what: "element type", found: code.into() })?;
        let rank = input.u8("its rank")?.into();
        if rank > MAX_RANK {
            let (found, limit) = (rank as u64, MAX_RANK as u64);
            return Err(Fault::TooLarge { what: "rank", found, limit });
        }
        let offset = input.size("its offset")?;
        let (mut shape, mut strides) = (vec![], vec![]);
        for _ in 0..rank {
            shape.push(input.size("its shape")?);
            strides.push(input.stride("its strides")?);
        }
        let image = if has(flag::IMAGE) { Some(decode_image(&mut input)?) } else { None };
        let colour = if has(flag::COLOUR) {
            let code = input.u8("its colour")?;
            let unknown = Fault::Unknown { what: "colour", found: code.into() };
            Some(Colour::from_code(code).ok_or(unknown)?)
        } else {
            None
        };
        let quantization =
            if has(flag::QUANTIZATION) { Some(decode_quantization(&mut input)?) } else { None };
        let name = if has(flag::NAME) {
            let len = input.u8("its name")?.into();
            let text = std::str::from_utf8(input.bytes(len, "its name")?);
            Some(text.map_err(|_| Fault::Name)?.to_owned())
        } else {
            None
        };
        input.finish()?;
        let read_only = has(flag::READ_ONLY);
        Ok(Description {
            dtype,
            shape,
            strides,
            offset,
            read_only,
            image,
            colour,
            quantization,
            name,
        })
    }
}

fn decode_image(input: &mut Reader<'_>) -> Result<ImageDescription, Fault> {
    let code = input.u8("its format")?;
    let format = PixelFormat::from_code(code)
        .ok_or(Fault::Unknown { what: "pixel format", found: code.into() })?;
    let (width, height) = (input.size("its width")?, input.size("its height")?);
    let count = input.u8("its planes")?.into();
    if count > MOST_PLANES {
        let (found, limit) = (count as u64, MOST_PLANES as u64);
        return Err(Fault::TooLarge { what: "number of planes", found, limit });
    }
    let mut planes = vec![];
    for _ in 0..count {
        let descriptor = input.u8("a plane")?;
        planes.push((descriptor, input.size("a plane")?, input.size("a plane")?));
    }
    Ok(ImageDescription { format, width, height, planes })
}

fn encode_quantization(quantization: &Quantization, out: &mut Writer) {
    out.u8(quantization.axis().map_or(u8::MAX, |axis| axis as u8));
    out.u32(quantization.scales().len() as u32);
    quantization.scales().iter().for_each(|scale| out.u32(scale.to_bits()));
    match quantization.zero_points() {
        ZeroPoints::Symmetric => out.u8(0),
        ZeroPoints::Each(points) => {
            out.u8(1);
            points.iter().for_each(|point| out.u32(*point as u32));
        }
    }
}

fn decode_quantization(input: &mut Reader<'_>) -> Result<Quantization, Fault> {
    let what = "its quantisation";
    let axis = input.u8(what)?;
    let count = input.u32(what)? as usize;
    // Bounded by what is there, so that a lie about the count costs nothing.
    let limit = input.left() / 4;
    if count > limit {
        let (found, limit) = (count as u64, limit as u64);
        return Err(Fault::TooLarge { what: "number of scales", found, limit });
    }
    let scales: Vec<f32> =
        (0..count).map(|_| input.u32(what).map(f32::from_bits)).collect::<Result<_, _>>()?;
    let zero_points: Vec<i32> = match input.u8(what)? {
        0 => vec![],
        1 => {
            (0..count).map(|_| input.u32(what).map(|bits| bits as i32)).collect::<Result<_, _>>()?
        }
        found => return Err(Fault::Unknown { what: "zero point kind", found: found.into() }),
    };
    let made = match (axis, scales.as_slice()) {
        (u8::MAX, &[scale]) => {
            Quantization::per_tensor(scale, zero_points.first().copied().unwrap_or(0))
        }
        (u8::MAX, _) => {
            let limit = 1;
            return Err(Fault::TooLarge { what: "number of scales", found: count as u64, limit });
        }
        (axis, _) => Quantization::per_axis(scales, zero_points, axis.into()),
    };
    made.map_err(|error| Fault::Quantization(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Description {
        Description {
            dtype: DType::U8,
            shape: vec![6, 8],
            strides: vec![16, 1],
            offset: 32,
            read_only: true,
            image: Some(ImageDescription {
                format: PixelFormat::Nv12,
                width: 8,
                height: 4,
                planes: vec![(0, 32, 16), (1, 0, 16)],
            }),
            colour: Some(Colour::HD),
            quantization: Some(Quantization::per_axis(vec![0.5; 8], vec![3; 8], 1).unwrap()),
            name: Some("camera ä".to_owned()),
        }
    }

    #[test]
    fn comes_back_as_it_went() {
        assert_eq!(Description::decode(&full().encode()).unwrap(), full());
        let bare = Description {
            shape: vec![],
            strides: vec![],
            image: None,
            colour: None,
            quantization: Some(Quantization::per_tensor(2.0, -1).unwrap()),
            name: None,
            ..full()
        };
        assert_eq!(Description::decode(&bare.encode()).unwrap(), bare);
    }

    #[test]
    fn every_cut_is_noticed() {
        let whole = full().encode();
        for end in 0..whole.len() {
            assert!(Description::decode(&whole[..end]).is_err(), "{end}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(Description::decode(&longer), Err(Fault::Long(1)));
    }

    #[test]
    fn lies_are_refused_without_work() {
        let mut scales = full().encode();
        let at = scales.len() - 1 - "camera ä".len() - 1 - 8 * 4 - 8 * 4 - 4;
        scales[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(
            Description::decode(&scales),
            Err(Fault::TooLarge { what: "number of scales", .. })
        ));
        let mut dtype = full().encode();
        dtype[1] = 200;
        assert!(matches!(Description::decode(&dtype), Err(Fault::Unknown { found: 200, .. })));
        let long = Description { name: Some("ä".repeat(300)), ..full() };
        let name = Description::decode(&long.encode()).unwrap().name.unwrap();
        assert_eq!(name, "ä".repeat(127));
    }
}
