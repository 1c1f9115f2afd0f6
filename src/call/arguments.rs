//! The arguments of an intercepted call: what they are about, and which are the library's to judge.

use crate::buffers::blocks::{Blocks, Side, TypedBlocks};
use crate::buffers::contents::extent;
use crate::buffers::datatype::{self, Shape, Typed};
use crate::buffers::device;
use crate::buffers::numbers::Numbers;
use crate::comm::record::Communicator;
use crate::comm::registry;
use crate::real::Real;
use crate::real::handles::IN_PLACE;
use crate::world::shim::Shim;
use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Op};
use nagare_config::DeviceMemory;
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// The arguments of an intercepted call.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Which call.
    pub collective: Collective,
    /// What this rank contributes; the address may be `MPI_IN_PLACE`. For Bcast the same as `output`; for Scatter of
    /// meaning at the root only. Where the result is cut in blocks, the count is that of a block, or none where the
    /// form has them.
    pub input: Typed,
    /// Where the result goes; for Gather of meaning at the root only. Of a Scatter the address may be `MPI_IN_PLACE`.
    pub output: Typed,
    /// What else there is.
    pub form: Form,
    /// Root, for rooted collectives.
    pub root: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

/// The few shapes that calls have.
#[derive(Clone, Copy)]
pub enum Form {
    /// Two buffers: Bcast, where they are one, Gather, Scatter, Allgather, Alltoall.
    Moved,
    /// What is sent and what is received have a count and a place for every rank: Alltoallv.
    Blocks([Blocks; 2]),
    /// The same with a type for every rank: Alltoallw; input and output have none.
    TypedBlocks([TypedBlocks; 2]),
    /// What is received has a count and a place for every rank, the same counts on all ranks: Allgatherv.
    GatheredBlocks(Blocks),
    /// At the root what is received, or sent, has a count and a place for every rank; the others know their own count:
    /// Gatherv, Scatterv.
    RootBlocks(Blocks),
    /// Elements are combined: Reduce, Allreduce, Reduce_scatter_block.
    Combined(MPI_Op),
    /// Elements are combined, and every rank gets so many, the same numbers on all ranks: Reduce_scatter.
    CombinedBlocks(MPI_Op, Numbers),
}

/// The two sides of a call in which a rank may know its own blocks only.
pub struct Sides {
    /// What is sent; `None` if it is in the receive buffer.
    pub sent: Option<Side>,
    /// What is received; `None` if it stays in the send buffer.
    pub received: Option<Side>,
}

impl Sides {
    /// Mean bytes of a block.
    pub fn mean(&self) -> u64 {
        self.received.as_ref().or(self.sent.as_ref()).map_or(0, Side::mean)
    }

    /// Whether something is so for all types that something is done with.
    pub fn all_types(&self, is_so: impl Fn(MPI_Datatype) -> bool) -> bool {
        self.sent.iter().chain(&self.received).all(|side| side.all_types(&is_so))
    }
}

impl Arguments {
    /// Bytes of the vector; for Alltoall per rank pair, for Alltoallv and Alltoallw all that this rank sends, for
    /// Gatherv and Scatterv its own block, for what else has blocks one of them, for Allgatherv and Reduce_scatter
    /// their mean, rounded up.
    ///
    /// # Errors
    /// The reason to leave the call to the library, where that is certain so far.
    #[inline]
    pub fn bytes(&self, shim: &Shim) -> Result<u64, Reason> {
        match &self.form {
            Form::Blocks(blocks) => return self.bytes_sent(shim, blocks),
            Form::TypedBlocks([sent, received]) => {
                let ranks = self.within_group(shim)?.size;
                let blocks = if self.in_place() { received } else { sent };
                // SAFETY: MPI demands an entry for every rank.
                return unsafe { blocks.bytes(shim.real, ranks) }.ok_or(Reason::Argument);
            }
            Form::RootBlocks(blocks) => return self.own_bytes(shim, blocks),
            Form::CombinedBlocks(_, counts) | Form::GatheredBlocks(Blocks { counts, .. }) => {
                return self.mean_bytes(shim, *counts);
            }
            Form::Moved | Form::Combined(_) => {}
        }
        // Between groups the root of a Gather has nothing to send, and that of a Scatter nothing to receive: not even a
        // type means anything.
        if matches!(self.collective, Collective::Gather | Collective::Scatter) && self.root < 0 {
            let between = self.record(shim)?.inter;
            return Err(if between { Reason::Intercommunicator } else { Reason::Argument });
        }
        // Only the root of a Gather or Scatter may say so; count and type of its other side mean nothing elsewhere.
        let is_of_root = matches!(self.collective, Collective::Gather | Collective::Scatter);
        if is_of_root && self.in_place() && self.root as Rank != self.within_group(shim)?.rank {
            return Err(Reason::Argument);
        }
        let Typed { count, datatype, .. } = self.significant();
        if count <= 0 {
            return Err(if count == 0 { Reason::Empty } else { Reason::Argument });
        }
        let size = datatype::size(shim.real, datatype).ok_or(Reason::Argument)?;
        match size.saturating_mul(count as u64) {
            0 => Err(Reason::Empty),
            bytes => Ok(bytes),
        }
    }

    fn bytes_sent(&self, shim: &Shim, [sent, received]: &[Blocks; 2]) -> Result<u64, Reason> {
        let ranks = self.within_group(shim)?.size;
        let (side, blocks) = if self.in_place() { (self.output, received) } else { (self.input, sent) };
        // SAFETY: MPI demands an entry for every rank.
        let elements = unsafe { blocks.elements(ranks) }.ok_or(Reason::Argument)?;
        if elements == 0 {
            return Ok(0);
        }
        datatype::size(shim.real, side.datatype).map(|size| size.saturating_mul(elements)).ok_or(Reason::Argument)
    }

    fn own_bytes(&self, shim: &Shim, blocks: &Blocks) -> Result<u64, Reason> {
        let record = self.within_group(shim)?;
        let own = if self.in_place() { self.own_of_root(blocks, record)? } else { self.own_and_all()[0] };
        match own.count {
            ..0 => Err(Reason::Argument),
            0 => Ok(0),
            count => {
                let size = datatype::size(shim.real, own.datatype).ok_or(Reason::Argument)?;
                Ok(size.saturating_mul(count as u64))
            }
        }
    }

    /// The root's own block among those of all ranks, without its address.
    fn own_of_root(&self, blocks: &Blocks, record: &Communicator) -> Result<Typed, Reason> {
        // SAFETY: MPI demands an entry for every rank, at the root.
        let is_there = || unsafe { blocks.elements(record.size) }.is_some();
        if self.root != record.rank as c_int || !is_there() {
            return Err(Reason::Argument);
        }
        // SAFETY: as above.
        let count = unsafe { blocks.counts.of(record.rank as usize) };
        Ok(Typed { count, ..self.own_and_all()[1] })
    }

    /// Of Gatherv and Scatterv: the side of a rank's own block, and that of all, of meaning at the root only.
    fn own_and_all(&self) -> [Typed; 2] {
        if self.is_scatter() { [self.output, self.input] } else { [self.input, self.output] }
    }

    fn mean_bytes(&self, shim: &Shim, counts: Numbers) -> Result<u64, Reason> {
        let record = self.within_group(shim)?;
        // SAFETY: MPI demands an entry for every rank.
        let elements = unsafe { counts.total(record.size) }.ok_or(Reason::Argument)?;
        if elements == 0 {
            return Err(Reason::Empty);
        }
        let size = datatype::size(shim.real, self.output.datatype).ok_or(Reason::Argument)?;
        match size.saturating_mul(elements) {
            0 => Err(Reason::Empty),
            bytes => Ok(bytes.div_ceil(u64::from(record.size))),
        }
    }

    /// The communicator's record, which knows the number of ranks: a thread finds the one that it used last without
    /// asking the library.
    fn record<'c>(&self, shim: &Shim) -> Result<&'c Communicator, Reason> {
        if !shim.setup().config.enable {
            return Err(Reason::Disabled);
        }
        if self.comm == shim.real.handles.comm_null {
            return Err(Reason::Argument);
        }
        // SAFETY: not null; the library detects any other handle that is none, or not. The record is used during this
        // call only.
        unsafe { registry::of(shim, self.comm) }
    }

    /// The same, unless it is an intercommunicator's.
    fn within_group<'c>(&self, shim: &Shim) -> Result<&'c Communicator, Reason> {
        let record = self.record(shim)?;
        if record.inter { Err(Reason::Intercommunicator) } else { Ok(record) }
    }

    /// Whether each rank knows the sizes of its own blocks only.
    fn has_own_blocks(&self) -> bool {
        matches!(self.form, Form::Blocks(_) | Form::TypedBlocks(_) | Form::RootBlocks(_))
    }

    /// The operation, for reductions.
    pub fn op(&self) -> Option<MPI_Op> {
        match self.form {
            Form::Combined(op) | Form::CombinedBlocks(op, _) => Some(op),
            _ => None,
        }
    }

    /// Elements of every rank's block, where they differ and are known to all ranks.
    fn counts(&self) -> Option<Numbers> {
        match self.form {
            Form::CombinedBlocks(_, counts) | Form::GatheredBlocks(Blocks { counts, .. }) => Some(counts),
            _ => None,
        }
    }

    /// Bytes that all ranks know, which decisions may be made from: none where each knows its own only.
    pub fn shared(&self, bytes: u64) -> u64 {
        if self.has_own_blocks() { 0 } else { bytes }
    }

    /// Whether calls that run on our algorithms from `floor` bytes on do not take one of `bytes`.
    #[inline]
    pub fn is_below(&self, bytes: u64, floor: u64) -> bool {
        if self.has_own_blocks() { floor == u64::MAX } else { bytes < floor }
    }

    /// The buffer argument whose count and type are significant on every rank.
    pub fn significant(&self) -> Typed {
        let is_received = if self.is_scatter() { !self.in_place() } else { self.has_two_types() && self.in_place() };
        if is_received { self.output } else { self.input }
    }

    /// Whether what is sent and what is received have a count and a type each.
    fn has_two_types(&self) -> bool {
        self.collective == Collective::Alltoall || self.gathers() || self.is_scatter()
    }

    fn is_scatter(&self) -> bool {
        matches!(self.collective, Collective::Scatter | Collective::Scatterv)
    }

    /// Whether this rank's contribution goes to its own place in the result.
    fn gathers(&self) -> bool {
        self.collective == Collective::Gather || self.collective.gathers_all()
    }

    /// Whether this rank's contribution is in the result buffer, or the result stays in that of the contribution.
    pub fn in_place(&self) -> bool {
        let one = if self.is_scatter() { self.output } else { self.input };
        one.address.cast_const() == IN_PLACE
    }

    /// Whether `rank` contributes something.
    pub fn has_input(&self, rank: Rank) -> bool {
        self.collective.has_input(self.root as Rank, rank)
    }

    /// Whether `rank` gets a result.
    pub fn has_output(&self, rank: Rank) -> bool {
        self.collective.has_output(self.root as Rank, rank)
    }

    /// Whether a buffer of this rank is in the memory of a device. What a type of absolute addresses names is taken for
    /// the host's, but in Alltoallw, each of whose blocks is asked about.
    pub fn on_device(&self, shim: &Shim) -> bool {
        let managed_is_host = shim.setup().config.device_memory == DeviceMemory::Managed;
        if let (Form::TypedBlocks([sent, received]), Ok(record)) = (&self.form, self.within_group(shim)) {
            let own = [(sent, self.input), (received, self.output)].into_iter().skip(usize::from(self.in_place()));
            // SAFETY: MPI demands an entry for every rank; in place the arrays of what is sent are left out.
            let of = |(blocks, side): (&TypedBlocks, Typed)| unsafe {
                blocks.addresses(shim.real, side.address, record.size)
            };
            return own.flat_map(of).any(|address| device::holds(address, managed_is_host));
        }
        let [input, output] = match (self.in_place(), self.is_scatter()) {
            (false, _) => [self.input, self.output],
            (true, false) => [self.output; 2],
            (true, true) => [self.input; 2],
        };
        // What a rank has no use for may be any address, of which the driver knows nothing.
        [input, output].iter().any(|buffer| device::holds(buffer.address, managed_is_host))
    }

    /// The buffers with a type and a meaning on `rank`; of what has sides these know.
    pub fn typed(&self, rank: Rank) -> [Typed; 2] {
        if self.is_scatter() {
            return match (self.has_input(rank), self.in_place()) {
                (true, true) => [self.input; 2],
                (true, false) => [self.input, self.output],
                (false, _) => [self.output; 2],
            };
        }
        // Nothing of a rank without a block of its own is gathered.
        let is_empty = self.collective == Collective::Allgatherv && self.input.count == 0;
        match (self.in_place() || is_empty, self.has_output(rank)) {
            (true, _) => [self.output; 2],
            (false, true) => [self.input, self.output],
            (false, false) => [self.input; 2],
        }
    }

    /// Leaves everything to the library that it may have an error for.
    ///
    /// # Errors
    /// [`Reason::Argument`].
    pub fn valid(&self, shim: &Shim, record: &Communicator, bytes: u64) -> Result<(), Reason> {
        let wrong = Err(Reason::Argument);
        if self.collective.is_rooted() && !(0..record.size as c_int).contains(&self.root) {
            return wrong;
        }
        if let Form::RootBlocks(blocks) = &self.form {
            return if self.has_valid_blocks(shim, record, blocks) { Ok(()) } else { wrong };
        }
        if self.is_scatter() {
            return if self.is_valid_scatter(shim, record.rank, bytes) { Ok(()) } else { wrong };
        }
        // SAFETY: `bytes` has found an array, in which MPI demands an entry for every rank.
        let own_count = self.counts().map(|counts| unsafe { counts.of(record.rank as usize) });
        // A rank without a block of its own may have any buffer for it.
        let has_block = own_count != Some(0);
        let has_output = self.has_output(record.rank) && (has_block || self.gathers());
        if matches!(&self.form, Form::GatheredBlocks(blocks) if blocks.displacements.is_null()) {
            return wrong;
        }
        if has_output && self.output.address.cast_const() == IN_PLACE
            || !self.has_output(record.rank) && self.in_place()
        {
            return wrong;
        }
        // Its blocks may lie between one another in one array, and those without data anywhere.
        if matches!(self.form, Form::Blocks(_) | Form::TypedBlocks(_)) {
            return Ok(());
        }
        if self.collective != Collective::Bcast && !self.gathers() {
            let aliased = !self.in_place() && self.input.address == self.output.address;
            // Open MPI does not check those of Reduce_scatter, and a rank without a block would decide otherwise than
            // the rest.
            let aliased = aliased && (cfg!(mpi_family = "mpich") || !self.collective.scatters());
            // Two buffers of absolute addresses are both "at" null.
            if has_output && aliased && !self.input.address.is_null() {
                return wrong;
            }
        }
        if self.has_two_types() && has_output && !self.in_place() {
            let bytes_of =
                |count: i64, of| Some(u64::try_from(count).ok()?.saturating_mul(datatype::size(shim.real, of)?));
            let (count, datatype) = (own_count.unwrap_or(self.output.count), self.output.datatype);
            let contributed = match own_count {
                None => Some(bytes),
                Some(0) if self.input.count == 0 => Some(0),
                Some(_) => bytes_of(self.input.count, self.input.datatype),
            };
            if bytes_of(count, datatype) != contributed {
                return wrong;
            }
        }
        // A contribution that is where it belongs is an error for MPICH alone; programs do it.
        // Of an Allgatherv it looks at blocks with data of one type alone.
        let is_looked_at = own_count.is_none() || has_block && self.input.datatype == self.output.datatype;
        let checked = cfg!(mpi_family = "mpich") && self.gathers() && has_output && is_looked_at;
        let checked = checked && !self.input.address.is_null();
        if checked && self.input.address == self.own_block(shim.real, record.rank).address {
            return wrong;
        }
        // A null address is right only with a type of absolute addresses, which is never plain.
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        let contributes = has_block || !self.gathers();
        let reads = self.collective != Collective::Bcast && !self.in_place() && contributes;
        let uses_output = has_output || self.in_place();
        if reads && null(self.input) || uses_output && null(self.output) { wrong } else { Ok(()) }
    }

    /// Whether the library has no error for a Scatter of `bytes` to every rank, whose root is one.
    fn is_valid_scatter(&self, shim: &Shim, rank: Rank, bytes: u64) -> bool {
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        if !self.has_input(rank) {
            return !self.in_place() && !null(self.output);
        }
        if self.input.address.cast_const() == IN_PLACE || null(self.input) {
            return false;
        }
        if self.in_place() {
            return true;
        }
        let (sent, received) = (self.input, self.output);
        let size = |of| datatype::size(shim.real, of);
        let bytes_of_block = || u64::try_from(sent.count).ok()?.checked_mul(size(sent.datatype)?);
        // A result that is where it comes from is an error for MPICH alone, where both have one type; programs do it.
        let looks = cfg!(mpi_family = "mpich") && sent.datatype == received.datatype && !received.address.is_null();
        let place = (i64::from(rank).wrapping_mul(sent.count), sent.count);
        let is_own = || received.address == block(shim.real, sent, place).address;
        bytes_of_block() == Some(bytes) && !null(received) && !(looks && is_own())
    }

    /// Whether the library has no error for a Gatherv or Scatterv whose root is a rank, as far as counts and addresses
    /// of this rank's own block say.
    fn has_valid_blocks(&self, shim: &Shim, record: &Communicator, blocks: &Blocks) -> bool {
        let [own, all] = self.own_and_all();
        let null = |data: Typed| data.address.is_null() && Shape::of(shim.real, data.datatype).plain;
        let has_null = own.count > 0 && !self.in_place() && null(own);
        if self.root != record.rank as c_int {
            return !self.in_place() && !has_null;
        }
        let Ok(among_all) = self.own_of_root(blocks, record) else { return false };
        if all.address.cast_const() == IN_PLACE || has_null {
            return false;
        }
        if self.in_place() {
            return true;
        }
        let bytes = |of: Typed| match of.count {
            0 => Some(0),
            count => u64::try_from(count).ok()?.checked_mul(datatype::size(shim.real, of.datatype)?),
        };
        // A block that is where it belongs is an error for MPICH alone, where both have one type; programs do it.
        let looks = cfg!(mpi_family = "mpich") && own.count > 0 && own.datatype == all.datatype;
        // SAFETY: `own_of_root` has found both arrays, in which MPI demands an entry for every rank.
        let before = unsafe { blocks.displacements.of(record.rank as usize) };
        let is_own = || own.address == block(shim.real, all, (before, among_all.count)).address;
        bytes(own) == bytes(among_all) && !(looks && !own.address.is_null() && is_own())
    }

    /// The block of `rank`, which gathers, in its result.
    pub fn own_block(&self, real: &Real, rank: Rank) -> Typed {
        let place = match &self.form {
            // SAFETY: `valid` has found both arrays, in which MPI demands an entry for every rank.
            Form::GatheredBlocks(Blocks { counts, displacements }) => unsafe {
                (displacements.of(rank as usize), counts.of(rank as usize))
            },
            _ => (i64::from(rank).wrapping_mul(self.output.count), self.output.count),
        };
        block(real, self.output, place)
    }

    /// The blocks of an Allgatherv on `ranks` ranks, `None` for other collectives.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn gathered(&self, real: &Real, ranks: u32) -> Result<Option<Side>, Reason> {
        let Form::GatheredBlocks(blocks) = &self.form else { return Ok(None) };
        // SAFETY: MPI demands an entry for every rank.
        unsafe { Side::new(real, self.output, blocks, ranks) }.map(Some)
    }

    /// Where the blocks of a result that is cut begin, in elements of the vector, and where the last one ends.
    ///
    /// # Errors
    /// [`Reason::Argument`] where there are more elements than can be counted.
    pub fn bounds(&self, ranks: u32) -> Result<Vec<u64>, Reason> {
        let bounds = match self.counts() {
            // SAFETY: MPI demands an entry for every rank.
            Some(counts) => unsafe { counts.bounds(ranks) },
            None => (0..=u64::from(ranks)).map(|rank| rank.checked_mul(self.output.count as u64)).collect(),
        };
        bounds.ok_or(Reason::Argument)
    }

    /// The sides of an Alltoallv, Alltoallw, Gatherv or Scatterv, `None` for other collectives.
    ///
    /// # Errors
    /// [`Reason::Argument`] where the library has an error to report.
    pub fn sides(&self, real: &Real, record: &Communicator) -> Result<Option<Sides>, Reason> {
        let ranks = record.size;
        match &self.form {
            // SAFETY: MPI demands an entry for every rank.
            Form::Blocks([sent, received]) => unsafe {
                let received = Some(Side::new(real, self.output, received, ranks)?);
                let sent = if self.in_place() { None } else { Some(Side::new(real, self.input, sent, ranks)?) };
                Ok(Some(Sides { sent, received }))
            },
            // SAFETY: as above.
            Form::TypedBlocks([sent, received]) => unsafe {
                let received = Some(Side::of_each(real, self.output.address, received, ranks)?);
                let is_there = !self.in_place();
                let sent = is_there.then(|| Side::of_each(real, self.input.address, sent, ranks)).transpose()?;
                Ok(Some(Sides { sent, received }))
            },
            Form::RootBlocks(blocks) => {
                let [own, all] = self.own_and_all();
                let own = if self.in_place() { None } else { Some(Side::of_one(real, own)?) };
                let all = if self.root == record.rank as c_int {
                    // SAFETY: MPI demands an entry for every rank, at the root.
                    unsafe { Side::new(real, all, blocks, ranks) }?
                } else {
                    Side::nothing(all)
                };
                let [sent, received] = if self.is_scatter() { [Some(all), own] } else { [own, Some(all)] };
                Ok(Some(Sides { sent, received }))
            }
            _ => Ok(None),
        }
    }
}

/// The block of a buffer that has so many elements before it, and so many itself.
fn block(real: &Real, Typed { address, datatype, .. }: Typed, (elements_before, count): (i64, i64)) -> Typed {
    let before = elements_before.wrapping_mul(extent(real, datatype));
    Typed { address: address.wrapping_byte_offset(before as isize), count, datatype }
}
