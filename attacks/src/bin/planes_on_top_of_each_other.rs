//! Images whose planes lie on top of each other, in one memory or in several descriptors of the
//! same: two mutable slices of one plane's bytes under two names.
#![forbid(unsafe_code)]

use tenure::{DType, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    let plane = |offset| {
        let fd = memory.clone_fd().expect("it has one");
        PlaneDescriptor::new(fd).expect("open").with_offset(offset)
    };
    let nv12 = |planes: &[PlaneDescriptor]| {
        TensorDyn::from_planes(planes, 32, 32, PixelFormat::Nv12, DType::U8).expect("fits")
    };
    for second in [0, 100, 1023] {
        let image = nv12(&[plane(0), plane(second)]).typed::<u8>().expect("bytes");
        let (luma, chroma) = (image.plane(0).expect("luma"), image.plane(1).expect("chroma"));
        assert!(luma.aliases(&chroma));
        let held = luma.map().expect("free");
        refused!(chroma.map(), memory!(Busy { .. }));
        refused!(chroma.map_read(), memory!(Busy { .. }));
        refused!(memory.map(), memory!(Busy { .. }));
        drop(held);
        // Filling or copying would write some bytes twice, in an order that nobody promises.
        refused!(image.fill(1), tenure::tensor::Error::Overlapping { .. });
        let other = nv12(&[plane(2048), plane(2048 + 1024)]);
        refused!(image.copy_from(&other), tenure::tensor::Error::Overlapping { .. });
    }
    let image = nv12(&[plane(0), plane(1024)]).typed::<u8>().expect("bytes");
    let planes = [0, 1].map(|index| image.plane(index).expect("there").map().expect("apart"));
    assert_eq!(planes.map(|map| map.as_slice().len()), [1024, 512]);

    // In two memories, one slice of the whole does not exist.
    let other = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    let fd = other.clone_fd().expect("it has one");
    let apart = nv12(&[plane(0), PlaneDescriptor::new(fd).expect("open")]);
    refused!(apart.map(), tenure::tensor::Error::SeveralBuffers { .. });
    refused!(apart.map_strided_read(), tenure::tensor::Error::SeveralBuffers { .. });
    refused!(apart.reshape(&[1024]), tenure::tensor::Error::SeveralBuffers { .. });
    refused!(apart.clone_fd(), tenure::tensor::Error::SeveralBuffers { .. });
    let held = apart.plane(1).expect("chroma").map().expect("free");
    refused!(other.map(), memory!(Busy { .. }));
    assert!(memory.map().is_ok() && held.as_slice().len() == 512);
}
