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
    /// The same of ten bits and full range, in units of their upper eight: white is 1023/4, and not
    /// 255. Codes of limited range are those of eight bits, and two bits more.
    Ten(Colour),
    /// Luma alone, with these shares of red, green and blue and this range.
    Grey(Colour),
}

impl Model {
    /// What an image of this format holds; without a colour, as JPEG has them.
    pub(crate) fn of(format: PixelFormat, colour: Option<Colour>) -> Model {
        let colour = colour.unwrap_or(Colour::JPEG);
        match format {
            PixelFormat::Grey => Model::Grey(colour),
            PixelFormat::P010 if colour.range == ColourRange::Full => Model::Ten(colour),
            _ if format.is_yuv() => Model::Yuv(colour),
            _ => Model::Rgb,
        }
    }
}

/// Code of black, and codes from black to white and across all of chroma.
type Codes = (f64, f64, f64);

/// Those of ten bits and full range.
const TEN: Codes = (0.0, 1023.0 / 4.0, 1023.0 / 4.0);

/// The shares of red, green and blue in luma.
fn luma_shares(matrix: ColourMatrix) -> [f64; 3] {
    let (red, blue) = match matrix {
        ColourMatrix::Bt601 => (0.299, 0.114),
        ColourMatrix::Bt709 => (0.2126, 0.0722),
        ColourMatrix::Bt2020 => (0.2627, 0.0593),
    };
    [red, 1.0 - red - blue, blue]
}

fn codes(range: ColourRange) -> Codes {
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
        use Model::{Grey, Rgb, Ten, Yuv};
        match (from, to) {
            _ if from == to => Matrix::IDENTITY,
            (Rgb, Rgb) => Matrix::IDENTITY,
            (Ten(own), _) => {
                Matrix::between(Yuv(own), to).after(&Matrix::recoded(TEN, codes(own.range)))
            }
            (_, Ten(own)) => {
                Matrix::recoded(codes(own.range), TEN).after(&Matrix::between(from, Yuv(own)))
            }
            (Rgb, Yuv(own) | Grey(own)) => Matrix::to_yuv(own),
            (Yuv(own), Rgb) => Matrix::to_rgb(own),
            // Grey is luma whose chroma is in the middle.
            (Grey(own), Rgb) => Matrix::to_rgb(own).of_luma(),
            (Grey(own), Grey(other)) if own.range == other.range => Matrix::IDENTITY,
            (Grey(own), Yuv(other) | Grey(other)) | (Yuv(own), Grey(other)) => {
                let Matrix { rows, offset } = Matrix::recoded(codes(own.range), codes(other.range));
                Matrix { rows: [rows[0], [0.0; 3], [0.0; 3]], offset: [offset[0], 128.0, 128.0] }
            }
            (Yuv(own), Yuv(other)) if own.matrix == other.matrix => {
                Matrix::recoded(codes(own.range), codes(other.range))
            }
            (Yuv(own), Yuv(other)) => Matrix::to_yuv(other).after(&Matrix::to_rgb(own)),
        }
    }

    /// Luma and chroma in other codes.
    fn recoded((black, luma, chroma): Codes, (to_black, to_luma, to_chroma): Codes) -> Matrix {
        let (y, c) = (to_luma / luma, to_chroma / chroma);
        let middle = 128.0 - c * 128.0;
        Matrix {
            rows: [[y, 0.0, 0.0], [0.0, c, 0.0], [0.0, 0.0, c]],
            offset: [to_black - y * black, middle, middle],
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
        let limited = Model::Yuv(Colour::HD);
        let grey = Model::Grey(Colour::JPEG);
        assert!((Matrix::between(limited, grey).apply([235.0, 1.0, 2.0])[0] - 255.0).abs() < 1e-9);
        assert!(close(Matrix::between(grey, Model::Rgb).apply([77.0, 0.0, 0.0]), [77.0; 3]));
        assert!((Matrix::between(Model::Rgb, grey).apply([50.0; 3])[0] - 50.0).abs() < 1e-9);
        // Of green, grey has the share that its own matrix gives it.
        let green = Matrix::between(Model::Rgb, Model::Grey(Colour::HD)).apply([0.0, 255.0, 0.0]);
        assert!((green[0] - (16.0 + 219.0 * 0.7152)).abs() < 1e-9, "{green:?}");
        let other = Model::Grey(Colour { matrix: ColourMatrix::Bt2020, ..Colour::JPEG });
        assert_eq!(Matrix::between(grey, other), Matrix::IDENTITY);
    }

    #[test]
    fn ten_bits_of_full_range_end_with_1023() {
        let ten = Model::of(PixelFormat::P010, Some(Colour::JPEG));
        let white = [1023.0 / 4.0, 512.0 / 4.0, 512.0 / 4.0];
        assert!(close(Matrix::between(ten, Model::Rgb).apply(white), [255.0; 3]));
        let grey = [512.0 / 4.0, 128.0, 128.0];
        let exact = 512.0 * 255.0 / 1023.0;
        assert!(close(Matrix::between(ten, Model::Rgb).apply(grey), [exact; 3]));
        let eight = Matrix::between(ten, Model::Yuv(Colour::JPEG));
        assert!(close(eight.apply(white), [255.0, 128.0, 128.0]));
        // Limited range is eight bits and two more.
        let limited = Model::of(PixelFormat::P010, Some(Colour::HD));
        assert_eq!(limited, Model::Yuv(Colour::HD));
    }
}
