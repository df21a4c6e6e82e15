//! What the fuzz targets share: layouts and views made from arbitrary numbers, and the slow way to
//! find out which elements they show; pictures, and how far two may differ.

pub mod elements;
pub mod pictures;
pub mod views;
