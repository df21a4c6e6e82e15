//! What is told about a camera: who it is and what it offers, or why it gives no frames.

use serde::Serialize;

/// One `/dev/video*`.
#[derive(Debug, Default, Serialize)]
pub(in crate::info) struct Camera {
    /// Its path.
    pub(in crate::info) path: String,
    /// The camera's name.
    pub(in crate::info) name: Option<String>,
    /// Its driver.
    pub(in crate::info) driver: Option<String>,
    /// Where it is plugged in.
    pub(in crate::info) bus: Option<String>,
    /// Whether this process may use it.
    pub(in crate::info) accessible: bool,
    /// Whether frames can be had from it.
    pub(in crate::info) captures: bool,
    /// Why not, and what would help.
    pub(in crate::info) reason: Option<String>,
    /// The formats that it offers.
    pub(in crate::info) formats: Vec<Format>,
}

/// One format of a camera.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::info) struct Format {
    /// The driver's code.
    pub(in crate::info) code: String,
    /// Our word for it; `null` if frames come as bytes.
    pub(in crate::info) format: Option<&'static str>,
    /// The driver's words for it.
    pub(in crate::info) description: String,
    /// Whether frames are compressed.
    pub(in crate::info) compressed: bool,
    /// The sizes that it offers; none if it does not list them.
    pub(in crate::info) sizes: Vec<Sizes>,
}

/// Sizes of frames: one (smallest and largest are the same), or a range in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(in crate::info) struct Sizes {
    /// Smallest and largest width, and the step between widths.
    pub(in crate::info) width: Span,
    /// Smallest and largest height, and the step between heights.
    pub(in crate::info) height: Span,
}

/// Numbers of pixels from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(in crate::info) struct Span {
    pub(in crate::info) smallest: u32,
    pub(in crate::info) largest: u32,
    pub(in crate::info) step: u32,
}

impl Camera {
    /// Who it is, and why it gives no frames.
    pub(in crate::info) fn words(&self) -> String {
        let mut words = self.name.clone().unwrap_or_default();
        if let (Some(driver), Some(bus)) = (&self.driver, &self.bus) {
            words = format!("{words} ({driver}, {bus})");
        }
        match &self.reason {
            Some(reason) if words.is_empty() => reason.clone(),
            Some(reason) => format!("{words}; {reason}"),
            None => words,
        }
    }
}

/// One line for all formats that come in the same sizes.
pub(in crate::info) fn words(formats: &[Format]) -> Vec<String> {
    let mut groups: Vec<(&[Sizes], Vec<&str>)> = vec![];
    for format in formats {
        match groups.iter_mut().find(|(sizes, _)| *sizes == format.sizes) {
            Some((_, codes)) => codes.push(&format.code),
            None => groups.push((&format.sizes, vec![&format.code])),
        }
    }
    let line = |(sizes, codes): &(&[Sizes], Vec<&str>)| {
        let sizes: Vec<_> = sizes.iter().map(Sizes::words).collect();
        let sizes = if sizes.is_empty() { "any size".to_owned() } else { sizes.join(" ") };
        format!("{}: {sizes}", codes.join(" "))
    };
    groups.iter().map(line).collect()
}

impl Sizes {
    fn words(&self) -> String {
        let (width, height) = (self.width, self.height);
        let smallest = format!("{}x{}", width.smallest, height.smallest);
        let largest = format!("{}x{}", width.largest, height.largest);
        if smallest == largest { smallest } else { format!("{smallest} to {largest}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(code: &str, sizes: &[(u32, u32)]) -> Format {
        let span = |pixels| Span { smallest: pixels, largest: pixels, step: 0 };
        let sizes = sizes.iter().map(|&(w, h)| Sizes { width: span(w), height: span(h) });
        let (format, description) = (None, String::new());
        let code = code.to_owned();
        Format { code, format, description, compressed: false, sizes: sizes.collect() }
    }

    #[test]
    fn formats_of_the_same_sizes_are_one_line() {
        let two = [(640, 480), (1280, 720)];
        let mut range = format("RG10", &[(64, 64)]);
        range.sizes[0].width.largest = 4096;
        range.sizes[0].height.largest = 3072;
        let all =
            [format("YUYV", &two), format("MJPG", &[(1920, 1080)]), format("NV12", &two), range];
        assert_eq!(
            words(&all),
            ["YUYV NV12: 640x480 1280x720", "MJPG: 1920x1080", "RG10: 64x64 to 4096x3072"]
        );
        assert_eq!(words(&[format("GREY", &[])]), ["GREY: any size"]);
        assert!(words(&[]).is_empty());
    }

    #[test]
    fn a_camera_out_of_reach_says_why() {
        let name = Some("ov5640".to_owned());
        let reason = Some("permission denied".to_owned());
        let camera = Camera { name, reason, ..Camera::default() };
        assert_eq!(camera.words(), "ov5640; permission denied");
        let who = Camera {
            driver: Some("uvcvideo".to_owned()),
            bus: Some("usb-1".to_owned()),
            reason: None,
            ..camera
        };
        assert_eq!(who.words(), "ov5640 (uvcvideo, usb-1)");
    }
}
