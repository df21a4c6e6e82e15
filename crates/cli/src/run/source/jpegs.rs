//! JPEG files that follow each other, taken apart: motion JPEG in a file or in a pipe.
//!
//! Only markers and lengths are read, so that a thumbnail inside of a picture is not taken for the
//! next one. What lies between two pictures is passed over: padding, or the headers of a camera's
//! `multipart/x-mixed-replace`.

use std::io::{self, BufRead};

/// The largest picture, in bytes of its file.
const LARGEST: usize = 64 << 20;
/// The most bytes between two pictures.
const WIDEST_GAP: usize = 64 << 10;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The bytes cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// No picture begins.
    #[error("no JPEG picture begins within {WIDEST_GAP} bytes")]
    NoPicture,
    /// The end comes too early.
    #[error("it ends in the middle of a picture")]
    Cut,
    /// What should be a marker is none, or has an impossible length.
    #[error("a picture is damaged: marker {0:#04x} is not possible there")]
    Damaged(u8),
    /// It goes on and on.
    #[error("a picture is larger than {LARGEST} bytes")]
    TooLarge,
}

/// Takes pictures from a reader, one after the other.
pub(super) struct Jpegs<R> {
    from: R,
    /// Bytes read so far.
    at: u64,
    /// The last picture announced that others of the same scene follow it.
    announced: bool,
}

const FILL: u8 = 0xff;
const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const APP2: u8 = 0xe2;

impl<R: BufRead> Jpegs<R> {
    pub(super) fn new(from: R) -> Jpegs<R> {
        Jpegs { from, at: 0, announced: false }
    }

    /// Bytes read so far: where the last picture ends.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Whether the last picture is one of several that are the same scene (the Multi-Picture Format
    /// of cameras and phones), of which it is the main one.
    pub(super) fn announced_others(&self) -> bool {
        self.announced
    }

    /// Reads the next picture into `picture`; `false` if there is none.
    pub(super) fn next(&mut self, picture: &mut Vec<u8>) -> Result<bool, Fault> {
        self.announced = false;
        picture.clear();
        if !self.find(picture)? {
            return Ok(false);
        }
        let mut marker = self.marker(picture, true)?;
        loop {
            marker = match marker {
                EOI => return Ok(true),
                // The one before was cut off.
                SOI => {
                    picture.clear();
                    picture.extend([FILL, SOI]);
                    self.marker(picture, true)?
                }
                0x01 | 0xd0..=0xd7 => self.marker(picture, true)?,
                0x02..=0xbf | 0 | FILL => return Err(Fault::Damaged(marker)),
                segment => {
                    self.segment(picture, segment)?;
                    self.marker(picture, segment != SOS)?
                }
            };
        }
    }

    /// Goes to where a picture begins; `false` if there is only padding up to the end.
    fn find(&mut self, picture: &mut Vec<u8>) -> Result<bool, Fault> {
        let (mut last, mut padding) = (0, true);
        for _ in 0..=WIDEST_GAP {
            let Some(byte) = self.byte()? else {
                return if padding { Ok(false) } else { Err(Fault::NoPicture) };
            };
            if (last, byte) == (FILL, SOI) {
                picture.extend([FILL, SOI]);
                return Ok(true);
            }
            padding &= matches!(byte, 0 | FILL | b'\r' | b'\n');
            last = byte;
        }
        Err(Fault::NoPicture)
    }

    /// The next marker: at once if it is `due`, after the samples of a scan otherwise.
    fn marker(&mut self, picture: &mut Vec<u8>, due: bool) -> Result<u8, Fault> {
        loop {
            if !due {
                self.samples(picture)?;
            }
            let mut byte = self.need(picture)?;
            if byte != FILL {
                return Err(Fault::Damaged(byte));
            }
            while byte == FILL {
                byte = self.need(picture)?;
            }
            // A sample that looks like a marker, or one that begins anew within the scan.
            let in_scan = matches!(byte, 0 | 0xd0..=0xd7);
            if due || !in_scan {
                return Ok(byte);
            }
        }
    }

    /// Samples up to the next byte that may be a marker's.
    fn samples(&mut self, picture: &mut Vec<u8>) -> Result<(), Fault> {
        loop {
            let some = self.from.fill_buf()?;
            if some.is_empty() {
                return Err(Fault::Cut);
            }
            let found = some.iter().position(|byte| *byte == FILL);
            let (samples, _) = some.split_at(found.unwrap_or(some.len()));
            let count = samples.len();
            keep(picture, samples)?;
            self.from.consume(count);
            self.at += count as u64;
            if found.is_some() {
                return Ok(());
            }
        }
    }

    /// A segment with its length.
    fn segment(&mut self, picture: &mut Vec<u8>, marker: u8) -> Result<(), Fault> {
        let length = [self.need(picture)?, self.need(picture)?];
        let length = usize::from(u16::from_be_bytes(length));
        let mut left = length.checked_sub(2).ok_or(Fault::Damaged(marker))?;
        let from = picture.len();
        while left > 0 {
            let some = self.from.fill_buf()?;
            if some.is_empty() {
                return Err(Fault::Cut);
            }
            let (own, _) = some.split_at(left.min(some.len()));
            let count = own.len();
            keep(picture, own)?;
            self.from.consume(count);
            self.at += count as u64;
            left -= count;
        }
        let content = picture.get(from..).unwrap_or_default();
        self.announced |= marker == APP2 && content.starts_with(b"MPF\0");
        Ok(())
    }

    /// A byte that must be there, and belongs to the picture.
    fn need(&mut self, picture: &mut Vec<u8>) -> Result<u8, Fault> {
        let byte = self.byte()?.ok_or(Fault::Cut)?;
        keep(picture, &[byte])?;
        Ok(byte)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.from.fill_buf()?.first().copied();
        if byte.is_some() {
            self.from.consume(1);
            self.at += 1;
        }
        Ok(byte)
    }
}

fn keep(picture: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Fault> {
    if picture.len() + bytes.len() > LARGEST {
        return Err(Fault::TooLarge);
    }
    picture.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use tenure::image::codec;
    use tenure::{PixelFormat, Tensor};

    fn jpeg(level: u8) -> Vec<u8> {
        let picture = Tensor::<u8>::image(40, 24, PixelFormat::Rgb, None, None).unwrap();
        let mut map = picture.map().unwrap();
        for (index, byte) in map.as_mut_slice().iter_mut().enumerate() {
            *byte = level.wrapping_mul(index as u8 | 1);
        }
        drop(map);
        let mut file = vec![];
        codec::encode_jpeg(&picture, 90, &mut file).unwrap();
        file
    }

    fn all(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<Fault>) {
        let (mut pictures, mut picture) = (vec![], vec![]);
        // Few bytes at a time, so that every field is in two pieces once.
        let mut jpegs = Jpegs::new(BufReader::with_capacity(7, bytes));
        loop {
            match jpegs.next(&mut picture) {
                Ok(true) => pictures.push(picture.clone()),
                Ok(false) => return (pictures, None),
                Err(fault) => return (pictures, Some(fault)),
            }
        }
    }

    #[test]
    fn pictures_are_told_apart() {
        let files = [jpeg(1), jpeg(7), jpeg(99)];
        let (found, fault) = all(&files.concat());
        assert!(fault.is_none() && found == files);
        // Padding, and what cameras send over HTTP.
        let between = b"\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n";
        let (found, fault) = all(&[between, &files[0][..], &[0; 9], &files[1], between].concat());
        assert!(found == files[..2] && matches!(fault, Some(Fault::NoPicture)));
        assert!(matches!(all(&[0; 100]), (none, None) if none.is_empty()));
    }

    #[test]
    fn thumbnails_are_no_pictures() {
        let (small, large) = (jpeg(3), jpeg(4));
        let mut with = vec![0xff, 0xd8, 0xff, 0xe1];
        with.extend(u16::try_from(small.len() + 2).unwrap().to_be_bytes());
        with.extend(&small);
        with.extend(&large[2..]);
        let (found, fault) = all(&[&with[..], &large].concat());
        assert!(fault.is_none() && found == [with, large]);
    }

    #[test]
    fn several_of_one_scene_are_announced() {
        let mut with = vec![0xff, 0xd8, 0xff, 0xe2, 0, 6];
        with.extend(b"MPF\0");
        with.extend(&jpeg(4)[2..]);
        let (mut jpegs, mut picture) = (Jpegs::new(&with[..]), vec![]);
        assert!(jpegs.next(&mut picture).unwrap() && jpegs.announced_others());
        assert_eq!(jpegs.at(), with.len() as u64);
        assert!(!jpegs.next(&mut picture).unwrap() && !jpegs.announced_others());
    }

    #[test]
    fn damage_is_told_and_ends() {
        let file = jpeg(5);
        for end in 1..file.len() {
            let (found, fault) = all(&file[..end]);
            let cut = matches!(fault, Some(Fault::Cut | Fault::NoPicture) | None);
            assert!(found.is_empty() && cut, "{end}: {fault:?}");
        }
        // A picture that was cut by the next one.
        let (found, _) = all(&[&file[..20], &file[..]].concat());
        assert!(found.len() <= 1);
        let (_, fault) = all(&[0xff, 0xd8, 0xff, 0xe0, 0, 1]);
        assert!(matches!(fault, Some(Fault::Damaged(0xe0))), "{fault:?}");
        let (_, fault) = all(&[7; WIDEST_GAP + 2]);
        assert!(matches!(fault, Some(Fault::NoPicture)), "{fault:?}");
        // Samples without end.
        let mut endless = vec![0xff, 0xd8, 0xff, 0xda, 0, 2];
        endless.resize(LARGEST + 100, 1);
        let (mut jpegs, mut picture) = (Jpegs::new(&endless[..]), vec![]);
        assert!(matches!(jpegs.next(&mut picture), Err(Fault::TooLarge)));
    }
}
