! Four collectives that Nagare accelerates, each with blocks of 256 KiB and checked. The
! program knows nothing of Nagare: run it with and without.
!
!   mpif90 -std=f2008 -O2 -o hello_f hello.f90
!   mpirun -np 4 ./hello_f
!   mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 ./hello_f      # Open MPI
!   mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 ./hello_f   # MPICH
!
! NAGARE_REPORT=stderr shows which algorithm ran. Prints OK, or exits with status 1.

program hello
  use, intrinsic :: iso_fortran_env, only: dp => real64, error_unit
  use mpi_f08
  implicit none

  integer, parameter :: n = 32768                ! numbers in a block: 256 KiB
  real(dp), allocatable :: out(:, :), in(:, :)   ! (n, ranks): one block per rank
  real(dp) :: rank_sum
  integer :: rank, ranks, other, wrong, all_wrong

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (out(n, 0:ranks - 1), in(n, 0:ranks - 1))
  rank_sum = ranks * (ranks - 1) / 2
  wrong = 0

  in = 0
  if (rank == ranks - 1) in(:, 0) = block(7.0_dp, 1)
  call MPI_Bcast(in, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD)
  wrong = wrong + count(differ(in(:, 0), block(7.0_dp, 1)))

  out(:, 0) = block(real(rank, dp), 1)
  call MPI_Allreduce(out, in, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  wrong = wrong + count(differ(in(:, 0), block(rank_sum, ranks)))

  out(:, 0) = block(2.0_dp * rank, 3)
  call MPI_Reduce(out, in, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) wrong = wrong + count(differ(in(:, 0), block(2 * rank_sum, 3 * ranks)))

  ! The block from rank s to rank d starts with 1000 s + d.
  do other = 0, ranks - 1
    out(:, other) = block(1000.0_dp * rank + other, 1)
  end do
  call MPI_Alltoall(out, n, MPI_DOUBLE_PRECISION, in, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
  do other = 0, ranks - 1
    wrong = wrong + count(differ(in(:, other), block(1000.0_dp * other + rank, 1)))
  end do

  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'OK'
  if (rank == 0 .and. all_wrong /= 0) write (error_unit, '(a,i0,a)') 'hello: ', all_wrong, ' elements are wrong'
  call MPI_Finalize()
  if (all_wrong /= 0) stop 1

contains

  ! first, first + step, first + 2 step, ...
  pure function block(first, step) result(values)
    real(dp), intent(in) :: first
    integer, intent(in) :: step
    real(dp) :: values(n)
    integer :: i

    values = [(first + real(step, dp) * i, i = 0, n - 1)]
  end function block

  ! Exact, because all numbers here are small integers; true for a NaN too.
  elemental logical function differ(a, b)
    real(dp), intent(in) :: a, b

    differ = .not. (a >= b .and. a <= b)
  end function differ

end program hello
