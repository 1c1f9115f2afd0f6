//! The program's buffers: where the bytes of typed elements lie, and packed copies of them.
//!
//! May enter: questions about one buffer, its type and its counts. May not: which call it belongs to, and messages
//! between ranks.

pub mod blocks;
pub mod contents;
pub mod datatype;
pub mod device;
pub mod memory;
pub mod numbers;
pub mod packed;
pub mod side;
mod typemap;
