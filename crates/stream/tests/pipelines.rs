//! Streams for GStreamer, with pipelines of a real one: `tests/gstreamer/test` runs it.
#![cfg(all(target_os = "linux", not(miri)))]

#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/stage.rs"]
mod stage;

use pipeline::{Picture, through};
use tenure_memory::kind::shm::Shm;
use tenure_memory::{Allocator, Buffer, Request};
use tenure_stream::gstreamer::Listener;
use tenure_tensor::PixelFormat;

fn shared(bytes: usize) -> Buffer {
    Buffer::from_raw(Shm::new().allocate(&Request::new(bytes).unwrap()).unwrap())
}

#[test]
#[ignore = "needs GStreamer 1.24 or later; tests/gstreamer/test runs it"]
fn planes_in_several_memories_are_one_picture() {
    for format in [PixelFormat::Nv12, PixelFormat::I420] {
        let picture = Picture::new(format, 64, 48);
        let whole = picture.in_one(&shared(picture.bytes()), 0);
        let apart = picture.in_several(|_, bytes| (shared(bytes), 0));
        assert!(apart.is_multi_buffer());
        let builder = Listener::builder("cam");
        let expected = through(&builder, &whole);
        assert_eq!(expected.raw, picture.dense(), "{format:?}");
        let found = through(&builder, &apart);
        assert!(found == expected, "{format:?} is another picture");
    }
}

#[test]
#[ignore = "needs GStreamer 1.24 or later; tests/gstreamer/test runs it"]
fn pictures_that_begin_inside_their_memories_are_found() {
    let picture = Picture::new(PixelFormat::Nv12, 64, 48);
    let builder = Listener::builder("cam");
    let expected = through(&builder, &picture.in_one(&shared(picture.bytes()), 0));
    let builder = builder.video_meta(true);
    let within = picture.in_one(&shared((1 << 21) + picture.bytes()), 1 << 20);
    assert!(through(&builder, &within).rgb == expected.rgb, "in one memory");
    let within = picture.in_several(|plane, bytes| (shared(8192 + bytes), 64 * (1 + plane)));
    assert!(through(&builder, &within).rgb == expected.rgb, "in several memories");
}
