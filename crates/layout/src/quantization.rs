//! How stored integers mean real numbers: `real = scale * (stored - zero_point)`.

use crate::{Error, Result};

/// Zero points of a quantisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZeroPoints<'a> {
    /// All zero: a symmetric quantisation.
    Symmetric,
    /// One for each scale.
    Each(&'a [i32]),
}

/// Scale and zero point, for the whole tensor or for each index of one axis.
///
/// ```
/// use tenure_layout::Quantization;
/// let q = Quantization::per_tensor(0.5, 128)?;
/// assert_eq!(q.dequantize(130, 0), 1.0);
/// let per_axis = Quantization::per_axis(vec![0.1, 0.2, 0.3], vec![], 0)?;
/// assert!(per_axis.check_shape(&[3, 224, 224]).is_ok());
/// assert!(per_axis.check_shape(&[4, 224, 224]).is_err());
/// # Ok::<(), tenure_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Quantization {
    scales: Vec<f32>,
    /// Empty if all are zero (symmetric), otherwise as many as scales: equal meanings are equal.
    zero_points: Vec<i32>,
    axis: Option<usize>,
}

impl Quantization {
    /// One scale and one zero point for all elements.
    ///
    /// # Errors
    /// If `scale` is not a finite number above zero.
    pub fn per_tensor(scale: f32, zero_point: i32) -> Result<Quantization> {
        Quantization { scales: vec![scale], zero_points: vec![zero_point], axis: None }.checked()
    }

    /// One scale for each index of `axis`; zero points likewise, or none for all zero.
    ///
    /// # Errors
    /// If there are no scales, a scale is not a finite number above zero, or the zero points are
    /// neither none nor as many as the scales.
    pub fn per_axis(scales: Vec<f32>, zero_points: Vec<i32>, axis: usize) -> Result<Quantization> {
        Quantization { scales, zero_points, axis: Some(axis) }.checked()
    }

    fn checked(self) -> Result<Quantization> {
        let (axis, scales) = (self.axis, self.scales.len());
        if scales == 0 {
            return Err(Error::from(crate::detail::QuantizationCount {
                what: "scales",
                given: 0,
                expected: 1,
                axis,
            }));
        }
        let zero_points = self.zero_points.len();
        if zero_points != 0 && zero_points != scales {
            let what = "zero points";
            return Err(Error::from(crate::detail::QuantizationCount {
                what,
                given: zero_points,
                expected: scales,
                axis,
            }));
        }
        for (index, &scale) in self.scales.iter().enumerate() {
            if !(scale.is_finite() && scale > 0.0) {
                return Err(Error::QuantizationScale { scale, index });
            }
        }
        Ok(self.plain())
    }

    /// Zero points that are all zero are left out.
    fn plain(mut self) -> Quantization {
        if self.zero_points.iter().all(|zero_point| *zero_point == 0) {
            self.zero_points.clear();
        }
        self
    }

    /// Checks that a tensor of this shape can carry the quantisation.
    ///
    /// # Errors
    /// If the axis does not exist or has another length than there are scales.
    pub fn check_shape(&self, shape: &[usize]) -> Result<()> {
        let Some(axis) = self.axis else { return Ok(()) };
        let &expected = shape.get(axis).ok_or(Error::NoSuchAxis { axis, rank: shape.len() })?;
        let given = self.scales.len();
        if given == expected {
            Ok(())
        } else {
            Err(Error::from(crate::detail::QuantizationCount {
                what: "scales",
                given,
                expected,
                axis: Some(axis),
            }))
        }
    }

    /// The scales: one, or one for each index of the axis.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The zero points.
    pub fn zero_points(&self) -> ZeroPoints<'_> {
        if self.zero_points.is_empty() {
            ZeroPoints::Symmetric
        } else {
            ZeroPoints::Each(&self.zero_points)
        }
    }

    /// The axis whose indices have scales of their own, if there is one.
    pub fn axis(&self) -> Option<usize> {
        self.axis
    }

    /// The same quantisation for the indices `start..start + len` (every `step`th) of its axis.
    pub(crate) fn sliced(&self, start: usize, len: usize, step: usize) -> Quantization {
        let pick = |n: usize| start + n * step;
        Quantization {
            scales: (0..len).filter_map(|n| self.scales.get(pick(n)).copied()).collect(),
            zero_points: (0..len).filter_map(|n| self.zero_points.get(pick(n)).copied()).collect(),
            axis: self.axis,
        }
        .plain()
    }

    /// What is left of the quantisation when `axis` is cut to a range of indices.
    pub fn after_slice(&self, axis: usize, start: usize, len: usize, step: usize) -> Quantization {
        if self.axis == Some(axis) { self.sliced(start, len, step) } else { self.clone() }
    }

    /// What is left of the quantisation when one index of `axis` is taken and the axis removed.
    pub fn after_index(&self, axis: usize, index: usize) -> Quantization {
        match self.axis {
            Some(own) if own == axis => Quantization { axis: None, ..self.sliced(index, 1, 1) },
            Some(own) if own > axis => Quantization { axis: Some(own - 1), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// The same quantisation with its axis renamed by `rename` (after a permutation, say).
    pub fn with_axis_renamed(&self, rename: impl FnOnce(usize) -> usize) -> Quantization {
        Quantization { axis: self.axis.map(rename), ..self.clone() }
    }

    /// The real number that `stored` means at `index` of the axis (any index if per tensor).
    pub fn dequantize(&self, stored: i32, index: usize) -> f32 {
        let at = if self.axis.is_some() { index } else { 0 };
        let scale = self.scales.get(at).copied().unwrap_or(f32::NAN);
        let zero = self.zero_points.get(at).copied().unwrap_or(0);
        scale * (f64::from(stored) - f64::from(zero)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be() {
        assert!(Quantization::per_tensor(0.0, 0).is_err());
        assert!(Quantization::per_tensor(f32::NAN, 0).is_err());
        assert!(Quantization::per_axis(vec![], vec![], 0).is_err());
        assert!(Quantization::per_axis(vec![1.0, 2.0], vec![1], 0).is_err());
        let q = Quantization::per_axis(vec![1.0, 2.0], vec![], 3).unwrap();
        assert!(matches!(q.check_shape(&[2]), Err(Error::NoSuchAxis { axis: 3, rank: 1 })));
    }

    #[test]
    fn equal_meanings_are_equal() {
        let given = Quantization::per_axis(vec![1.0, 2.0], vec![0, 0], 0).unwrap();
        assert_eq!(given, Quantization::per_axis(vec![1.0, 2.0], vec![], 0).unwrap());
        assert_eq!(given.zero_points(), ZeroPoints::Symmetric);
        let mixed = Quantization::per_axis(vec![1.0, 2.0], vec![0, 5], 0).unwrap();
        assert_eq!(mixed.after_index(0, 0), Quantization::per_tensor(1.0, 0).unwrap());
        assert_eq!(mixed.after_slice(0, 0, 1, 1).zero_points(), ZeroPoints::Symmetric);
    }

    #[test]
    fn follows_views() {
        let q = Quantization::per_axis(vec![1.0, 2.0, 3.0, 4.0], vec![1, 2, 3, 4], 1).unwrap();
        assert_eq!(q.after_slice(1, 1, 2, 2).scales(), &[2.0, 4.0]);
        assert_eq!(q.after_slice(0, 1, 2, 2), q);
        let one = q.after_index(1, 2);
        assert_eq!((one.scales(), one.axis()), (&[3.0][..], None));
        assert_eq!(one.zero_points(), ZeroPoints::Each(&[3]));
        assert_eq!(q.after_index(0, 0).axis(), Some(0));
        assert_eq!(one.dequantize(5, 9), 6.0);
    }
}
