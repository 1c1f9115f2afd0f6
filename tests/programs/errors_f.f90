! Invalid calls through "use mpi": the class that each returns and the class that the error handler gets. The test
! compares both with a run on the stock library.
program errors_f
   use mpi
   implicit none
   integer, parameter :: n = 20000
   integer :: own, handler, rank, ranks, ierror, round, cases, heard_calls, heard_code
   integer :: a(n), b(n)
   character(7) :: by
   cases = 0
   call MPI_Init(ierror)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
   call MPI_Comm_dup(MPI_COMM_WORLD, own, ierror)
   call MPI_Comm_create_errhandler(on_error, handler, ierror)
   do round = 1, 2
      by = merge('return ', 'handler', round == 1)
      call MPI_Comm_set_errhandler(own, merge(MPI_ERRORS_RETURN, handler, round == 1), ierror)
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, merge(MPI_ERRORS_RETURN, handler, round == 1), ierror)
      call MPI_Comm_set_errhandler(MPI_COMM_SELF, merge(MPI_ERRORS_RETURN, handler, round == 1), ierror)
      call attempt_all()
   end do
   call MPI_Errhandler_free(handler, ierror)
   call MPI_Comm_free(own, ierror)
   call sum_cases()
   call MPI_Finalize(ierror)
contains
   subroutine attempt_all()
      integer :: code
      call begin()
      call MPI_Bcast(a, n, MPI_INTEGER, 0, own, code)
      call tell('bcast valid', code)
      call MPI_Bcast(a, n, MPI_INTEGER, ranks, own, code)
      call tell('bcast root_too_large', code)
      call MPI_Bcast(a, n, MPI_INTEGER, -7, own, code)
      call tell('bcast root_negative', code)
      call MPI_Bcast(a, -1, MPI_INTEGER, 0, own, code)
      call tell('bcast count_negative', code)
      call MPI_Bcast(a, n, MPI_DATATYPE_NULL, 0, own, code)
      call tell('bcast type_null', code)
      call MPI_Bcast(a, n, MPI_INTEGER, 0, MPI_COMM_NULL, code)
      call tell('bcast comm_null', code)
      call MPI_Reduce(a, b, n, MPI_INTEGER, MPI_SUM, ranks, own, code)
      call tell('reduce root_too_large', code)
      call MPI_Reduce(a, b, n, MPI_INTEGER, MPI_OP_NULL, 0, own, code)
      call tell('reduce op_null', code)
      call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_OP_NULL, own, code)
      call tell('allreduce op_null', code)
      call MPI_Allreduce(a, b, n/2, MPI_REAL8, MPI_BAND, own, code)
      call tell('allreduce op_not_for_real', code)
      call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_NULL, code)
      call tell('allreduce comm_null', code)
      call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, own, code)
      call tell('allreduce valid', code)
   end subroutine

   subroutine begin()
      heard_calls = 0
      heard_code = MPI_SUCCESS
      a = 1
   end subroutine

   subroutine on_error(comm, code)
      integer :: comm, code
      heard_calls = heard_calls + 1
      heard_code = code
      if (comm == MPI_COMM_NULL) heard_calls = -1
   end subroutine

   ! Rank 0 prints every rank's line.
   subroutine tell(what, code)
      character(*), intent(in) :: what
      integer, intent(in) :: code
      integer :: told(3), from, class
      told = [class_of(code), heard_calls, class_of(heard_code)]
      do from = 0, ranks - 1
         if (rank == 0 .and. from > 0) &
            call MPI_Recv(told, 3, MPI_INTEGER, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, class)
         if (rank == from .and. from > 0) call MPI_Send(told, 3, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, class)
         if (rank == 0) print '(4a,i0,3(a,i0))', what, ' ', trim(by), ' rank=', from, ' class=', told(1), &
            ' calls=', told(2), ' heard=', told(3)
      end do
      cases = cases + 1
      call begin()
   end subroutine

   integer function class_of(code)
      integer, intent(in) :: code
      integer :: ierr
      class_of = MPI_SUCCESS
      if (code /= MPI_SUCCESS) call MPI_Error_class(code, class_of, ierr)
   end function

   subroutine sum_cases()
      if (rank == 0) print '(a,i0)', 'PASS errors_f cases=', cases*ranks
   end subroutine
end program
