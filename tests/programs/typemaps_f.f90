! Types made of Fortran 90's parametrised ones, which are predefined and have no name: nested, dense, with gaps,
! overlapping. Each is sent as it is and received as plain values, and every rank compares these with what it computes
! from the index that each value has within an element.
program typemaps_f
   use mpi
   implicit none
   integer, parameter :: n = 3000
   integer(MPI_ADDRESS_KIND) :: lower, bytes
   integer :: real_type, integer_type, complex_type, made, inner, rank, ranks, ierror, cases
   cases = 0
   call MPI_Init(ierror)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
   call MPI_Type_create_f90_real(6, 30, real_type, ierror)
   call MPI_Type_create_f90_integer(15, integer_type, ierror)
   call MPI_Type_create_f90_complex(6, 30, complex_type, ierror)
   call made_of(real_type, 'real')
   call made_of(integer_type, 'integer')
   call made_of(complex_type, 'complex')
   call sum_cases()
   call MPI_Finalize(ierror)
contains
   subroutine made_of(basic, name)
      integer, intent(in) :: basic
      character(*), intent(in) :: name
      call MPI_Type_get_extent(basic, lower, bytes, ierror)
      call MPI_Type_dup(basic, made, ierror)
      call use_and_free(basic, name//' dup', 1, [1])
      call MPI_Type_contiguous(4, basic, made, ierror)
      call use_and_free(basic, name//' contiguous', 4, [1, 2, 3, 4])
      call MPI_Type_create_subarray(2, [3, 2], [3, 2], [0, 0], MPI_ORDER_FORTRAN, basic, made, ierror)
      call use_and_free(basic, name//' subarray', 6, [1, 2, 3, 4, 5, 6])
      call MPI_Type_create_subarray(2, [3, 2], [2, 2], [1, 0], MPI_ORDER_FORTRAN, basic, made, ierror)
      call use_and_free(basic, name//' part of an array', 6, [2, 3, 5, 6])
      call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, bytes], [basic, basic], inner, ierror)
      call MPI_Type_contiguous(2, inner, made, ierror)
      call MPI_Type_free(inner, ierror)
      call use_and_free(basic, name//' nested', 6, [1, 2, 3, 4, 5, 6])
      call MPI_Type_indexed(3, [2, 1, 1], [0, 1, 3], basic, inner, ierror)
      call MPI_Type_dup(inner, made, ierror)
      call MPI_Type_free(inner, ierror)
      call use_and_free(basic, name//' overlapping', 4, [1, 2, 2, 4])
   end subroutine

   ! Values of eight bytes at most: the first of them say whose and which it is, as integers.
   subroutine use_and_free(basic, name, extent, at)
      integer, intent(in) :: basic, extent, at(:)
      character(*), intent(in) :: name
      integer, allocatable :: sent(:), got(:), counts(:), starts(:), plain_counts(:), plain_starts(:)
      integer :: words, values, root, r
      words = int(bytes)/4
      values = size(at)*n
      root = ranks - 1
      call MPI_Type_commit(made, ierror)
      allocate (sent(words*extent*n*ranks), got(words*values*ranks))
      sent = [(rank*1000003 + r, r=1, size(sent))]
      got = -1
      if (rank == root) then
         call MPI_Bcast(sent, n, made, root, MPI_COMM_WORLD, ierror)
      else
         call MPI_Bcast(got, values, basic, root, MPI_COMM_WORLD, ierror)
         call expect(name//' bcast', extent, at, got, root, 0)
      end if
      got = -1
      call MPI_Gather(sent, n, made, got, values, basic, root, MPI_COMM_WORLD, ierror)
      do r = 0, merge(ranks, 0, rank == root) - 1
         call expect(name//' gather', extent, at, got(r*words*values + 1:), r, 0)
      end do
      got = -1
      call MPI_Scatter(sent, n, made, got, values, basic, root, MPI_COMM_WORLD, ierror)
      call expect(name//' scatter', extent, at, got, root, rank)
      got = -1
      call MPI_Allgather(sent, n, made, got, values, basic, MPI_COMM_WORLD, ierror)
      do r = 0, ranks - 1
         call expect(name//' allgather', extent, at, got(r*words*values + 1:), r, 0)
      end do
      got = -1
      call MPI_Alltoall(sent, n, made, got, values, basic, MPI_COMM_WORLD, ierror)
      do r = 0, ranks - 1
         call expect(name//' alltoall', extent, at, got(r*words*values + 1:), r, rank)
      end do
      got = -1
      counts = [(n, r=1, ranks)]
      starts = [((r - 1)*n, r=1, ranks)]
      plain_counts = [(values, r=1, ranks)]
      plain_starts = [((r - 1)*values, r=1, ranks)]
      call MPI_Alltoallv(sent, counts, starts, made, got, plain_counts, plain_starts, basic, MPI_COMM_WORLD, ierror)
      do r = 0, ranks - 1
         call expect(name//' alltoallv', extent, at, got(r*words*values + 1:), r, rank)
      end do
      call MPI_Type_free(made, ierror)
      cases = cases + 5
   end subroutine

   ! Block `block` of what rank `of` sent.
   subroutine expect(what, extent, at, data, of, block)
      character(*), intent(in) :: what
      integer, intent(in) :: extent, at(:), data(:), of, block
      integer :: element, k, w, words, got, want
      words = int(bytes)/4
      do element = 0, n - 1
         do k = 1, size(at)
            do w = 1, words
               got = data((element*size(at) + k - 1)*words + w)
               want = of*1000003 + ((block*n + element)*extent + at(k) - 1)*words + w
               if (got == want) cycle
               print '(a,i0,2a,3(a,i0))', 'FAIL typemaps_f: rank=', rank, ' ', what, ' element=', element, &
                  ' got=', got, ' expected=', want
               call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
            end do
         end do
      end do
   end subroutine

   subroutine sum_cases()
      integer :: r, theirs
      do r = 1, ranks - 1
         if (rank == r) call MPI_Send(cases, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierror)
         if (rank /= 0) cycle
         call MPI_Recv(theirs, 1, MPI_INTEGER, r, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
         cases = cases + theirs
      end do
      if (rank == 0) print '(a,i0)', 'PASS typemaps_f cases=', cases
   end subroutine
end program
