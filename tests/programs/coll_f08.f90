! The collectives through the module mpi_f08: interfaces, every handle a type of its own.
program coll_f08
   use mpi_f08
   implicit none
   character(*), parameter :: program_name = 'coll_f08'
   type(MPI_Comm) :: comm
   type(MPI_Datatype) :: absolute_type, block_types(0:63)
   integer :: rank, ranks, cases, ierror
   call MPI_Init(ierror)
   call run_all()
   call MPI_Finalize(ierror)
contains
   include 'coll_body.inc'
end program
