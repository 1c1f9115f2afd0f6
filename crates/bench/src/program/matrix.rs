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
use nagare_bench::counts::{ELEMENT, count};
use nagare_bench::operation::Operation;

/// Elements of a block in a row, at most; of the longer ones of a skewed Alltoallw accordingly more.
const WIDE: u64 = 64;

pub struct Matrix<N> {
    collective: Operation,
    rank: i32,
    /// One element of its type is a block; as many as ranks.
    counts: Vec<Count>,
    send: Side<N>,
    receive: Side<N>,
}

/// The matrix that is sent, or the one that is received.
struct Side<N> {
    /// The first element of each block in a row, and the length of a row.
    firsts: Vec<usize>,
    /// First byte of each block.
    starts: Vec<Count>,
    /// Of each block.
    types: Vec<MPI_Datatype>,
    data: Vec<N>,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl<N: Number> Side<N> {
    /// Blocks of these widths, all of so many rows.
    fn new(rows: u64, widths: impl IntoIterator<Item = u64>) -> Self {
        let mut firsts = vec![0];
        widths.into_iter().for_each(|width| firsts.push(firsts[firsts.len() - 1] + width as usize));
        let row = firsts[firsts.len() - 1];
        let block = |ends: &[usize]| {
            let mut block = N::equivalent_datatype().as_raw();
            // SAFETY: the inner type is valid; the new one is freed with the data.
            unsafe {
                let width = (ends[1] - ends[0]) as Count;
                ffi::MPI_Type_vector(rows as Count, width, row as Count, block, &raw mut block);
                ffi::MPI_Type_commit(&raw mut block);
            }
            block
        };
        let types = firsts.windows(2).map(block).collect();
        let starts = firsts.iter().map(|&first| first as Count * ELEMENT as Count).collect();
        Self { firsts, starts, types, data: vec![N::of(0); rows as usize * row] }
    }

    /// The block to which an element of the matrix belongs, and its number there.
    fn place(&self, at: usize) -> (i32, usize) {
        let row = self.firsts[self.firsts.len() - 1];
        let block = self.firsts.partition_point(|&first| first <= at % row) - 1;
        let width = self.firsts[block + 1] - self.firsts[block];
        (block as i32, at / row * width + at % row - self.firsts[block])
    }
}

impl<N: Number> Matrix<N> {
    /// For blocks of `bytes`, in the skewed variant those of all ranks but the first.
    pub fn new(collective: Operation, bytes: u64, together: &Together) -> Self {
        let Together { rank, size, .. } = *together;
        let elements = bytes / ELEMENT;
        let width = greatest_common_divisor(elements, WIDE);
        let wide = |from: i32, to: i32| count(collective, width, from as u32, to as u32);
        let mut send: Side<N> = Side::new(elements / width, (0..size).map(|to| wide(rank, to)));
        for at in 0..send.data.len() {
            let (to, i) = send.place(at);
            send.data[at] = N::of(value(rank, to, i));
        }
        let receive = Side::new(elements / width, (0..size).map(|from| wide(from, rank)));
        Self { collective, rank, counts: vec![1; size as usize], send, receive }
    }
}

impl<N: Number> Data for Matrix<N> {
    fn prepare(&mut self) {
        self.receive.data.fill(N::of(-1));
    }

    fn call(&mut self, comm: &SimpleCommunicator) {
        // SAFETY: the arrays have an entry for every rank, and all blocks of a side together are its matrix. An error
        // ends the job.
        unsafe {
            ffi::MPI_Alltoallw(
                self.send.data.as_ptr().cast(),
                self.counts.as_ptr(),
                self.send.starts.as_ptr(),
                self.send.types.as_ptr(),
                self.receive.data.as_mut_ptr().cast(),
                self.counts.as_ptr(),
                self.receive.starts.as_ptr(),
                self.receive.types.as_ptr(),
                comm.as_raw(),
            )
        };
    }

    fn verify(&self) -> Result<(), String> {
        let data = &self.receive.data;
        let wrong = |&at: &usize| {
            let (from, i) = self.receive.place(at);
            data[at] != N::of(value(from, self.rank, i))
        };
        (0..data.len()).find(wrong).map_or(Ok(()), |at| {
            let (bytes, (from, i)) = (data.len() as u64 * ELEMENT, self.receive.place(at));
            let (got, expected, name) = (data[at], value(from, self.rank, i), self.collective);
            Err(format!("{name} of {bytes} bytes: element {i} of block {from} is {got}, expected {expected}"))
        })
    }
}

impl<N> Drop for Side<N> {
    fn drop(&mut self) {
        for block in &mut self.types {
            // SAFETY: made by `new`, each once; MPI is still there.
            unsafe { ffi::MPI_Type_free(block) };
        }
    }
}
