//! One assertion for every statement of the documents that Tenure was founded on: the READMEs of
//! edgefirst-tensor, svod's device and planner, tenferro's table of memory spaces, the rules of DLPack,
//! and our own design. What differs on purpose is in `differences`, with the reason.

#[path = "founding_documents/design.rs"]
mod design;
#[path = "founding_documents/differences.rs"]
mod differences;
#[path = "founding_documents/dlpack.rs"]
mod dlpack;
#[path = "founding_documents/edgefirst.rs"]
mod edgefirst;
#[path = "founding_documents/planner.rs"]
mod planner;
#[path = "founding_documents/spaces.rs"]
mod spaces;
