//! The arguments of each function that programs call, from its parameters.

use super::arguments::{Arguments, Form};
use crate::buffers::blocks::{Blocks, TypedBlocks};
use crate::buffers::datatype::Typed;
use crate::buffers::numbers::Numbers;
use crate::real::handles::RawHandle;
use mpi::ffi::MPI_Datatype;
use nagare_plan::collective::Collective;
use std::ffi::{c_int, c_void};

/// One for every row of the list of signatures (`real/signatures.rs`), which the parameters are those of.
#[allow(clippy::too_many_arguments, reason = "as many as the functions of MPI have")]
impl Arguments {
    #[inline]
    pub fn bcast(data: *mut c_void, count: impl Into<i64>, of: RawHandle, root: c_int, comm: RawHandle) -> Self {
        let data = typed(data, count, of);
        Self { root, ..Self::moved(Collective::Bcast, data, data, comm) }
    }

    #[inline]
    pub fn gather(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_count: impl Into<i64>,
        receive_type: RawHandle,
        root: c_int,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, receive_count, receive_type));
        Self { root, ..Self::moved(Collective::Gather, input, output, comm) }
    }

    #[inline]
    pub fn gatherv(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        receive_type: RawHandle,
        root: c_int,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, 0, receive_type));
        let form = Form::RootBlocks(Blocks { counts: receive_counts.into(), displacements: displacements.into() });
        Self { root, form, ..Self::moved(Collective::Gatherv, input, output, comm) }
    }

    #[inline]
    pub fn scatterv(
        send: *const c_void,
        send_counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_count: impl Into<i64>,
        receive_type: RawHandle,
        root: c_int,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, 0, send_type), typed(receive, receive_count, receive_type));
        let form = Form::RootBlocks(Blocks { counts: send_counts.into(), displacements: displacements.into() });
        Self { root, form, ..Self::moved(Collective::Scatterv, input, output, comm) }
    }

    #[inline]
    pub fn scatter(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_count: impl Into<i64>,
        receive_type: RawHandle,
        root: c_int,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, receive_count, receive_type));
        Self { root, ..Self::moved(Collective::Scatter, input, output, comm) }
    }

    #[inline]
    pub fn allgather(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_count: impl Into<i64>,
        receive_type: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, receive_count, receive_type));
        Self::moved(Collective::Allgather, input, output, comm)
    }

    #[inline]
    pub fn allgatherv(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        receive_type: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, 0, receive_type));
        let blocks = Blocks { counts: receive_counts.into(), displacements: displacements.into() };
        Self { form: Form::GatheredBlocks(blocks), ..Self::moved(Collective::Allgatherv, input, output, comm) }
    }

    #[inline]
    pub fn alltoall(
        send: *const c_void,
        send_count: impl Into<i64>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_count: impl Into<i64>,
        receive_type: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, send_count, send_type), typed(receive, receive_count, receive_type));
        Self::moved(Collective::Alltoall, input, output, comm)
    }

    #[inline]
    pub fn alltoallv(
        send: *const c_void,
        send_counts: impl Into<Numbers>,
        send_displacements: impl Into<Numbers>,
        send_type: RawHandle,
        receive: *mut c_void,
        receive_counts: impl Into<Numbers>,
        receive_displacements: impl Into<Numbers>,
        receive_type: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, 0, send_type), typed(receive, 0, receive_type));
        let form = Form::Blocks([
            Blocks { counts: send_counts.into(), displacements: send_displacements.into() },
            Blocks { counts: receive_counts.into(), displacements: receive_displacements.into() },
        ]);
        Self { form, ..Self::moved(Collective::Alltoallv, input, output, comm) }
    }

    #[inline]
    pub fn alltoallw(
        send: *const c_void,
        send_counts: impl Into<Numbers>,
        send_displacements: impl Into<Numbers>,
        send_types: *const MPI_Datatype,
        receive: *mut c_void,
        receive_counts: impl Into<Numbers>,
        receive_displacements: impl Into<Numbers>,
        receive_types: *const MPI_Datatype,
        comm: RawHandle,
    ) -> Self {
        let (input, output) = (typed(send, 0, RawHandle(0)), typed(receive, 0, RawHandle(0)));
        let sent = Blocks { counts: send_counts.into(), displacements: send_displacements.into() };
        let received = Blocks { counts: receive_counts.into(), displacements: receive_displacements.into() };
        let form = Form::TypedBlocks([
            TypedBlocks { blocks: sent, types: send_types },
            TypedBlocks { blocks: received, types: receive_types },
        ]);
        Self { form, ..Self::moved(Collective::Alltoallw, input, output, comm) }
    }

    #[inline]
    pub fn reduce(
        send: *const c_void,
        receive: *mut c_void,
        count: impl Into<i64>,
        of: RawHandle,
        op: RawHandle,
        root: c_int,
        comm: RawHandle,
    ) -> Self {
        Self { root, ..Self::combined(Collective::Reduce, [send, receive], count, of, op, comm) }
    }

    #[inline]
    pub fn allreduce(
        send: *const c_void,
        receive: *mut c_void,
        count: impl Into<i64>,
        of: RawHandle,
        op: RawHandle,
        comm: RawHandle,
    ) -> Self {
        Self::combined(Collective::Allreduce, [send, receive], count, of, op, comm)
    }

    /// Both buffers are of one block; the vector of the input has one for every rank.
    #[inline]
    pub fn reduce_scatter_block(
        send: *const c_void,
        receive: *mut c_void,
        count: impl Into<i64>,
        of: RawHandle,
        op: RawHandle,
        comm: RawHandle,
    ) -> Self {
        Self::combined(Collective::ReduceScatterBlock, [send, receive], count, of, op, comm)
    }

    #[inline]
    pub fn reduce_scatter(
        send: *const c_void,
        receive: *mut c_void,
        counts: impl Into<Numbers>,
        of: RawHandle,
        op: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let form = Form::CombinedBlocks(op.into(), counts.into());
        Self { form, ..Self::combined(Collective::ReduceScatter, [send, receive], 0, of, op, comm) }
    }

    #[inline]
    fn moved(collective: Collective, input: Typed, output: Typed, comm: RawHandle) -> Self {
        Self { collective, input, output, form: Form::Moved, root: 0, comm: comm.into() }
    }

    #[inline]
    fn combined(
        collective: Collective,
        [send, receive]: [*const c_void; 2],
        count: impl Into<i64>,
        of: RawHandle,
        op: RawHandle,
        comm: RawHandle,
    ) -> Self {
        let count = count.into();
        let (input, output) = (typed(send, count, of), typed(receive, count, of));
        Self { collective, input, output, form: Form::Combined(op.into()), root: 0, comm: comm.into() }
    }
}

#[inline]
fn typed(address: *const c_void, count: impl Into<i64>, datatype: RawHandle) -> Typed {
    Typed { address: address.cast_mut(), count: count.into(), datatype: datatype.into() }
}
