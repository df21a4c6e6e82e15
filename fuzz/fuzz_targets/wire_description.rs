//! Descriptions of tensors from other processes: whatever decodes goes back to what it was, and
//! building layouts from it refuses or stays within the numbers it gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::layout::{ImageLayout, Layout};
use tenure::tensor::wire::Description;

fuzz_target!(|body: &[u8]| {
    let Ok(description) = Description::decode(body) else { return };
    let encoded = description.encode();
    assert!(encoded.len() <= body.len(), "nothing is made up");
    assert_eq!(Description::decode(&encoded).as_ref(), Ok(&description));

    let Description { dtype, shape, strides, offset, .. } = &description;
    assert_eq!(shape.len(), strides.len());
    if let Ok(layout) = Layout::strided(*dtype, shape, strides, *offset) {
        let span = layout.span();
        assert!(span.start <= span.end && span.end <= isize::MAX as usize);
        assert!(layout.check_fits(span.end).is_ok());
        assert!(
            span.end == 0 || layout.elements() == 0 || layout.check_fits(span.end - 1).is_err()
        );
        if let Some(quantization) = &description.quantization {
            let _ = quantization.check_shape(layout.shape());
        }
    }
    if let Some(image) = &description.image {
        let places: Vec<_> =
            image.planes.iter().map(|&(_, offset, stride)| (offset, Some(stride))).collect();
        let (format, width, height) = (image.format, image.width, image.height);
        if let Ok(image) = ImageLayout::from_planes(format, *dtype, width, height, &places) {
            for (index, plane) in image.planes().iter().enumerate() {
                let layout = image.plane_layout(index).expect("a plane that exists");
                assert_eq!(layout.span(), plane.span());
                assert!(plane.span().end <= image.span().end);
            }
            let _ = (image.tensor_layout(), image.packed_bytes(), image.allocation_bytes());
        }
    }
});
