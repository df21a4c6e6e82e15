//! Placeholder until the sub-allocator lands.
