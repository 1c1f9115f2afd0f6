//! Data of an Alltoallw: the blocks of a rank lie beside one another in the rows of a matrix, as where an FFT hands its
//! rows over. A block of more than a row is not consecutive bytes, neither where it is sent from nor where it is
//! received.
//!
//! ```text
//!   row 0    block 0 | block 1 | …      a block: a vector type of so many rows, as wide as it is
//!   row 1    block 0 | block 1 | …
//! ```

use crate::data::{Data, Number, value};
use crate::together::Together;
use mpi::Count;
use mpi::ffi::{self, MPI_Datatype};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use nagare_bench::counts::ELEMENT;

/// Elements of a block in a row, at most.
const WIDE: u64 = 64;

pub struct Matrix<N> {
    rank: i32,
    size: i32,
    /// Elements of a block in a row.
    width: usize,
    /// One element of it is a block; as many as ranks.
    types: Vec<MPI_Datatype>,
    counts: Vec<Count>,
    /// First byte of each block.
    starts: Vec<Count>,
    send: Vec<N>,
    receive: Vec<N>,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl<N: Number> Matrix<N> {
    /// For blocks of `bytes`.
    pub fn new(bytes: u64, together: &Together) -> Self {
        let Together { rank, size, .. } = *together;
        let elements = bytes / ELEMENT;
        let width = greatest_common_divisor(elements, WIDE);
        let row = width as Count * size;
        let mut block = N::equivalent_datatype().as_raw();
        // SAFETY: the inner type is valid; the new one is freed with the data.
        unsafe {
            ffi::MPI_Type_vector((elements / width) as Count, width as Count, row, block, &raw mut block);
            ffi::MPI_Type_commit(&raw mut block);
        }
        let starts = (0..size).map(|peer| peer * width as Count * ELEMENT as Count).collect();
        let ranks = size as usize;
        let mut matrix = Self {
            rank,
            size,
            width: width as usize,
            types: vec![block; ranks],
            counts: vec![1; ranks],
            starts,
            send: vec![N::of(0); elements as usize * ranks],
            receive: vec![N::of(0); elements as usize * ranks],
        };
        for at in 0..matrix.send.len() {
            let (to, i) = matrix.place(at);
            matrix.send[at] = N::of(value(rank, to, i));
        }
        matrix
    }

    /// The block to which an element of the matrix belongs, and its number there.
    fn place(&self, at: usize) -> (i32, usize) {
        let row = self.width * self.size as usize;
        ((at % row / self.width) as i32, at / row * self.width + at % self.width)
    }
}

impl<N: Number> Data for Matrix<N> {
    fn prepare(&mut self) {
        self.receive.fill(N::of(-1));
    }

    fn call(&mut self, comm: &SimpleCommunicator) {
        // SAFETY: the arrays have an entry for every rank, and all blocks together are the matrix. An error ends the
        // job.
        unsafe {
            ffi::MPI_Alltoallw(
                self.send.as_ptr().cast(),
                self.counts.as_ptr(),
                self.starts.as_ptr(),
                self.types.as_ptr(),
                self.receive.as_mut_ptr().cast(),
                self.counts.as_ptr(),
                self.starts.as_ptr(),
                self.types.as_ptr(),
                comm.as_raw(),
            )
        };
    }

    fn verify(&self) -> Result<(), String> {
        let wrong = |&at: &usize| {
            let (from, i) = self.place(at);
            self.receive[at] != N::of(value(from, self.rank, i))
        };
        (0..self.receive.len()).find(wrong).map_or(Ok(()), |at| {
            let (bytes, (from, i)) = (self.receive.len() as u64 * ELEMENT, self.place(at));
            let (got, expected) = (self.receive[at], value(from, self.rank, i));
            Err(format!("alltoallw of {bytes} bytes: element {i} of block {from} is {got}, expected {expected}"))
        })
    }
}

impl<N> Drop for Matrix<N> {
    fn drop(&mut self) {
        if let Some(block) = self.types.first_mut() {
            // SAFETY: made by `new`, which has put the same handle into all entries; MPI is still there.
            unsafe { ffi::MPI_Type_free(block) };
        }
    }
}
