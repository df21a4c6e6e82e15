//! Views, planes and batch elements kept after the tensor they were made from is gone, and after
//! its memory would have gone to somebody else.
#![forbid(unsafe_code)]

use tenure::memory::kind;
use tenure::{DType, DynTensor, PixelFormat, Pool, Region, Tensor, TensorDyn, TensorMemory};

fn main() {
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).expect("the heap"));
    let parent = Tensor::<u16>::builder(&[8, 8]).allocator(&pool).build().expect("memory");
    parent.fill(7).expect("free");
    let views = [
        parent.slice(0, 2..4).expect("rows"),
        parent.permute(&[1, 0]).expect("axes"),
        parent.index(1, 3).expect("a column").broadcast_to(&[5, 8]).expect("a broadcast"),
    ];
    let alive = parent.buffer_identity().weak();
    drop(parent);
    let others: Vec<_> = (0..50)
        .map(|_| Tensor::<u16>::builder(&[8, 8]).allocator(&pool).build().expect("memory"))
        .collect();
    others.iter().for_each(|other| other.fill(0xffff).expect("free"));
    for view in &views {
        let read = view.map_strided_read().expect("free");
        assert!((0..view.shape()[0]).all(|row| read.get(&[row, 0]).is_some_and(|&v| v == 7)));
    }
    drop(views);
    assert!(alive.upgrade().is_some(), "the pool keeps it");
    drop((others, pool));
    assert!(alive.upgrade().is_none(), "nobody keeps it");

    let frame = Tensor::<u8>::image(64, 64, PixelFormat::Nv12, None, None).expect("an image");
    frame.fill(9).expect("free");
    let parts = [frame.plane(1).expect("chroma"), frame.view(Region::new(2, 2, 4, 4)).expect("in")];
    drop(frame);
    let mut batch = TensorDyn::new(&[2, 2, 2, 3], DType::U8, None, None).expect("24 bytes");
    batch.set_format(PixelFormat::Rgb).expect("RGB");
    let second = batch.batch(1).expect("there");
    drop(batch);
    assert_eq!(parts[0].map_read().expect("free").as_slice(), [9; 64 * 32]);
    assert_eq!(parts[1].map_rows_read().expect("free")[0], [9; 4]);
    assert_eq!(second.map().expect("free").as_slice(), [0; 12]);
}
