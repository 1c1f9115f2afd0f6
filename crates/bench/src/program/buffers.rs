//! Data of a collective: what goes in, and whether what comes out is right.

use crate::data::{Data, Number, value};
use crate::matrix::Matrix;
use crate::together::Together;
use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use nagare_bench::counts::{ELEMENT, count};
use nagare_bench::operation::{Operation, Unit};
use nagare_bench::record::Numbers;

/// Bytes of a block where there are some, otherwise all; `None` if `bytes` is too little for blocks of one element.
pub fn block(collective: Operation, bytes: u64, size: i32) -> Option<u64> {
    if collective.unit() == Unit::Vector {
        return Some(bytes);
    }
    let block = bytes / size as u64 / ELEMENT * ELEMENT;
    (block > 0).then_some(block)
}

/// Elements of one block after the other.
struct Blocks<N> {
    counts: Vec<Count>,
    starts: Vec<Count>,
    data: Vec<N>,
}

impl<N: Number> Blocks<N> {
    /// Blocks of so many elements, all zero.
    fn new(lengths: impl IntoIterator<Item = u64>) -> Self {
        let counts: Vec<Count> = lengths.into_iter().map(|length| length as Count).collect();
        let mut end = 0;
        let mut starts = Vec::new();
        for count in &counts {
            starts.push(end);
            end += count;
        }
        let data = vec![N::of(0); end as usize];
        Self { counts, starts, data }
    }

    /// Number of a block, and its elements.
    fn iter(&self) -> impl Iterator<Item = (i32, &[N])> {
        let slices =
            self.starts.iter().zip(&self.counts).map(|(&start, &count)| &self.data[start as usize..][..count as usize]);
        (0..).zip(slices)
    }
}

/// Data for blocks of `bytes`, in the mean where they differ.
pub fn data(collective: Operation, numbers: Numbers, bytes: u64, together: &Together, root: i32) -> Box<dyn Data> {
    match (numbers, collective) {
        (Numbers::Int, Operation::Alltoallw | Operation::AlltoallwSkewed) => {
            Box::new(Matrix::<i32>::new(collective, bytes, together))
        }
        (Numbers::Float, Operation::Alltoallw | Operation::AlltoallwSkewed) => {
            Box::new(Matrix::<f32>::new(collective, bytes, together))
        }
        (Numbers::Int, _) => Box::new(Buffers::<i32>::new(collective, bytes, together, root)),
        (Numbers::Float, _) => Box::new(Buffers::<f32>::new(collective, bytes, together, root)),
    }
}

struct Buffers<N> {
    collective: Operation,
    rank: i32,
    size: i32,
    root: i32,
    send: Blocks<N>,
    receive: Blocks<N>,
}

/// The sum of all ranks' `send`, cut in blocks of `counts` elements: this rank's block.
fn reduce_scatter<N: Number>(send: &[N], receive: &mut [N], counts: &[Count], comm: &SimpleCommunicator) {
    let (datatype, sum) = (N::equivalent_datatype(), SystemOperation::sum());
    // SAFETY: `send` has as many elements as the counts together, `receive` as many as this rank's; there is one count
    // for every rank. An error ends the job.
    unsafe {
        ffi::MPI_Reduce_scatter(
            send.as_ptr().cast(),
            receive.as_mut_ptr().cast(),
            counts.as_ptr(),
            datatype.as_raw(),
            sum.as_raw(),
            comm.as_raw(),
        )
    };
}

impl<N: Number> Buffers<N> {
    fn new(collective: Operation, bytes: u64, together: &Together, root: i32) -> Self {
        let Together { rank, size, .. } = *together;
        let elements = bytes / ELEMENT;
        let between = |from: i32, to: i32| count(collective, elements, from as u32, to as u32);
        let one = || Blocks::new([elements]);
        let nothing = || Blocks::new([]);
        let (mut send, receive) = match collective {
            Operation::Bcast | Operation::Allreduce => (one(), one()),
            Operation::Reduce => (one(), if rank == root { one() } else { nothing() }),
            Operation::Gather if rank == root => (one(), Blocks::new((0..size).map(|_| elements))),
            Operation::Gather => (one(), nothing()),
            Operation::Gatherv if rank == root => {
                (Blocks::new([between(rank, rank)]), Blocks::new((0..size).map(|from| between(from, from))))
            }
            Operation::Gatherv => (Blocks::new([between(rank, rank)]), nothing()),
            Operation::Scatterv if rank == root => {
                (Blocks::new((0..size).map(|to| between(to, to))), Blocks::new([between(rank, rank)]))
            }
            Operation::Scatterv => (nothing(), Blocks::new([between(rank, rank)])),
            Operation::Scatter if rank == root => (Blocks::new((0..size).map(|_| elements)), one()),
            Operation::Scatter => (nothing(), one()),
            Operation::Allgather => (one(), Blocks::new((0..size).map(|_| elements))),
            Operation::Allgatherv => {
                (Blocks::new([between(rank, rank)]), Blocks::new((0..size).map(|from| between(from, from))))
            }
            Operation::ReduceScatterBlock | Operation::ReduceScatter => {
                (Blocks::new((0..size).map(|to| between(rank, to))), Blocks::new([between(rank, rank)]))
            }
            Operation::Alltoall | Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed => (
                Blocks::new((0..size).map(|to| between(rank, to))),
                Blocks::new((0..size).map(|from| between(from, rank))),
            ),
            // `Matrix` has them.
            Operation::Alltoallw | Operation::AlltoallwSkewed => (nothing(), nothing()),
        };
        let values =
            (0..).zip(&send.counts).flat_map(|(to, &count)| (0..count).map(move |i| value(rank, to, i as usize)));
        send.data = values.map(N::of).collect();
        Self { collective, rank, size, root, send, receive }
    }
}

impl<N: Number> Data for Buffers<N> {
    fn prepare(&mut self) {
        if self.collective == Operation::Bcast && self.rank == self.root {
            self.receive.data.copy_from_slice(&self.send.data);
        } else {
            self.receive.data.fill(N::of(-1));
        }
    }

    fn call(&mut self, comm: &SimpleCommunicator) {
        let root = comm.process_at_rank(self.root);
        let is_root = self.rank == self.root;
        let (send, receive) = (&self.send.data[..], &mut self.receive.data[..]);
        match self.collective {
            Operation::Bcast => root.broadcast_into(receive),
            Operation::Reduce if is_root => root.reduce_into_root(send, receive, SystemOperation::sum()),
            Operation::Reduce => root.reduce_into(send, SystemOperation::sum()),
            Operation::Allreduce => comm.all_reduce_into(send, receive, SystemOperation::sum()),
            Operation::Gather if is_root => root.gather_into_root(send, receive),
            Operation::Gather => root.gather_into(send),
            Operation::Gatherv if is_root => {
                let (counts, starts) = (&self.receive.counts[..], &self.receive.starts[..]);
                root.gather_varcount_into_root(send, &mut PartitionMut::new(receive, counts, starts));
            }
            Operation::Gatherv => root.gather_varcount_into(send),
            Operation::Scatterv if is_root => {
                let from = Partition::new(send, &self.send.counts[..], &self.send.starts[..]);
                root.scatter_varcount_into_root(&from, receive);
            }
            Operation::Scatterv => root.scatter_varcount_into(receive),
            Operation::Scatter if is_root => root.scatter_into_root(send, receive),
            Operation::Scatter => root.scatter_into(receive),
            Operation::Allgather => comm.all_gather_into(send, receive),
            Operation::Allgatherv => {
                let (counts, starts) = (&self.receive.counts[..], &self.receive.starts[..]);
                comm.all_gather_varcount_into(send, &mut PartitionMut::new(receive, counts, starts));
            }
            Operation::ReduceScatterBlock => comm.reduce_scatter_block_into(send, receive, SystemOperation::sum()),
            Operation::ReduceScatter => reduce_scatter(send, receive, &self.send.counts, comm),
            Operation::Alltoall => comm.all_to_all_into(send, receive),
            Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed => {
                let (counts, starts) = (&self.receive.counts[..], &self.receive.starts[..]);
                let from = Partition::new(send, &self.send.counts[..], &self.send.starts[..]);
                let mut to = PartitionMut::new(receive, counts, starts);
                comm.all_to_all_varcount_into(&from, &mut to);
            }
            Operation::Alltoallw | Operation::AlltoallwSkewed => {}
        }
    }

    fn verify(&self) -> Result<(), String> {
        for (from, block) in self.receive.iter() {
            for (i, &got) in block.iter().enumerate() {
                let expected = match self.collective {
                    Operation::Bcast => value(self.root, 0, i),
                    Operation::Scatter | Operation::Scatterv => value(self.root, self.rank, i),
                    // Senders of Gather and Allgather number their one block 0.
                    Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv => {
                        value(from, 0, i)
                    }
                    Operation::Alltoall
                    | Operation::Alltoallv
                    | Operation::AlltoallvSparse
                    | Operation::AlltoallvSkewed
                    | Operation::Alltoallw
                    | Operation::AlltoallwSkewed => value(from, self.rank, i),
                    // The sum over all ranks of value(rank, 0, i).
                    Operation::Reduce | Operation::Allreduce => {
                        31 * (self.size * (self.size - 1) / 2) + self.size * (i % 1000) as i32
                    }
                    // The same of value(rank, to, i), `to` being this rank.
                    Operation::ReduceScatterBlock | Operation::ReduceScatter => {
                        31 * (self.size * (self.size - 1) / 2) + self.size * (7 * self.rank + (i % 1000) as i32)
                    }
                };
                if got != N::of(expected) {
                    let bytes = self.receive.data.len() as u64 * ELEMENT;
                    return Err(format!(
                        "{} of {bytes} bytes: element {i} of block {from} is {got}, expected {expected}",
                        self.collective
                    ));
                }
            }
        }
        Ok(())
    }
}
