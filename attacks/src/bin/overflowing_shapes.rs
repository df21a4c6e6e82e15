//! Shapes, strides, offsets and image sizes whose products and sums wrap around to small numbers.
#![forbid(unsafe_code)]

use tenure::layout::Error as LayoutError;
use tenure::memory::Error as MemoryError;
use tenure::{DType, DynTensor, Layout, PixelFormat, Request, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{layout, memory, refused};

const FAR: usize = usize::MAX;
const HALF: usize = 1 << 63;
const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

fn main() {
    for shape in [&[FAR][..], &[FAR, 2], &[1 << 32, 1 << 32], &[HALF, 2], &[HALF, 0], &[FAR, 0, 2]]
    {
        refused!(Tensor::<u8>::new(shape, MEM, None), layout!(TooLarge { .. }));
        refused!(TensorDyn::new(shape, DType::U4, MEM, None), layout!(TooLarge { .. }));
    }
    // The elements fit, their bytes do not.
    refused!(Tensor::<f64>::new(&[1 << 61], MEM, None), layout!(TooLarge { .. }));
    refused!(Tensor::<u8>::new(&[isize::MAX as usize], MEM, None), memory!(BadRequest { .. }));
    refused!(Tensor::<u8>::new(&[1; 65], MEM, None), layout!(TooManyDimensions { .. }));
    refused!(Request::new(FAR), MemoryError::BadRequest { .. });
    refused!(Request::new(1).expect("a byte").with_align(HALF), MemoryError::BadRequest { .. });

    for (shape, stride, offset) in [
        (3, isize::MAX, 0),
        (3, isize::MIN, 0),
        (2, -1, 0),
        (2, isize::MIN, 1 << 62),
        (2, 1, FAR),
        (1, 1, isize::MAX as usize),
    ] {
        let layout = Layout::strided(DType::U8, &[shape], &[stride], offset);
        refused!(layout, LayoutError::Unaddressable { .. });
    }
    let one = Layout::contiguous(DType::U8, &[1]).expect("a byte");
    refused!(one.broadcast_to(&[FAR]), LayoutError::TooLarge { .. });
    refused!(one.shifted(FAR), LayoutError::Unaddressable { .. });

    let nv12 = PixelFormat::Nv12;
    for (width, height) in [(FAR, FAR), (FAR, 1), (1, FAR), (1 << 32, 1 << 32)] {
        refused!(
            Tensor::<u8>::image(width, height, nv12, MEM, None),
            layout!(ImageTooLarge { .. })
        );
    }
    refused!(Tensor::<u8>::image(0, 8, nv12, MEM, None), layout!(EmptyImage { .. }));
    let stride =
        |stride| Tensor::<u8>::image_builder(16, 8, nv12).row_stride(stride).memory(MEM).build();
    refused!(stride(FAR - 1), layout!(ImageTooLarge { .. }));
    refused!(stride(15), layout!(StrideTooShort { .. }));

    let mut frame = Tensor::<u8>::image(16, 8, nv12, MEM, None).expect("an image");
    for offset in [1, 192, FAR, HALF, FAR - 191] {
        let attack = frame.set_plane_offset(offset);
        refused!(attack, layout!(OutOfBounds { .. } | Unaddressable { .. } | ImageTooLarge { .. }));
    }
    for stride in [18, 32, 1 << 62, FAR - 1] {
        refused!(frame.set_row_stride(stride), layout!(OutOfBounds { .. } | ImageTooLarge { .. }));
    }
    refused!(frame.set_row_stride(14), layout!(StrideTooShort { .. }));
    refused!(frame.configure_image(FAR, 2, nv12, None), layout!(ImageTooLarge { .. }));
    refused!(frame.configure_image(16, 8, nv12, Some(FAR)), layout!(ImageTooLarge { .. }));
    // Nothing has changed.
    assert_eq!(
        (frame.shape(), frame.row_stride(), frame.plane_offset()),
        (&[12, 16][..], None, None)
    );
    assert_eq!(frame.map().expect("free").as_slice().len(), 192);
}
