//! What the fuzz targets share: layouts and views made from arbitrary numbers, and the slow way to
//! find out which elements they show; pictures, and how far two may differ; and the shadow model of
//! tensors, pools and streams.

pub mod elements;
pub mod files;
pub mod made;
pub mod models;
pub mod pictures;
pub mod sequence;
pub mod shadow;
pub mod shown;
pub mod views;
