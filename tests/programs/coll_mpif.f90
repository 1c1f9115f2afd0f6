! The collectives through include 'mpif.h': no interfaces, every handle an integer. Compile it with
! -fallow-argument-mismatch.
program coll_mpif
   implicit none
   include 'mpif.h'
   character(*), parameter :: program_name = 'coll_mpif'
   integer :: comm, absolute_type, block_types(0:63)
   integer :: rank, ranks, cases, ierror
   call MPI_Init(ierror)
   call run_all()
   call MPI_Finalize(ierror)
contains
   include 'coll_body.inc'
end program
