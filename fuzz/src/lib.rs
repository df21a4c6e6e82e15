//! What the fuzz targets share: layouts and views made from arbitrary numbers, and the slow way to
//! find out which elements they show.

pub mod elements;
pub mod views;
