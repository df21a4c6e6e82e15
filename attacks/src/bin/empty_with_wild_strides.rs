//! Tensors without elements, whose strides nobody checks because nothing is reached with them:
//! made directly, and told by a message. Nothing may be computed with such strides.
#![forbid(unsafe_code)]

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use tenure::memory::share;
use tenure::tensor::wire::Description;
use tenure::{DType, Layout, Tensor, TensorMemory, receive};

fn explore(tensor: &Tensor<u8>) {
    assert!(tensor.is_empty());
    assert!(tensor.map().expect("nothing").as_slice().is_empty());
    let read = tensor.map_strided_read().expect("nothing");
    assert!(read.get(&[3, 0]).is_none() && read.get(&[0, 0]).is_none());
    if let Some(array) = read.array() {
        assert_eq!(array.len(), 0);
    }
    drop(read);
    // Refused or empty, but nothing else.
    let _ = tensor.map_strided().map(|mut map| map.array_mut().map(|array| array.len()));
    let _ = tensor.map().map(|mut map| map.iter_mut().count());
    let _ = tensor.map_rows().map(|mut map| map.rows_mut().count());
    let _ = tensor.map_rows_read().map(|map| (map.row(0).is_none(), map.rows().count()));
    let _ = tensor.map_span().map(|span| span.len());
    assert_eq!(tensor.map_strided_read().expect("nothing").iter().count(), 0);
    let _ = tensor.fill(1);
    let _ = tensor.to(None).map(|copy| copy.len());
    let _ = tensor.copy_to_flat(&mut []);
    let _ = tensor.copy_from(&Tensor::<u8>::new(&[4, 0], None, None).expect("nothing"));
    assert!(!tensor.aliases(tensor));
    let views = [
        tensor.slice(0, 1..3),
        tensor.slice_step(0, 0..4, 3),
        tensor.slice(1, 0..0),
        tensor.index(0, 3),
        tensor.permute(&[1, 0]),
        tensor.unsqueeze(0),
        tensor.unsqueeze(2),
        tensor.reshape(&[0, 9]),
        tensor.broadcast_to(&[7, 4, 0]),
    ];
    for view in views.into_iter().flatten() {
        assert!(view.map_strided_read().expect("nothing").iter().next().is_none());
        let _ = view.map_strided().map(|mut map| map.as_mut_ptr());
    }
}

fn main() {
    let memory = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).expect("64 bytes");
    let fd = memory.clone_fd().expect("it has one");
    for strides in [[isize::MAX, 1], [isize::MIN, isize::MIN], [isize::MAX, isize::MAX], [0, -1]] {
        let layout = Layout::strided(DType::U8, &[4, 0], &strides, 8);
        if let Ok(layout) = layout {
            let tensor = Tensor::<u8>::from_buffer(memory.buffer().clone(), layout);
            explore(&tensor.expect("nothing fits everywhere"));
        }
        let description = Description {
            dtype: DType::U8,
            shape: vec![4, 0],
            strides: strides.to_vec(),
            offset: 8,
            read_only: false,
            image: None,
            colour: None,
            quantization: None,
            name: None,
        };
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        share::send(&here, &description.encode(), &[fd.as_fd()]).expect("sent");
        if let Ok(tensor) = receive(&there) {
            explore(&tensor.typed().expect("bytes"));
        }
    }
}
