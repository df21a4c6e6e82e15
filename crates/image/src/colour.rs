//! Matrices between what is stored and what is wanted, in 8-bit units.

use tenure_layout::{Colour, ColourMatrix, ColourRange, PixelFormat};

/// `out[i] = sum(rows[i][j] * in[j]) + offset[i]`, all in units of 8-bit codes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: [[f64; 3]; 3],
    pub(crate) offset: [f64; 3],
}

/// What the components of a picture mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Rgb,
    /// Luma and chroma with this matrix and range.
    Yuv(Colour),
    /// Luma alone.
    Grey(ColourRange),
}

impl Model {
    /// What an image of this format holds.
    pub(crate) fn of(format: PixelFormat, colour: Option<Colour>) -> Model {
        match format {
            PixelFormat::Grey => Model::Grey(colour.map_or(ColourRange::Full, |c| c.range)),
            _ if format.is_yuv() => Model::Yuv(colour.unwrap_or(Colour::JPEG)),
            _ => Model::Rgb,
        }
    }
}

/// The shares of red, green and blue in luma.
fn luma_shares(matrix: ColourMatrix) -> [f64; 3] {
    let (red, blue) = match matrix {
        ColourMatrix::Bt601 => (0.299, 0.114),
        ColourMatrix::Bt709 => (0.2126, 0.0722),
        ColourMatrix::Bt2020 => (0.2627, 0.0593),
    };
    [red, 1.0 - red - blue, blue]
}

/// Code of black, and codes from black to white and across all of chroma.
fn codes(range: ColourRange) -> (f64, f64, f64) {
    match range {
        ColourRange::Full => (0.0, 255.0, 255.0),
        ColourRange::Limited => (16.0, 219.0, 224.0),
    }
}

impl Matrix {
    pub(crate) const IDENTITY: Matrix =
        Matrix { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], offset: [0.0; 3] };

    /// From luma and chroma to full-range red, green and blue.
    pub(crate) fn to_rgb(colour: Colour) -> Matrix {
        let [red, green, blue] = luma_shares(colour.matrix);
        let (black, luma, chroma) = codes(colour.range);
        let (y, c) = (255.0 / luma, 255.0 / chroma);
        let (v_red, u_blue) = (2.0 * (1.0 - red) * c, 2.0 * (1.0 - blue) * c);
        let (u_green, v_green) = (-u_blue * blue / green, -v_red * red / green);
        let rows = [[y, 0.0, v_red], [y, u_green, v_green], [y, u_blue, 0.0]];
        let offset = rows.map(|[y, u, v]| -y * black - 128.0 * (u + v));
        Matrix { rows, offset }
    }

    /// From full-range red, green and blue to luma and chroma.
    pub(crate) fn to_yuv(colour: Colour) -> Matrix {
        let shares = luma_shares(colour.matrix);
        let (black, luma, chroma) = codes(colour.range);
        let (y, c) = (luma / 255.0, chroma / 255.0);
        let difference = |channel: usize| {
            let over = 2.0 * (1.0 - shares[channel]) / c;
            let own = |other: usize| if other == channel { 1.0 } else { 0.0 };
            std::array::from_fn(|other| (own(other) - shares[other]) / over)
        };
        Matrix {
            rows: [shares.map(|share| share * y), difference(2), difference(0)],
            offset: [black, 128.0, 128.0],
        }
    }

    /// From one picture's components to another's. A model with one component uses the first
    /// column, or gives the first row.
    pub(crate) fn between(from: Model, to: Model) -> Matrix {
        let grey = |range| Colour { matrix: ColourMatrix::Bt601, range };
        match (from, to) {
            _ if from == to => Matrix::IDENTITY,
            (Model::Rgb, Model::Yuv(colour)) => Matrix::to_yuv(colour),
            (Model::Yuv(colour), Model::Rgb) => Matrix::to_rgb(colour),
            (Model::Rgb, Model::Grey(range)) => Matrix::to_yuv(grey(range)),
            // Grey is luma whose chroma is in the middle.
            (Model::Grey(range), Model::Rgb) => Matrix::to_rgb(grey(range)).of_luma(),
            (Model::Grey(range), to) => Matrix::luma_between(range, to.range()),
            (Model::Yuv(colour), Model::Grey(range)) => Matrix::luma_between(colour.range, range),
            (Model::Yuv(one), Model::Yuv(other)) => {
                Matrix::to_yuv(other).after(&Matrix::to_rgb(one))
            }
            (Model::Rgb, Model::Rgb) => Matrix::IDENTITY,
        }
    }

    /// Luma from one range to another; chroma is none.
    fn luma_between(from: ColourRange, to: ColourRange) -> Matrix {
        let ((black, luma, _), (to_black, to_luma, _)) = (codes(from), codes(to));
        let y = to_luma / luma;
        Matrix {
            rows: [[y, 0.0, 0.0], [0.0; 3], [0.0; 3]],
            offset: [to_black - y * black, 128.0, 128.0],
        }
    }

    /// The same with chroma held in the middle.
    fn of_luma(self) -> Matrix {
        let offset = std::array::from_fn(|row| {
            let [_, u, v] = self.rows[row];
            self.offset[row] + 128.0 * (u + v)
        });
        Matrix { rows: self.rows.map(|[y, _, _]| [y, 0.0, 0.0]), offset }
    }

    /// First `first`, then this.
    fn after(&self, first: &Matrix) -> Matrix {
        let rows = self.rows.map(|row| {
            std::array::from_fn(|column| (0..3).map(|k| row[k] * first.rows[k][column]).sum())
        });
        Matrix { rows, offset: self.apply(first.offset) }
    }

    pub(crate) fn apply(&self, value: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|row| {
            let terms = self.rows[row].iter().zip(value).map(|(factor, value)| factor * value);
            terms.sum::<f64>() + self.offset[row]
        })
    }
}

impl Model {
    fn range(self) -> ColourRange {
        match self {
            Model::Rgb => ColourRange::Full,
            Model::Yuv(colour) => colour.range,
            Model::Grey(range) => range,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: [f64; 3], other: [f64; 3]) -> bool {
        one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn white_black_and_the_way_back() {
        for code in 0..6 {
            let colour = Colour::from_code(code).unwrap();
            let (there, back) = (Matrix::to_yuv(colour), Matrix::to_rgb(colour));
            let (black, luma, _) = codes(colour.range);
            assert!(close(back.apply([black + luma, 128.0, 128.0]), [255.0; 3]), "{colour}");
            assert!(close(there.apply([0.0; 3]), [black, 128.0, 128.0]), "{colour}");
            for rgb in [[255.0, 0.0, 0.0], [12.0, 200.0, 99.0]] {
                assert!(close(back.apply(there.apply(rgb)), rgb), "{colour} {rgb:?}");
            }
        }
    }

    #[test]
    fn the_numbers_of_the_standard() {
        let hd = Matrix::to_rgb(Colour::HD);
        assert!(
            (hd.rows[0][2] - 1.792_741).abs() < 1e-5 && (hd.rows[2][1] - 2.112_402).abs() < 1e-5
        );
        let jpeg = Matrix::to_rgb(Colour::JPEG);
        assert!(
            (jpeg.rows[0][2] - 1.402).abs() < 1e-9 && (jpeg.rows[1][1] + 0.344_136).abs() < 1e-5
        );
    }

    #[test]
    fn grey_is_luma() {
        let limited =
            Model::Yuv(Colour { matrix: ColourMatrix::Bt709, range: ColourRange::Limited });
        let grey = Model::Grey(ColourRange::Full);
        assert!((Matrix::between(limited, grey).apply([235.0, 1.0, 2.0])[0] - 255.0).abs() < 1e-9);
        assert!(close(Matrix::between(grey, Model::Rgb).apply([77.0, 0.0, 0.0]), [77.0; 3]));
        assert!((Matrix::between(Model::Rgb, grey).apply([50.0; 3])[0] - 50.0).abs() < 1e-9);
    }
}
