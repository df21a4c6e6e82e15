//! A picture, laid out in memories in several ways, and what a real GStreamer makes of it.

use std::env;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tenure_memory::Buffer;
use tenure_stream::Meta;
use tenure_stream::gstreamer::ListenerBuilder;
use tenure_tensor::{DType, ImageLayout, Layout, PixelFormat, Tensor, TensorDyn};

use crate::stage::{SOON, Stage};

/// A picture whose samples all differ from their neighbours.
pub(crate) struct Picture {
    format: PixelFormat,
    width: usize,
    height: usize,
    layout: ImageLayout,
}

/// What came out of a pipeline: the bytes of the frame as they are, and as RGB.
#[derive(PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) raw: Vec<u8>,
    pub(crate) rgb: Vec<u8>,
}

impl Picture {
    pub(crate) fn new(format: PixelFormat, width: usize, height: usize) -> Picture {
        let layout = ImageLayout::new(width, height, format, DType::U8, None).unwrap();
        Picture { format, width, height, layout }
    }

    /// All its bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.span().end
    }

    /// Its bytes without anything between them.
    pub(crate) fn dense(&self) -> Vec<u8> {
        (0..self.bytes()).map(|at| (at * 7 + at / 64 * 3) as u8).collect()
    }

    /// In one memory, from there on.
    pub(crate) fn in_one(&self, memory: &Buffer, offset: usize) -> TensorDyn {
        fill(memory, offset, &self.dense());
        self.over(std::slice::from_ref(memory), &[(offset, None)])
    }

    /// With every plane in a memory of its own, at an offset; `memory` gives both for a plane of so
    /// many bytes.
    pub(crate) fn in_several(&self, memory: impl Fn(usize, usize) -> (Buffer, usize)) -> TensorDyn {
        let dense = self.dense();
        let (mut memories, mut places) = (vec![], vec![]);
        for (index, plane) in self.layout.planes().iter().enumerate() {
            let (buffer, offset) = memory(index, plane.span().len());
            fill(&buffer, offset, &dense[plane.span()]);
            memories.push(buffer);
            places.push((offset, Some(plane.row_stride)));
        }
        self.over(&memories, &places)
    }

    fn over(&self, memories: &[Buffer], places: &[(usize, Option<usize>)]) -> TensorDyn {
        let (width, height) = (self.width, self.height);
        TensorDyn::from_plane_buffers(memories, places, width, height, self.format, DType::U8)
            .unwrap()
    }
}

fn fill(memory: &Buffer, offset: usize, bytes: &[u8]) {
    let layout = Layout::contiguous(DType::U8, &[memory.len()]).unwrap();
    let all = Tensor::<u8>::from_buffer(memory.clone(), layout).unwrap();
    let mut map = all.map().unwrap();
    let all = map.as_mut_slice();
    // What lies around the picture is not black.
    all.fill(0x5a);
    all[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// A frame as a pipeline gets it from a stream that publishes this tensor.
pub(crate) fn through(builder: &ListenerBuilder, tensor: &TensorDyn) -> Seen {
    let convert = "videoconvert dither=none ! video/x-raw,format=RGB !";
    Seen { raw: play(builder, tensor, ""), rgb: play(builder, tensor, convert) }
}

/// Runs a pipeline that ends after one frame, and gives what is at its end.
fn play(builder: &ListenerBuilder, tensor: &TensorDyn, elements: &str) -> Vec<u8> {
    // One for each: a process that is just being started by another test has our locks for a
    // moment, so a name cannot be used again at once.
    let stage = Stage::new();
    let file = stage.path().join("file");
    let sink = format!("{elements} filesink location={}", file.display());
    let mut publisher = stage.publisher("cam").open().unwrap();
    let socket = stage.path().join("gst");
    let mut listener = builder.clone().directory(stage.path()).open(&socket).unwrap();
    let words = env::var("TENURE_TEST_GST_LAUNCH").expect("run it with tests/gstreamer/test");
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--quiet", "unixfdsrc", "num-buffers=1"]);
    command.arg(format!("socket-path={}", socket.display())).arg("!");
    command.args(sink.split_whitespace()).stderr(Stdio::piped());
    let mut pipeline = command.spawn().unwrap();
    let deadline = Instant::now() + SOON;
    let status = loop {
        if let Some(status) = pipeline.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "the pipeline does not end: {sink}");
        publisher.publish_tensor(tensor, Meta::new()).unwrap();
        assert!(listener.step(Duration::from_millis(20)).unwrap());
    };
    let said = std::io::read_to_string(pipeline.stderr.take().unwrap()).unwrap();
    // An assertion of GStreamer's that fails is only said.
    assert!(status.success() && !said.contains("CRITICAL"), "{sink}: {status}: {said}");
    fs::read(file).unwrap()
}
