//! Rows and arrays that are used after their guard has given the bytes back.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[4, 4], None, None).unwrap();
    let mut map = tensor.map_rows().unwrap();
    let rows: Vec<&mut [u8]> = map.rows_mut().collect();
    drop(map);
    rows.into_iter().for_each(|row| row.fill(1));

    let mut strided = tensor.map_strided().unwrap();
    let mut array = strided.array_mut().unwrap();
    drop(strided);
    array.fill(1);
}
