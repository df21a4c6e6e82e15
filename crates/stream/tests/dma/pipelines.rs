//! DMA-BUFs in pipelines of a real GStreamer.

use tenure_memory::kind::dma::Source;
use tenure_memory::kind::shm::Shm;
use tenure_memory::{Allocator, Buffer, Request};
use tenure_stream::Meta;
use tenure_stream::gstreamer::{Error, Listener};
use tenure_tensor::PixelFormat;

use crate::pipeline::{Picture, through};
use crate::stage::{SOON, Stage};
use crate::{dma, heap};

fn shared(bytes: usize) -> Buffer {
    Buffer::from_raw(Shm::new().allocate(&Request::new(bytes).unwrap()).unwrap())
}

#[test]
#[ignore = "needs DMA-BUF and GStreamer 1.24 or later; tests/vm/test runs it"]
fn gstreamer_reads_pictures_in_dma_bufs() {
    let picture = Picture::new(PixelFormat::Nv12, 64, 48);
    let builder = Listener::builder("cam");
    let expected = through(&builder, &picture.in_one(&shared(picture.bytes()), 0));
    let together = through(&builder, &picture.in_one(&heap(picture.bytes()), 0));
    assert!(together == expected, "in one DMA-BUF");
    let apart = picture.in_several(|plane, bytes| match plane {
        0 => (heap(bytes), 0),
        _ => (dma(Source::Udmabuf, bytes), 0),
    });
    assert!(through(&builder, &apart) == expected, "in two DMA-BUFs");
}

#[test]
#[ignore = "needs DMA-BUF; tests/vm/test runs it"]
fn memories_of_two_kinds_are_refused() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("cam").open().unwrap();
    let builder = Listener::builder("cam").directory(stage.path());
    let mut listener = builder.open(stage.path().join("gst")).unwrap();
    let frame = Picture::new(PixelFormat::Nv12, 64, 48).in_several(|plane, bytes| match plane {
        0 => (heap(bytes), 0),
        _ => (shared(bytes), 0),
    });
    publisher.publish_tensor(&frame, Meta::new()).unwrap();
    let error = listener.step(SOON).unwrap_err();
    assert!(matches!(error, Error::Mixed { dmabuf: 1, memories: 2, .. }), "{error}");
}
