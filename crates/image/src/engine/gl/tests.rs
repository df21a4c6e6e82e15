//! What only the inside can test.
