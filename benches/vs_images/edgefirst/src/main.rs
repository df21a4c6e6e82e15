//! Camera frames to model inputs by edgefirst-image. Answers each line,
//! `ENGINE MEMORY SOURCE WIDTH HEIGHT TARGET DTYPE TO_WIDTH TO_HEIGHT`, with the nanoseconds that one
//! frame takes: of processor time of all threads, those of an OpenGL driver in software included.
//!
//!     cargo build --release
//!     TENURE_EDGEFIRST=target/release/tenure-bench-edgefirst cargo bench --bench vs_images

use std::collections::HashMap;
use std::error::Error;
use std::io::{Write, stdin, stdout};

use edgefirst_image::{
    ComputeBackend, ConvertOptions, ImageProcessor, ImageProcessorConfig, ImageProcessorTrait,
};
use edgefirst_tensor::{
    ColorEncoding, ColorRange, Colorimetry, CpuAccess, DType, PixelFormat, TensorDyn,
    TensorMapTrait, TensorMemory, TensorTrait,
};
use rustix::time::{ClockId, clock_gettime};

/// Frames of one measurement.
const FRAMES: u32 = 8;

/// What one line asks for, ready to be done again.
struct Task {
    processor: ImageProcessor,
    source: TensorDyn,
    target: TensorDyn,
}

impl Task {
    fn new(line: &str) -> Result<Task, Box<dyn Error>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [engine, memory, source, width, height, target, dtype, to_width, to_height] = words[..]
        else {
            return Err(format!("nine words, not {line:?}").into());
        };
        let backend = match engine {
            "cpu" => ComputeBackend::Cpu,
            "gl" => ComputeBackend::OpenGl,
            other => return Err(format!("no engine {other}").into()),
        };
        let memory = match memory {
            "plain" => Some(TensorMemory::Mem),
            "own" => None,
            other => return Err(format!("no memory {other}").into()),
        };
        let config = ImageProcessorConfig { backend, ..Default::default() };
        let processor = ImageProcessor::with_config(config)?;
        if backend == ComputeBackend::OpenGl && processor.opengl.is_none() {
            return Err("no OpenGL here".into());
        }
        let image = |width: &str, height: &str, format, dtype| -> Result<_, Box<dyn Error>> {
            let (width, height) = (width.parse()?, height.parse()?);
            let access = CpuAccess::ReadWrite;
            Ok(processor.create_image(width, height, format, dtype, memory, access)?)
        };
        let mut source = image(width, height, format(source)?, DType::U8)?;
        source.set_colorimetry(Some(Colorimetry {
            space: None,
            transfer: None,
            encoding: Some(ColorEncoding::Bt709),
            range: Some(ColorRange::Limited),
        }));
        let bytes = source.as_u8().ok_or("a frame is bytes")?;
        noise(bytes.map()?.as_mut_slice());
        let dtype = match dtype {
            "u8" => DType::U8,
            "f16" => DType::F16,
            "f32" => DType::F32,
            other => return Err(format!("no type {other}").into()),
        };
        let target = image(to_width, to_height, format(target)?, dtype)?;
        Ok(Task { processor, source, target })
    }

    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let options = ConvertOptions::new().letterbox([114, 114, 114, 255]);
        self.processor.convert(&self.source, &mut self.target, Some(options))?;
        // The processor takes over, without a word, what OpenGL would not do.
        match self.processor.convert_fallback_count() {
            0 => Ok(()),
            count => Err(format!("{count} pictures fell to another engine").into()),
        }
    }

    /// Nanoseconds for one frame of several.
    fn measure(&mut self) -> Result<f64, Box<dyn Error>> {
        let before = spent();
        for _ in 0..FRAMES {
            self.run()?;
        }
        Ok((spent() - before) / f64::from(FRAMES))
    }
}

fn format(name: &str) -> Result<PixelFormat, Box<dyn Error>> {
    Ok(match name {
        "nv12" => PixelFormat::Nv12,
        "yuyv" => PixelFormat::Yuyv,
        "rgba" => PixelFormat::Rgba,
        "rgb" => PixelFormat::Rgb,
        "planar" => PixelFormat::PlanarRgb,
        other => return Err(format!("no format {other}").into()),
    })
}

/// The frame that the benchmark has.
fn noise(bytes: &mut [u8]) {
    let mut state = 1u64;
    for byte in bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
}

/// Nanoseconds of processor time of all threads of this program.
fn spent() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut tasks: HashMap<String, Task> = HashMap::new();
    for line in stdin().lines() {
        let line = line?;
        if !tasks.contains_key(&line) {
            let mut task = Task::new(&line)?;
            task.run()?;
            tasks.insert(line.clone(), task);
        }
        let task = tasks.get_mut(&line).ok_or("what was put in is there")?;
        writeln!(stdout(), "{}", task.measure()?)?;
    }
    Ok(())
}
