"""mpi4py's buffer calls (Bcast, Reduce, Allreduce, Alltoall(v), Gather(v), Scatter(v), Allgather(v), Reduce_scatter) on
arrays and bytearrays: plain, in place, with derived types and MAXLOC pairs; every result is compared with what each
rank computes for itself. Rank 0 prints PASS buffers cases=<calls>."""

import struct
import sys
from array import array

from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
CASES = 0


def check(what, got, want):
    global CASES
    if got != want:
        print(f"FAIL buffers: rank={RANK} {what}", file=sys.stderr, flush=True)
        COMM.Abort(1)
    CASES += 1


def value(rank, index):
    return (rank * 7919 + index * 31) % 10007


def ints(rank, count):
    return array("i", (value(rank, i) for i in range(count)))


def sums(count):
    return array("i", (sum(value(r, i) for r in range(SIZE)) for i in range(count)))


def empty(count):
    return array("i", [-1]) * count


def text(rank, count):
    return bytearray(value(rank, i) % 251 for i in range(count))


def bcast(count, root):
    data = ints(root, count) if RANK == root else empty(count)
    COMM.Bcast(data, root=root)
    check(f"Bcast {count} root={root}", data, ints(root, count))

    data = text(root, count) if RANK == root else bytearray(count)
    COMM.Bcast(data, root=root)
    check(f"Bcast bytearray {count} root={root}", data, text(root, count))

    # The root sends integers, the others receive them into every second place.
    every_second = MPI.INT.Create_vector(count, 1, 2).Commit()
    data = empty(2 * count)
    if RANK == root:
        COMM.Bcast([ints(root, count), count, MPI.INT], root=root)
    else:
        COMM.Bcast([data, 1, every_second], root=root)
        check(f"Bcast vector {count} root={root}", (data[::2], data[1::2]), (ints(root, count), empty(count)))
    every_second.Free()


def reductions(count, root):
    got = empty(count)
    COMM.Allreduce(ints(RANK, count), got, op=MPI.SUM)
    check(f"Allreduce {count}", got, sums(count))
    got = ints(RANK, count)
    COMM.Allreduce(MPI.IN_PLACE, got, op=MPI.SUM)
    check(f"Allreduce in place {count}", got, sums(count))

    got = empty(count) if RANK == root else None
    COMM.Reduce(ints(RANK, count), got, op=MPI.SUM, root=root)
    check(f"Reduce {count} root={root}", got, sums(count) if RANK == root else None)
    got = ints(RANK, count)
    if RANK == root:
        COMM.Reduce(MPI.IN_PLACE, got, op=MPI.SUM, root=root)
    else:
        COMM.Reduce(got, None, op=MPI.SUM, root=root)
    check(f"Reduce in place {count} root={root}", got, sums(count) if RANK == root else ints(RANK, count))

    got = bytearray(count)
    COMM.Allreduce(text(RANK, count), got, op=MPI.BOR)
    want = bytearray(count)
    for rank in range(SIZE):
        want = bytearray(a | b for a, b in zip(want, text(rank, count)))
    check(f"Allreduce bytearray {count}", got, want)


def maxloc(count):
    """Pairs of a value and the rank that has it; of equal values the lowest rank counts (MPI 4.0 section 6.9.4)."""
    pairs = bytearray(b"".join(struct.pack("ii", value(RANK, i) % 5, RANK) for i in range(count)))
    got = bytearray(len(pairs))
    COMM.Allreduce([pairs, count, MPI.TWOINT], [got, count, MPI.TWOINT], op=MPI.MAXLOC)
    best = (max(((value(r, i) % 5, -r) for r in range(SIZE))) for i in range(count))
    check(f"Allreduce MAXLOC {count}", got, bytearray(b"".join(struct.pack("ii", v, -r) for v, r in best)))


def alltoall(count):
    def block(source, target):
        return array("i", (value(source * SIZE + target, i) for i in range(count)))

    def blocks(pairs):
        joined = array("i")
        for source, target in pairs:
            joined.extend(block(source, target))
        return joined

    sent = blocks((RANK, target) for target in range(SIZE))
    want = blocks((source, RANK) for source in range(SIZE))
    got = empty(count * SIZE)
    COMM.Alltoall(sent, got)
    check(f"Alltoall {count}", (sent, got), (blocks((RANK, t) for t in range(SIZE)), want))
    COMM.Alltoall(MPI.IN_PLACE, sent)
    check(f"Alltoall in place {count}", sent, want)

    # A block is sent as one element of a derived type and received as integers.
    whole = MPI.INT.Create_contiguous(count).Commit()
    got = empty(count * SIZE)
    sent = blocks((RANK, target) for target in range(SIZE))
    COMM.Alltoall([sent, 1, whole], [got, count, MPI.INT])
    check(f"Alltoall derived {count}", got, want)
    whole.Free()


def alltoallv(count):
    """Rank i has count * (i + j) % 3 integers for rank j; blocks lie in descending order with a gap after each."""

    def amounts(rank):
        return [count * ((rank + other) % 3) for other in range(SIZE)]

    def places(amounts):
        return [sum(amounts[other + 1 :]) + SIZE - 1 - other for other in range(SIZE)]

    def arranged(parts):
        at, joined = places([len(part) for part in parts]), empty(sum(map(len, parts)) + SIZE)
        for part, place in zip(parts, at):
            joined[place : place + len(part)] = part
        return joined

    def block(source, target):
        return array("i", (value(source * SIZE + target, i) for i in range(amounts(source)[target])))

    # Amounts are the same both ways.
    counts, displacements = amounts(RANK), places(amounts(RANK))
    sent, want = arranged([block(RANK, t) for t in range(SIZE)]), arranged([block(s, RANK) for s in range(SIZE)])
    got = empty(len(want))
    COMM.Alltoallv([sent, (counts, displacements), MPI.INT], [got, (counts, displacements), MPI.INT])
    check(f"Alltoallv {count}", got, want)
    COMM.Alltoallv(MPI.IN_PLACE, [sent, (counts, displacements), MPI.INT])
    check(f"Alltoallv in place {count}", sent, want)


def alltoallw(count):
    """Column blocks of a matrix, by vector types, become rows of another, by types that are consecutive bytes."""
    rows = 4
    width = count * SIZE
    columns = MPI.INT.Create_vector(rows, count, width).Commit()
    whole = MPI.INT.Create_contiguous(rows * count).Commit()
    ones, starts = [1] * SIZE, [4 * count * r for r in range(SIZE)]
    sent = array("i", (value(RANK * rows + y, x) for y in range(rows) for x in range(width)))
    kept = array("i", sent)
    got = empty(rows * width)
    want = array("i", (value(s * rows + y, RANK * count + x)
                       for s in range(SIZE) for y in range(rows) for x in range(count)))
    COMM.Alltoallw([sent, (ones, starts), [columns] * SIZE], [got, (ones, [rows * n for n in starts]), [whole] * SIZE])
    check(f"Alltoallw {count}", (sent, got), (kept, want))
    COMM.Alltoallw(MPI.IN_PLACE, [sent, (ones, starts), [columns] * SIZE])
    want = array("i", (value(x // count * rows + y, RANK * count + x % count)
                       for y in range(rows) for x in range(width)))
    check(f"Alltoallw in place {count}", sent, want)
    columns.Free()
    whole.Free()


def gather(count, root):
    want = array("i")
    for rank in range(SIZE):
        want.extend(ints(rank, count))
    got = empty(count * SIZE) if RANK == root else None
    COMM.Gather(ints(RANK, count), got, root=root)
    check(f"Gather {count} root={root}", got, want if RANK == root else None)

    # The root receives one element of a derived type per rank, into every second place.
    strided = MPI.INT.Create_vector(count, 1, 2)
    element = strided.Create_resized(0, 8 * count).Commit()
    strided.Free()
    got = empty(2 * count * SIZE)
    COMM.Gather([ints(RANK, count), count, MPI.INT], [got, 1, element] if RANK == root else None, root=root)
    gap = empty(count * SIZE)
    check(f"Gather vector {count} root={root}", (got[::2], got[1::2]), (want if RANK == root else gap, gap))
    element.Free()

    if RANK == root:
        got = empty(count * SIZE)
        got[count * root : count * (root + 1)] = ints(root, count)
        COMM.Gather(MPI.IN_PLACE, got, root=root)
        check(f"Gather in place {count} root={root}", got, want)
    else:
        COMM.Gather(ints(RANK, count), None, root=root)


def scatter(count, root):
    sent = ints(root, count * SIZE)
    want = sent[count * RANK : count * (RANK + 1)]
    got = empty(count)
    COMM.Scatter(sent if RANK == root else None, got, root=root)
    check(f"Scatter {count} root={root}", got, want)

    # Every rank but the root receives every second integer.
    strided = MPI.INT.Create_vector(count, 1, 2).Commit()
    got = empty(2 * count)
    if RANK == root:
        COMM.Scatter(sent, MPI.IN_PLACE, root=root)
    else:
        COMM.Scatter(None, [got, 1, strided], root=root)
    gap = empty(count)
    check(f"Scatter vector {count} root={root}", (got[::2], got[1::2]), (gap if RANK == root else want, gap))
    strided.Free()


def gatherv_and_scatterv(count, root):
    """Blocks lie in descending order of ranks; the first of three ranks has none."""
    counts = [count * ((rank + 1) % 3) for rank in range(SIZE)]
    starts = [sum(counts[rank + 1 :]) for rank in range(SIZE)]
    whole = empty(sum(counts))
    for rank in range(SIZE):
        whole[starts[rank] : starts[rank] + counts[rank]] = ints(rank, counts[rank])
    mine, here = ints(RANK, counts[RANK]), slice(starts[RANK], starts[RANK] + counts[RANK])

    got = empty(sum(counts))
    COMM.Gatherv(mine, [got, counts, starts, MPI.INT] if RANK == root else None, root=root)
    check(f"Gatherv {count} root={root}", got, whole if RANK == root else empty(sum(counts)))
    got[here] = mine
    if RANK == root:
        COMM.Gatherv(MPI.IN_PLACE, [got, counts, starts, MPI.INT], root=root)
        check(f"Gatherv in place {count} root={root}", got, whole)
    else:
        COMM.Gatherv(mine, None, root=root)

    got = empty(counts[RANK])
    COMM.Scatterv([whole, counts, starts, MPI.INT] if RANK == root else None, got, root=root)
    check(f"Scatterv {count} root={root}", got, mine)
    got = empty(counts[RANK])
    if RANK == root:
        COMM.Scatterv([whole, counts, starts, MPI.INT], MPI.IN_PLACE, root=root)
    else:
        COMM.Scatterv(None, got, root=root)
    check(f"Scatterv in place {count} root={root}", got, empty(counts[RANK]) if RANK == root else mine)


def allgather(count):
    want = array("i")
    for rank in range(SIZE):
        want.extend(ints(rank, count))
    got = empty(count * SIZE)
    COMM.Allgather(ints(RANK, count), got)
    check(f"Allgather {count}", got, want)
    got = empty(count * SIZE)
    got[count * RANK : count * (RANK + 1)] = ints(RANK, count)
    COMM.Allgather(MPI.IN_PLACE, got)
    check(f"Allgather in place {count}", got, want)

    # Odd ranks send one element of a derived type.
    whole = MPI.INT.Create_contiguous(count).Commit()
    got = empty(count * SIZE)
    mine = ints(RANK, count)
    COMM.Allgather([mine, 1, whole] if RANK % 2 else [mine, count, MPI.INT], [got, count, MPI.INT])
    check(f"Allgather derived {count}", got, want)
    whole.Free()


def allgatherv(count):
    counts = [count * ((rank + 1) % 3) for rank in range(SIZE)]
    starts = [sum(counts[rank + 1 :]) for rank in range(SIZE)]
    want = empty(sum(counts))
    for rank in range(SIZE):
        want[starts[rank] : starts[rank] + counts[rank]] = ints(rank, counts[rank])
    mine, here = ints(RANK, counts[RANK]), slice(starts[RANK], starts[RANK] + counts[RANK])
    got = empty(sum(counts))
    COMM.Allgatherv(mine, [got, counts, starts, MPI.INT])
    check(f"Allgatherv {count}", got, want)
    got = empty(sum(counts))
    got[here] = mine
    COMM.Allgatherv(MPI.IN_PLACE, [got, counts, starts, MPI.INT])
    check(f"Allgatherv in place {count}", got, want)


def reduce_scatter(count):
    want = sums(count * SIZE)[count * RANK : count * (RANK + 1)]
    got = empty(count)
    COMM.Reduce_scatter_block(ints(RANK, count * SIZE), got, op=MPI.SUM)
    check(f"Reduce_scatter_block {count}", got, want)
    got = ints(RANK, count * SIZE)
    COMM.Reduce_scatter_block(MPI.IN_PLACE, got, op=MPI.SUM)
    check(f"Reduce_scatter_block in place {count}", got[:count], want)

    counts = [count * ((rank + 1) % 3) for rank in range(SIZE)]
    first, own, total = sum(counts[:RANK]), counts[RANK], sum(counts)
    want = sums(total)[first : first + own]
    got = empty(own)
    COMM.Reduce_scatter(ints(RANK, total), got, counts, op=MPI.SUM)
    check(f"Reduce_scatter {count}", got, want)
    got = ints(RANK, total)
    COMM.Reduce_scatter(MPI.IN_PLACE, got, counts, op=MPI.SUM)
    check(f"Reduce_scatter in place {count}", got[:own], want)


def main():
    for count in (1, 1000, 8000):
        for root in sorted({0, SIZE // 2, SIZE - 1}):
            bcast(count, root)
            reductions(count, root)
            gather(count, root)
            scatter(count, root)
            gatherv_and_scatterv(count, root)
        maxloc(count)
        alltoall(count)
        alltoallv(count)
        alltoallw(count)
        allgather(count)
        allgatherv(count)
        reduce_scatter(count)
    if RANK:
        COMM.send(CASES, dest=0, tag=1)
    else:
        print(f"PASS buffers cases={CASES + sum(COMM.recv(source=r, tag=1) for r in range(1, SIZE))}")


if __name__ == "__main__":
    main()
