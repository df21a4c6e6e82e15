//! Where the components of a format lie: plane, first element, distance, subsampling.

use tenure_layout::PixelFormat;

/// One component of a format: red, or luma, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    pub(crate) plane: usize,
    /// Element of the row that the first sample is at.
    pub(crate) first: usize,
    /// Elements from one sample to the next.
    pub(crate) step: usize,
    /// Pixels across that share a sample.
    pub(crate) across: usize,
    /// Pixels down that share a sample.
    pub(crate) down: usize,
}

const fn full(plane: usize, first: usize, step: usize) -> Component {
    Component { plane, first, step, across: 1, down: 1 }
}

const fn shared(plane: usize, first: usize, step: usize, across: usize, down: usize) -> Component {
    Component { plane, first, step, across, down }
}

const LUMA: Component = full(0, 0, 1);

/// The components of a format: red, green, blue and alpha; or luma and chroma; or luma.
pub(crate) const fn components(format: PixelFormat) -> &'static [Component] {
    match format {
        PixelFormat::Rgb => const { &[full(0, 0, 3), full(0, 1, 3), full(0, 2, 3)] },
        PixelFormat::Bgr => const { &[full(0, 2, 3), full(0, 1, 3), full(0, 0, 3)] },
        PixelFormat::Rgba => {
            const { &[full(0, 0, 4), full(0, 1, 4), full(0, 2, 4), full(0, 3, 4)] }
        }
        PixelFormat::Bgra => {
            const { &[full(0, 2, 4), full(0, 1, 4), full(0, 0, 4), full(0, 3, 4)] }
        }
        PixelFormat::Grey => const { &[LUMA] },
        PixelFormat::Yuyv => {
            const { &[full(0, 0, 2), shared(0, 1, 4, 2, 1), shared(0, 3, 4, 2, 1)] }
        }
        PixelFormat::Uyvy => {
            const { &[full(0, 1, 2), shared(0, 0, 4, 2, 1), shared(0, 2, 4, 2, 1)] }
        }
        PixelFormat::Nv12 | PixelFormat::P010 => {
            const { &[LUMA, shared(1, 0, 2, 2, 2), shared(1, 1, 2, 2, 2)] }
        }
        PixelFormat::Nv21 => const { &[LUMA, shared(1, 1, 2, 2, 2), shared(1, 0, 2, 2, 2)] },
        PixelFormat::Nv16 => const { &[LUMA, shared(1, 0, 2, 2, 1), shared(1, 1, 2, 2, 1)] },
        PixelFormat::Nv24 => const { &[LUMA, full(1, 0, 2), full(1, 1, 2)] },
        PixelFormat::I420 => const { &[LUMA, shared(1, 0, 1, 2, 2), shared(2, 0, 1, 2, 2)] },
        PixelFormat::PlanarRgb => const { &[full(0, 0, 1), full(1, 0, 1), full(2, 0, 1)] },
        PixelFormat::PlanarRgba => {
            const { &[full(0, 0, 1), full(1, 0, 1), full(2, 0, 1), full(3, 0, 1)] }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_lie_inside_their_planes() {
        for format in PixelFormat::all() {
            let planes = format.planes();
            for component in components(format) {
                let plane = planes[component.plane];
                assert!(component.first < plane.elements, "{format}");
                assert_eq!(plane.vertical, component.down, "{format}");
                // A plane's group is as many pixels as its samples span.
                let samples = plane.elements / component.step.min(plane.elements);
                assert_eq!(plane.horizontal, component.across * samples.max(1), "{format}");
            }
            assert_eq!(components(format).len(), format.channels().max(1), "{format}");
        }
    }
}
