"""Four collectives that Nagare accelerates, each with blocks of 256 KiB and checked. The
program knows nothing of Nagare: run it with and without. It needs mpi4py.

    mpirun -np 4 python3 hello.py
    mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 python3 hello.py      # Open MPI
    mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 python3 hello.py   # MPICH

NAGARE_REPORT=stderr shows which algorithm ran. Prints OK, or exits with status 1.
"""

import sys
from array import array

from mpi4py import MPI

N = 32768  # doubles in a block: 256 KiB


def block(first, step):
    """N numbers: first, first + step, first + 2 step, ..."""
    return array("d", range(first, first + N * step, step))


def zeros(count):
    return array("d", bytes(8 * count))


def main():
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    rank_sum = size * (size - 1) // 2
    failed = []

    data = block(7, 1) if rank == size - 1 else zeros(N)
    comm.Bcast(data, root=size - 1)
    if data != block(7, 1):
        failed.append("Bcast")

    result = zeros(N)
    comm.Allreduce(block(rank, 1), result, op=MPI.SUM)
    if result != block(rank_sum, size):
        failed.append("Allreduce")

    result = zeros(N)
    comm.Reduce(block(2 * rank, 3), result if rank == 0 else None, op=MPI.SUM, root=0)
    if rank == 0 and result != block(2 * rank_sum, 3 * size):
        failed.append("Reduce")

    # The block from rank s to rank d starts with 1000 s + d.
    blocks = array("d")
    expected = array("d")
    for other in range(size):
        blocks.extend(block(1000 * rank + other, 1))
        expected.extend(block(1000 * other + rank, 1))
    result = zeros(size * N)
    comm.Alltoall(blocks, result)
    if result != expected:
        failed.append("Alltoall")

    if failed:
        print(f"hello: wrong result of {', '.join(failed)} on rank {rank}", file=sys.stderr)
    failures = comm.allreduce(len(failed))
    if rank == 0 and failures == 0:
        print("OK")
    return 0 if failures == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
