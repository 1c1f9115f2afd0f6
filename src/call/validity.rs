//! Which calls are the library's to judge, since it may have an error for their arguments.

use super::arguments::{Arguments, Form};
use crate::buffers::blocks::Blocks;
use crate::buffers::datatype::{self, Shape, Typed};
use crate::comm::record::Communicator;
use crate::real::Real;
use crate::real::cvar::looks_for_aliases;
use crate::real::handles::IN_PLACE;
use crate::world::shim::Shim;
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

impl Arguments {
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
            // Of two types one may leave out what the other has.
            let is_of_one_type = !self.has_two_types() || self.input.datatype == self.output.datatype;
            let aliased = !self.in_place() && is_of_one_type && self.input.address == self.output.address;
            // Open MPI does not check those of Reduce_scatter, and a rank without a block would decide otherwise than
            // the rest.
            let aliased = aliased && (cfg!(mpi_family = "mpich") || !self.collective.scatters());
            // Two buffers of absolute addresses are both "at" null.
            if has_output && aliased && !self.input.address.is_null() && looks_for_aliases(shim.real) {
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
        let is_own_place = || is_where_it_belongs(shim.real, self.input, self.output, self.own_place(record.rank).0);
        if self.gathers() && has_output && has_block && is_own_place() {
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
        let before = i64::from(rank).wrapping_mul(sent.count);
        let is_own = || is_where_it_belongs(shim.real, received, sent, before);
        bytes_of_block() == Some(bytes) && !null(received) && !is_own()
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
        // SAFETY: `own_of_root` has found both arrays, in which MPI demands an entry for every rank.
        let before = unsafe { blocks.displacements.of(record.rank as usize) };
        let is_own = || own.count > 0 && is_where_it_belongs(shim.real, own, all, before);
        bytes(own) == bytes(among_all) && !is_own()
    }
}

/// Whether MPICH has an error for a rank's own block since it is where it belongs, though not called so by
/// `MPI_IN_PLACE`: where the block of `all` is that has so many elements before it, each taken to be as long as its
/// data, if both have one type. Open MPI takes such calls, and programs make them.
fn is_where_it_belongs(real: &Real, own: Typed, all: Typed, before: i64) -> bool {
    let size = || i64::try_from(datatype::size(real, all.datatype)?).ok();
    let is_there = |size| own.address == all.address.wrapping_byte_offset(before.wrapping_mul(size) as isize);
    let is_looked_at = cfg!(mpi_family = "mpich") && own.datatype == all.datatype && !own.address.is_null();
    is_looked_at && size().is_some_and(is_there) && looks_for_aliases(real)
}
