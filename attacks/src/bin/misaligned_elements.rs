//! Elements of several bytes at odd addresses: by offset, by a cut buffer, by planes of a
//! descriptor.
#![forbid(unsafe_code)]

use tenure::memory::{Buffer, kind};
use tenure::{
    DType, Layout, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory, tensor::Error,
};
use tenure_attacks::{layout, refused};

fn main() {
    let bytes = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    let at = |offset| Layout::strided(DType::F32, &[4], &[1], offset).expect("addressable");
    for offset in [1, 2, 3, 5] {
        let typed = Tensor::<f32>::from_buffer(bytes.buffer().clone(), at(offset));
        refused!(typed, layout!(Misaligned { .. }));
        refused!(bytes.clone().typed::<f32>(), Error::WrongElement { .. });
    }
    // Aligned in its buffer, and the buffer starts at an odd byte.
    for start in [1, 2, 3, 1023] {
        let cut = bytes.buffer().slice(start..start + 64).expect("inside");
        let typed = Tensor::<f32>::from_buffer(cut.clone(), at(4));
        refused!(typed, Error::MisalignedAddress { .. });
        let any = TensorDyn::from_buffer(cut.clone(), at(4));
        refused!(any, Error::MisalignedAddress { .. });
        // What a file has at any byte says so, and is no slice of elements.
        let any = TensorDyn::from_unaligned_buffer(cut, at(4)).expect("fits");
        let tensor = any.typed::<f32>().expect("f32");
        refused!(tensor.map(), Error::MisalignedAddress { .. });
        refused!(tensor.map_read(), Error::MisalignedAddress { .. });
        refused!(tensor.map_strided_read(), Error::MisalignedAddress { .. });
        // Bytes and copies do not mind.
        tensor.to_dyn().map().expect("bytes").as_mut_slice().fill(0x3f);
        let copy = tensor.to(Some(TensorMemory::Mem)).expect("a copy");
        assert_eq!(copy.map().expect("aligned").as_slice(), [f32::from_bits(0x3f3f_3f3f); 4]);
    }
    // Bytes that do not exist yet will have the alignment that was asked for.
    let heap = kind::allocator(TensorMemory::Mem).expect("always there");
    let lazy = Buffer::lazy(heap, 64, None).expect("addressable");
    let cut = lazy.slice(2..64).expect("inside");
    refused!(Tensor::<f32>::from_buffer(cut, at(4)), Error::MisalignedAddress { .. });
    assert!(Tensor::<f32>::from_buffer(lazy.clone(), at(4)).is_ok() && !lazy.is_placed());
    let plane = |offset, stride| {
        let fd = bytes.clone_fd().expect("shared memory has one");
        let plane = PlaneDescriptor::new(fd).expect("open");
        let plane = plane.with_offset(offset).with_stride(stride);
        TensorDyn::from_planes(&[plane], 8, 4, PixelFormat::Grey, DType::U16)
    };
    refused!(plane(1, 32), layout!(Misaligned { .. }));
    refused!(plane(0, 33), layout!(StrideNotMultiple { .. }));
    let mut image = plane(2, 32).expect("aligned").typed::<u16>().expect("u16");
    refused!(image.set_plane_offset(5), layout!(Misaligned { .. }));
    refused!(image.set_row_stride(17), layout!(StrideNotMultiple { .. }));
    assert!(image.map_rows().is_ok());
}
