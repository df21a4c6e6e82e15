//! The structures of `linux/videodev2.h`, as far as capture needs them.
//!
//! Unions are words or numbers with functions that read them; nothing here is an address but
//! [`Buffer::place`], which only the parent module sets to one.

/// Most planes of a picture.
pub(crate) const MOST_PLANES: usize = 8;

/// Kind of queue: pictures in one buffer.
pub(crate) const CAPTURE: u32 = 1;
/// Kind of queue: pictures whose planes may be in several buffers.
pub(crate) const CAPTURE_PLANES: u32 = 9;

/// Memory of a buffer: the driver's.
pub(crate) const MEMORY_MMAP: u32 = 1;
/// Memory of a buffer: a DMA-BUF from outside.
pub(crate) const MEMORY_DMABUF: u32 = 4;

/// `struct v4l2_capability`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Capability {
    pub(crate) driver: [u8; 16],
    pub(crate) card: [u8; 32],
    pub(crate) bus: [u8; 32],
    pub(crate) version: u32,
    pub(crate) capabilities: u32,
    pub(crate) device_capabilities: u32,
    pub(crate) reserved: [u32; 3],
}

/// `struct v4l2_fmtdesc`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct FormatDescription {
    pub(crate) index: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) description: [u8; 32],
    pub(crate) fourcc: u32,
    pub(crate) mbus_code: u32,
    pub(crate) reserved: [u32; 3],
}

/// `struct v4l2_frmsizeenum`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct FrameSize {
    pub(crate) index: u32,
    pub(crate) fourcc: u32,
    /// 1: one size; 2, 3: a range.
    pub(crate) kind: u32,
    /// Width and height; or least, most and step of width, then of height.
    pub(crate) words: [u32; 6],
    pub(crate) reserved: [u32; 2],
}

/// `struct v4l2_frmivalenum`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct FrameInterval {
    pub(crate) index: u32,
    pub(crate) fourcc: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// 1: one interval; 2, 3: a range.
    pub(crate) kind: u32,
    /// Fractions: one; or the shortest, the longest and the step.
    pub(crate) words: [u32; 6],
    pub(crate) reserved: [u32; 2],
}

/// `struct v4l2_format`: which kind of queue, and 200 bytes that depend on it.
#[repr(C)]
pub(crate) struct Format {
    pub(crate) kind: u32,
    /// Other kinds than ours hold addresses, which are aligned.
    #[cfg(target_pointer_width = "64")]
    padding: u32,
    words: [u32; 50],
}

/// What both kinds of picture format say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fourcc: u32,
    pub(crate) field: u32,
    pub(crate) colorspace: u32,
    pub(crate) encoding: u32,
    pub(crate) quantization: u32,
    /// Buffers of a frame.
    pub(crate) count: usize,
    /// Row stride and bytes of each.
    pub(crate) planes: [(u32, u32); MOST_PLANES],
}

/// Lines one after the other, not two half pictures.
pub(crate) const FIELD_NONE: u32 = 1;

impl Format {
    pub(crate) fn new(kind: u32) -> Format {
        Format {
            kind,
            #[cfg(target_pointer_width = "64")]
            padding: 0,
            words: [0; 50],
        }
    }

    /// Asks for a size and a code, and leaves the rest to the driver.
    pub(crate) fn wish(kind: u32, fourcc: u32, width: u32, height: u32) -> Format {
        let mut format = Format::new(kind);
        let [w, h, code, field, ..] = &mut format.words;
        (*w, *h, *code, *field) = (width, height, fourcc, FIELD_NONE);
        format
    }

    pub(crate) fn picture(&self) -> Picture {
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let mut picture = Picture {
            width: word(0),
            height: word(1),
            fourcc: word(2),
            field: word(3),
            colorspace: word(6),
            encoding: word(9),
            quantization: word(10),
            count: 1,
            planes: [(0, 0); MOST_PLANES],
        };
        if self.kind == CAPTURE_PLANES {
            // `struct v4l2_pix_format_mplane`, which is packed.
            let [count, _flags, encoding, quantization] = word(45).to_ne_bytes();
            picture.colorspace = word(4);
            picture.encoding = encoding.into();
            picture.quantization = quantization.into();
            picture.count = usize::from(count).clamp(1, MOST_PLANES);
            for (index, plane) in picture.planes.iter_mut().enumerate() {
                *plane = (word(5 + 5 * index + 1), word(5 + 5 * index));
            }
        } else if let Some(first) = picture.planes.first_mut() {
            *first = (word(4), word(5));
        }
        picture
    }
}

/// `struct v4l2_streamparm` with its `struct v4l2_captureparm`.
#[repr(C)]
pub(crate) struct StreamParameters {
    pub(crate) kind: u32,
    pub(crate) capability: u32,
    pub(crate) mode: u32,
    pub(crate) numerator: u32,
    pub(crate) denominator: u32,
    rest: [u32; 46],
}

/// The driver takes a frame rate.
pub(crate) const TIME_PER_FRAME: u32 = 0x1000;

impl StreamParameters {
    pub(crate) fn new(kind: u32) -> StreamParameters {
        let rest = [0; 46];
        StreamParameters { kind, capability: 0, mode: 0, numerator: 0, denominator: 0, rest }
    }
}

/// `struct v4l2_requestbuffers`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct RequestBuffers {
    pub(crate) count: u32,
    pub(crate) kind: u32,
    pub(crate) memory: u32,
    pub(crate) capabilities: u32,
    pub(crate) flags: u32,
}

/// `struct v4l2_exportbuffer`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct ExportBuffer {
    pub(crate) kind: u32,
    pub(crate) index: u32,
    pub(crate) plane: u32,
    pub(crate) flags: u32,
    pub(crate) fd: i32,
    pub(crate) reserved: [u32; 11],
}

/// `struct v4l2_queryctrl`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct QueryControl {
    pub(crate) id: u32,
    pub(crate) kind: u32,
    pub(crate) name: [u8; 32],
    pub(crate) minimum: i32,
    pub(crate) maximum: i32,
    pub(crate) step: i32,
    pub(crate) default: i32,
    pub(crate) flags: u32,
    pub(crate) reserved: [u32; 2],
}

/// `struct v4l2_control`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Control {
    pub(crate) id: u32,
    pub(crate) value: i32,
}

/// `struct v4l2_buffer`.
#[repr(C)]
pub(crate) struct Buffer {
    pub(crate) index: u32,
    pub(crate) kind: u32,
    pub(crate) bytes_used: u32,
    pub(crate) flags: u32,
    pub(crate) field: u32,
    pub(crate) timestamp: libc::timeval,
    timecode: [u32; 4],
    pub(crate) sequence: u32,
    pub(crate) memory: u32,
    /// An offset, a descriptor, or the address of the planes.
    pub(super) place: usize,
    pub(crate) length: u32,
    reserved: u32,
    request_fd: i32,
}

/// `struct v4l2_plane`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Plane {
    bytes_used: u32,
    length: u32,
    /// An offset or a descriptor.
    place: usize,
    data_offset: u32,
    pub(crate) reserved: [u32; 11],
}

/// The buffer's content is damaged.
pub(crate) const FLAG_ERROR: u32 = 0x40;
const TIMESTAMP_MASK: u32 = 0xe000;
const TIMESTAMP_MONOTONIC: u32 = 0x2000;

/// A buffer and its planes, as one argument.
pub(crate) struct BufferArgument {
    pub(super) buffer: Buffer,
    pub(super) planes: [Plane; MOST_PLANES],
    /// Whether the queue is one of several planes.
    pub(super) several: bool,
}

/// A word at the start of a union of pointer size.
fn first_word(place: usize) -> u32 {
    place.to_ne_bytes().first_chunk().map_or(0, |word| u32::from_ne_bytes(*word))
}

fn from_first_word(word: u32) -> usize {
    let mut bytes = [0; size_of::<usize>()];
    for (to, from) in bytes.iter_mut().zip(word.to_ne_bytes()) {
        *to = from;
    }
    usize::from_ne_bytes(bytes)
}

impl BufferArgument {
    pub(crate) fn new(kind: u32, memory: u32, index: u32) -> BufferArgument {
        let buffer = Buffer {
            index,
            kind,
            bytes_used: 0,
            flags: 0,
            field: 0,
            timestamp: libc::timeval { tv_sec: 0, tv_usec: 0 },
            timecode: [0; 4],
            sequence: 0,
            memory,
            place: 0,
            length: 0,
            reserved: 0,
            request_fd: 0,
        };
        let planes = [Plane::default(); MOST_PLANES];
        BufferArgument { buffer, planes, several: kind == CAPTURE_PLANES }
    }

    /// Which buffer.
    pub(crate) fn index(&self) -> usize {
        self.buffer.index as usize
    }

    pub(crate) fn sequence(&self) -> u32 {
        self.buffer.sequence
    }

    pub(crate) fn damaged(&self) -> bool {
        self.buffer.flags & FLAG_ERROR != 0
    }

    /// When the frame was taken, if the driver's clock is the monotonic one.
    #[expect(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
    pub(crate) fn timestamp(&self) -> Option<std::time::Duration> {
        let monotonic = self.buffer.flags & TIMESTAMP_MASK == TIMESTAMP_MONOTONIC;
        let time = self.buffer.timestamp;
        let seconds = u64::try_from(time.tv_sec as i64).ok().filter(|_| monotonic)?;
        let micros = u64::try_from(time.tv_usec as i64).ok()?;
        Some(std::time::Duration::from_secs(seconds) + std::time::Duration::from_micros(micros))
    }

    /// Puts a DMA-BUF in the place of a plane.
    pub(crate) fn set_descriptor(&mut self, plane: usize, fd: u32, bytes: usize) {
        let length = u32::try_from(bytes).unwrap_or(u32::MAX);
        if !self.several {
            (self.buffer.place, self.buffer.length) = (from_first_word(fd), length);
        } else if let Some(plane) = self.planes.get_mut(plane) {
            (plane.place, plane.length) = (from_first_word(fd), length);
        }
    }

    /// Bytes of a plane's buffer.
    pub(crate) fn length(&self, plane: usize) -> usize {
        let several = self.planes.get(plane).map_or(0, |plane| plane.length);
        if self.several { several as usize } else { self.buffer.length as usize }
    }

    /// Where in the device a plane is mapped from.
    pub(crate) fn offset(&self, plane: usize) -> u64 {
        let several = self.planes.get(plane).map_or(0, |plane| plane.place);
        first_word(if self.several { several } else { self.buffer.place }).into()
    }

    /// Bytes of a plane that the driver filled.
    pub(crate) fn bytes_used(&self, plane: usize) -> usize {
        let several = self.planes.get(plane).map_or(0, |plane| plane.bytes_used);
        if self.several { several as usize } else { self.buffer.bytes_used as usize }
    }

    /// Where in its buffer a plane's data starts.
    pub(crate) fn data_offset(&self, plane: usize) -> usize {
        let several = self.planes.get(plane).map_or(0, |plane| plane.data_offset);
        if self.several { several as usize } else { 0 }
    }
}

/// Text that ends with zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
#[cfg(target_pointer_width = "64")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_header() {
        assert_eq!(size_of::<Capability>(), 104);
        assert_eq!(size_of::<FormatDescription>(), 64);
        assert_eq!(size_of::<FrameSize>(), 44);
        assert_eq!(size_of::<FrameInterval>(), 52);
        assert_eq!(size_of::<Format>(), 208);
        assert_eq!(size_of::<StreamParameters>(), 204);
        assert_eq!(size_of::<RequestBuffers>(), 20);
        assert_eq!(size_of::<ExportBuffer>(), 64);
        assert_eq!(size_of::<QueryControl>(), 68);
        assert_eq!(size_of::<Buffer>(), 88);
        assert_eq!(size_of::<Plane>(), 64);
    }

    #[test]
    fn unions_hold_words_at_their_start() {
        assert_eq!(first_word(from_first_word(0x0102_0304)), 0x0102_0304);
    }
}
