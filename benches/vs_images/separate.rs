//! How it is done with the fastest crate for each step: `yuv` for colour, `fast_image_resize` for
//! size, plain loops for the rest. Buffers are kept between frames.

use fast_image_resize::images::{CroppedImageMut, Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use half::f16;
use tenure::image::{Filter, Normalize};
use tenure::{DType, PixelFormat};
use yuv::{
    YuvBiPlanarImage, YuvConversionMode, YuvPackedImage, YuvRange, YuvStandardMatrix,
    yuv_nv12_to_rgb, yuyv422_to_rgb,
};

use crate::Task;

pub(crate) struct Separate<'a> {
    task: &'a Task,
    frame: &'a [u8],
    resizer: Resizer,
    /// The frame in red, green and blue, full size.
    rgb: Vec<u8>,
    /// The letterboxed picture.
    small: Image<'static>,
    /// What a reduction from four channels leaves.
    packed: Vec<u8>,
    bytes: Vec<u8>,
    floats: Vec<f32>,
    halves: Vec<f16>,
}

impl<'a> Separate<'a> {
    pub(crate) fn new(task: &'a Task, frame: &'a [u8]) -> Separate<'a> {
        let (width, height) = task.size;
        let (to_width, to_height) = task.to;
        let pixels = to_width * to_height * 3;
        let kind = if task.source == PixelFormat::Rgba { PixelType::U8x4 } else { PixelType::U8x3 };
        let small = Image::new(to_width as u32, to_height as u32, kind);
        Separate {
            task,
            frame,
            resizer: Resizer::new(),
            rgb: vec![0; width * height * 3],
            small,
            packed: vec![0; pixels],
            bytes: vec![0; pixels],
            floats: vec![0.0; pixels],
            halves: vec![f16::ZERO; pixels],
        }
    }

    pub(crate) fn run(&mut self) -> bool {
        let colour = self.colour();
        let same = self.task.size == self.task.to;
        let resized = colour && (same || self.resize());
        let picture: &[u8] = if same { &self.rgb } else { self.small.buffer() };
        let picture = if self.task.source == PixelFormat::Rgba {
            for (to, from) in self.packed.chunks_exact_mut(3).zip(picture.chunks_exact(4)) {
                to.copy_from_slice(&from[..3]);
            }
            &self.packed
        } else {
            picture
        };
        let Normalize { scale, mean, std, .. } =
            if self.task.imagenet { Normalize::IMAGENET } else { Normalize::scale(1.0 / 255.0) };
        let multiply = std.map(|std| scale / std);
        let add: [f32; 3] = std::array::from_fn(|channel| -mean[channel] / std[channel]);
        let float = |channel: usize, byte: u8| f32::from(byte) * multiply[channel] + add[channel];
        if self.task.target == PixelFormat::PlanarRgb {
            match self.task.dtype {
                DType::F32 => split(picture, &mut self.floats, float),
                DType::F16 => split(picture, &mut self.halves, |channel, byte| {
                    f16::from_f32(float(channel, byte))
                }),
                _ => split(picture, &mut self.bytes, |_, byte| byte),
            }
        }
        resized
    }

    fn colour(&mut self) -> bool {
        let (width, height) = (self.task.size.0 as u32, self.task.size.1 as u32);
        let (range, matrix) = (YuvRange::Limited, YuvStandardMatrix::Bt709);
        match self.task.source {
            PixelFormat::Nv12 => {
                let (y_plane, uv_plane) = self.frame.split_at(self.task.size.0 * self.task.size.1);
                let image = YuvBiPlanarImage {
                    y_plane,
                    y_stride: width,
                    uv_plane,
                    uv_stride: width,
                    width,
                    height,
                };
                let mode = YuvConversionMode::Balanced;
                yuv_nv12_to_rgb(&image, &mut self.rgb, 3 * width, range, matrix, mode).is_ok()
            }
            PixelFormat::Yuyv => {
                let image =
                    YuvPackedImage { yuy: self.frame, yuy_stride: 2 * width, width, height };
                yuyv422_to_rgb(&image, &mut self.rgb, 3 * width, range, matrix).is_ok()
            }
            _ => true,
        }
    }

    fn resize(&mut self) -> bool {
        let (width, height) = (self.task.size.0 as u32, self.task.size.1 as u32);
        let (from, kind) = match self.task.source {
            PixelFormat::Rgba => (self.frame, PixelType::U8x4),
            _ => (&self.rgb[..], PixelType::U8x3),
        };
        let Ok(source) = ImageRef::new(width, height, from, kind) else { return false };
        let (left, top, w, h) = self.task.content();
        // What the picture does not cover; nobody knows what was there before.
        let row = self.task.to.0 * kind.size();
        let (above, below) = (top * row, (top + h) * row);
        let square = self.small.buffer_mut();
        square[..above].fill(114);
        square[below..].fill(114);
        let place = (left as u32, top as u32, w as u32, h as u32);
        let Ok(mut into) =
            CroppedImageMut::new(&mut self.small, place.0, place.1, place.2, place.3)
        else {
            return false;
        };
        let algorithm = match self.task.filter {
            Filter::Bilinear => ResizeAlg::Interpolation(FilterType::Bilinear),
            Filter::Bicubic => ResizeAlg::Convolution(FilterType::CatmullRom),
            Filter::Lanczos3 => ResizeAlg::Convolution(FilterType::Lanczos3),
            _ => ResizeAlg::Convolution(FilterType::Bilinear),
        };
        let options = ResizeOptions::new().resize_alg(algorithm).use_alpha(false);
        self.resizer.resize(&source, &mut into, &options).is_ok()
    }
}

/// Packed pixels as three planes.
fn split<T>(picture: &[u8], planes: &mut [T], convert: impl Fn(usize, u8) -> T) {
    let pixels = picture.len() / 3;
    let (red, rest) = planes.split_at_mut(pixels);
    let (green, blue) = rest.split_at_mut(pixels);
    let planes = red.iter_mut().zip(green).zip(blue);
    for (((red, green), blue), pixel) in planes.zip(picture.chunks_exact(3)) {
        *red = convert(0, pixel[0]);
        *green = convert(1, pixel[1]);
        *blue = convert(2, pixel[2]);
    }
}
