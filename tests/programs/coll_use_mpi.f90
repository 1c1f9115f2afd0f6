! The collectives through the module mpi: interfaces, every handle an integer.
program coll_use_mpi
   use mpi
   implicit none
   character(*), parameter :: program_name = 'coll_use_mpi'
   integer :: comm, absolute_type, block_types(0:63)
   integer :: rank, ranks, cases, ierror
   call MPI_Init(ierror)
   call run_all()
   call MPI_Finalize(ierror)
contains
   include 'coll_body.inc'
end program
