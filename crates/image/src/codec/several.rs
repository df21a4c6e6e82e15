//! Whether a JPEG file goes on after its first picture: motion JPEG, of which decoders take one
//! picture and say nothing.

const FILL: u8 = 0xff;
const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const APP2: u8 = 0xe2;

/// Whether another picture begins where the first one of a JPEG file ends. Files of cameras and
/// phones that announce further pictures of the same scene (previews, depth) have one picture.
///
/// ```
/// use tenure_image::codec;
/// use tenure_tensor::{PixelFormat, Tensor};
///
/// let picture = Tensor::<u8>::image(16, 16, PixelFormat::Grey, None, None)?;
/// let mut file = vec![];
/// codec::encode_jpeg(&picture, 90, &mut file)?;
/// assert!(!codec::more_follow(&file));
/// assert!(codec::more_follow(&[file.clone(), file].concat()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn more_follow(bytes: &[u8]) -> bool {
    let Some(after) = after_first(bytes) else { return false };
    let padding = after.iter().take_while(|byte| **byte == 0).count();
    after.get(padding..).is_some_and(|next| next.starts_with(&[FILL, SOI, FILL]))
}

/// What comes after the first picture; `None` if that has no end, or announced it.
fn after_first(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(&[FILL, SOI])?;
    loop {
        rest = rest.strip_prefix(&[FILL])?;
        let fill = rest.iter().take_while(|byte| **byte == FILL).count();
        let (marker, after) = rest.get(fill..)?.split_first()?;
        match *marker {
            EOI => return Some(after),
            0x01 | 0xd0..=0xd7 => rest = after,
            marker => {
                let length = usize::from(u16::from_be_bytes(*after.first_chunk::<2>()?));
                let (segment, after) = after.split_at_checked(length)?;
                if marker == APP2 && segment.get(2..)?.starts_with(b"MPF\0") {
                    return None;
                }
                rest = if marker == SOS { after_samples(after)? } else { after };
            }
        }
    }
}

/// From the next marker on that is not part of a scan.
fn after_samples(bytes: &[u8]) -> Option<&[u8]> {
    let is_end =
        |pair: &[u8]| matches!(pair, [FILL, marker] if !matches!(marker, 0 | 0xd0..=0xd7 | &FILL));
    bytes.get(bytes.windows(2).position(is_end)?..)
}

#[cfg(test)]
mod tests {
    use tenure_tensor::{PixelFormat, Tensor};

    use super::*;
    use crate::codec::encode_jpeg;

    #[test]
    fn what_follows_is_seen_and_nothing_else() {
        let picture = Tensor::<u8>::image(40, 24, PixelFormat::Rgb, None, None).unwrap();
        picture.map().unwrap().as_mut_slice().iter_mut().enumerate().for_each(|(at, byte)| {
            *byte = (at * 37 % 251) as u8;
        });
        let mut file = vec![];
        encode_jpeg(&picture, 90, &mut file).unwrap();
        assert!(!more_follow(&file));
        assert!(!more_follow(&[&file[..], &[0; 100]].concat()));
        assert!(more_follow(&[&file[..], &[0; 100], &file].concat()));
        assert!(more_follow(&[&file[..], &file, &file].concat()));
        // A thumbnail inside, and pictures that the first one announced.
        let with = |segment: &[u8]| [&file[..2], segment, &file[2..], &file].concat();
        assert!(more_follow(&with(b"\xff\xe1\x00\x08\xff\xd8\xff\xd9\xff\xd8")));
        assert!(!more_follow(&with(b"\xff\xe2\x00\x06MPF\0")));
        // Cut off anywhere, or nothing of the kind.
        let twice = [&file[..], &file].concat();
        for end in 0..twice.len() {
            assert_eq!(more_follow(&twice[..end]), end >= file.len() + 3, "{end}");
        }
        assert!(!more_follow(b"\x89PNG\r\n\x1a\n"));
    }
}
