//! What the frames of a stream look like to GStreamer: formats, rows, planes and memories.
#![cfg(any(target_os = "linux", target_os = "android"))]

#[path = "common/pipe.rs"]
mod pipe;
#[path = "common/stage.rs"]
mod stage;

use pipe::{Working, camera, first_of};
use stage::Stage;
use tenure_stream::gstreamer::Listener;
use tenure_stream::{Meta, Spec};
use tenure_tensor::{DType, PixelFormat, Tensor, TensorDyn, TensorMemory};

#[test]
fn what_gstreamer_has_no_words_for_is_refused() {
    let image =
        |format, dtype, width, stride| Spec::image_of(width, 4, format, dtype, stride).unwrap();
    let cases = [
        (Spec::tensor(DType::F32, &[3, 4]).unwrap(), "are no images (f32 [3, 4])"),
        (image(PixelFormat::PlanarRgba, DType::U8, 8, None), "are planar-rgba of u8"),
        (image(PixelFormat::Rgb, DType::F32, 8, None), "are rgb of f32"),
        (
            image(PixelFormat::Rgb, DType::U8, 6, None),
            "plane 0 is at 0 with rows 18 bytes apart, not at 0 with 20",
        ),
        (
            image(PixelFormat::Nv12, DType::U8, 8, Some(64)),
            "plane 0 is at 0 with rows 64 bytes apart, not at 0 with 8",
        ),
    ];
    for (spec, words) in cases {
        let stage = Stage::new();
        let mut publisher = camera(&stage, spec);
        let listener = Working::start(&stage, Listener::builder("cam"));
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
        let error = listener.wait().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn unusual_rows_come_with_a_meta_if_that_is_allowed() {
    let stage = Stage::new();
    let spec = Spec::image_of(8, 4, PixelFormat::Nv12, DType::U8, Some(64)).unwrap();
    let mut publisher = camera(&stage, spec);
    let listener = Working::start(&stage, Listener::builder("cam").video_meta(true));
    let mut client = listener.client();
    let (_, buffer) = first_of(&mut client, || {
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
    });
    // To the end of the last sample: six rows, the last one without its padding.
    assert_eq!((buffer.metas, &buffer.pieces[..]), (1, &[(0, 64 * 5 + 8)][..]));
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let head = [&words(&[90, 12])[..], b"GstVideoMeta\0\0"].concat();
    let body = words(&[0, 23, 8, 4, 2, 0, 0, 64 * 4, 0, 64, 64, 0, 0, 0, 0, 0, 0]);
    assert_eq!(buffer.meta, [head, body].concat());
}

/// Planes in several memories, NV12 of 8x4.
fn in_two(places: [(usize, Option<usize>); 2]) -> TensorDyn {
    let memory = |value: u8| {
        let memory = Tensor::<u8>::new(&[8192], Some(TensorMemory::Shm), None).unwrap();
        memory.fill(value).unwrap();
        memory.buffer().clone()
    };
    let memories = [memory(1), memory(2)];
    TensorDyn::from_plane_buffers(&memories, &places, 8, 4, PixelFormat::Nv12, DType::U8).unwrap()
}

#[test]
fn planes_in_several_memories_travel_together() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("cam").open().unwrap();
    let frame = in_two([(64, None), (0, None)]);
    let listener = Working::start(&stage, Listener::builder("cam"));
    let mut client = listener.client();
    let (caps, buffer) = first_of(&mut client, || {
        publisher.publish_tensor(&frame, Meta::new()).unwrap();
    });
    assert!(caps.contains("format=(string)NV12, width=(int)8, height=(int)4"), "{caps}");
    assert_eq!((&buffer.pieces[..], buffer.metas), (&[(64, 32), (0, 16)][..], 1));
    assert_eq!(buffer.bytes(), [[1; 32].as_slice(), &[2; 16]].concat());
    // Number, size and planes, each with its offset and stride.
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(buffer.meta[22..62], words(&[0, 23, 8, 4, 2, 0, 0, 32, 0, 8]));
    client.release(buffer.id);
    drop(publisher);
    assert_eq!(listener.wait().unwrap().put_out, 0);
}

#[test]
fn unusual_rows_in_several_memories_need_a_meta() {
    for allowed in [false, true] {
        let stage = Stage::new();
        let mut publisher = stage.publisher("cam").open().unwrap();
        let frame = in_two([(0, None), (0, Some(64))]);
        let listener = Working::start(&stage, Listener::builder("cam").video_meta(allowed));
        if !allowed {
            publisher.publish_tensor(&frame, Meta::new()).unwrap();
            let error = listener.wait().unwrap_err().to_string();
            let words = "plane 1 is at 32 with rows 64 bytes apart, not at 32 with 8";
            assert!(error.contains(words), "{error}");
            continue;
        }
        let (_, buffer) = first_of(&mut listener.client(), || {
            publisher.publish_tensor(&frame, Meta::new()).unwrap();
        });
        assert_eq!((&buffer.pieces[..], buffer.metas), (&[(0, 32), (0, 64 + 8)][..], 1));
    }
}
