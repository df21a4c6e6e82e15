//! How much CPU time a conversion with OpenGL costs, in the whole process: the driver's threads
//! included. `cargo test --release -p tenure-image --features gl --test gl_time -- --ignored --nocapture`
#![cfg(all(target_os = "linux", feature = "gl"))]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_image::Normalize;
use tenure_image::{Convert, EngineKind, Filter, Fit, ImageProcessor};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::TensorMemory;

fn spent() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[test]
#[ignore = "a measurement"]
fn cpu_time_of_the_first_row() {
    let config = ImageProcessor::builder().engines(vec![EngineKind::Gl]).threads(1);
    let processor = config.build().unwrap();
    for memory in [TensorMemory::Mem, TensorMemory::Pbo] {
        for filter in [Filter::Bilinear, Filter::Antialiased] {
            for (format, dtype) in [
                (PixelFormat::Rgb, DType::U8),
                (PixelFormat::Rgba, DType::U8),
                (PixelFormat::PlanarRgb, DType::U8),
                (PixelFormat::PlanarRgb, DType::F32),
            ] {
                let image = |width, height, format, dtype| {
                    processor.create_image(width, height, format, dtype, Some(memory)).unwrap()
                };
                let frame = image(1920, 1080, PixelFormat::Nv12, DType::U8);
                frame.map().unwrap().as_mut_slice().fill(77);
                let input = image(640, 640, format, dtype);
                let mut letterbox = Convert::new().fit(Fit::letterbox(114)).filter(filter);
                if dtype == DType::F32 {
                    letterbox = letterbox.normalize(Normalize::scale(1.0 / 255.0));
                }
                let mut times: Vec<Duration> = (0..30)
                    .map(|_| {
                        let before = spent();
                        processor.convert(&frame, &input, &letterbox).unwrap();
                        spent() - before
                    })
                    .collect();
                times.sort();
                let [least, median] = [0, 15].map(|at| times[at].as_secs_f64() * 1e3);
                println!("{memory} {format} {dtype} {filter}: {median:.2} ms, at least {least:.2}");
            }
        }
    }
}
