! FT: a partial differential equation solved with 3-D fast Fourier transforms,
! written from the description in "The NAS Parallel Benchmarks" (Bailey et al.,
! NASA Ames, RNR-94-007, 1994), kernel FT.
!
!   u_t = alpha * laplace(u),  u(0) random  ->  transform forward once, damp each
!   mode by exp(-4 alpha pi^2 |k|^2 t), transform back for t = 1 .. iterations.
!
!   mpif90 -O2 -o ft ft.f90
!   mpirun -np 4 ./ft S                                       # classes S, W, A
!   mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 ./ft S   # Open MPI
!   mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 ./ft S  # MPICH
!
! The last line of output is the result: NAME SECONDS s for the timed part, for all its
! collectives and for each, by the rank where it took longest (waiting for others counts);
! then the verdict. The exit status is 0 when the checksums agree with the published ones,
! 1 when they do not, 2 when the job is not valid.
!
! Data are cut into slabs of z planes before the transpose and slabs of y after it:
! with P ranks, field(nx, ny, nz/P) and spectrum(nx, ny/P, nz).
!
! One file, since an example is to be read from top to bottom; only the transform itself is in ft_fft.f90.

module random_numbers
  ! The benchmark's generator: x <- 5^13 x mod 2^46, uniform number x / 2^46.
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: seed_after, next_uniform

  integer, parameter :: half_bits = 23
  integer(int64), parameter :: half_modulus = 2_int64**half_bits
  integer(int64), parameter :: multiplier = 5_int64**13
  integer(int64), parameter :: first_seed = 314159265_int64

contains

  ! a * b mod 2^46. In halves of 23 bits, because the whole product has 92 bits.
  elemental function multiply(a, b) result(product)
    integer(int64), intent(in) :: a, b
    integer(int64) :: product
    integer(int64) :: a_low, a_high, b_low, b_high, cross

    a_low = iand(a, half_modulus - 1)
    a_high = ishft(a, -half_bits)
    b_low = iand(b, half_modulus - 1)
    b_high = ishft(b, -half_bits)
    cross = iand(a_high * b_low + a_low * b_high, half_modulus - 1)
    product = iand(cross * half_modulus + a_low * b_low, half_modulus**2 - 1)
  end function multiply

  ! The generator's state after `steps` numbers, in O(log steps).
  pure function seed_after(steps) result(seed)
    integer(int64), intent(in) :: steps
    integer(int64) :: seed
    integer(int64) :: remaining, power

    seed = first_seed
    power = multiplier
    remaining = steps
    do while (remaining > 0)
      if (iand(remaining, 1_int64) == 1) seed = multiply(seed, power)
      power = multiply(power, power)
      remaining = remaining / 2
    end do
  end function seed_after

  subroutine next_uniform(seed, value)
    integer(int64), intent(inout) :: seed
    real(real64), intent(out) :: value

    seed = multiply(multiplier, seed)
    value = real(seed, real64) / real(half_modulus, real64)**2
  end subroutine next_uniform

end module random_numbers

include 'ft_fft.f90'

module problem
  ! The classes with their published checksums (NAS technical report and NPB releases).
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none

  integer, parameter :: iterations = 6
  integer, parameter :: class_count = 3
  character(len=1), parameter :: class_names(class_count) = ['S', 'W', 'A']
  ! nx, ny, nz of each class
  integer, parameter :: class_grid(3, class_count) = reshape( &
    [64, 64, 64, 128, 128, 32, 256, 256, 128], [3, class_count])

  complex(dp), parameter :: published(iterations, class_count) = reshape([ &
    (554.6087004964_dp, 484.5363331978_dp), (554.6385409189_dp, 486.5304269511_dp), &
    (554.6148406171_dp, 488.3910722336_dp), (554.5423607415_dp, 490.1273169046_dp), &
    (554.4255039624_dp, 491.7475857993_dp), (554.2683411902_dp, 493.2597244941_dp), &
    (567.3612178944_dp, 529.3246849175_dp), (563.1436885271_dp, 528.2149986629_dp), &
    (559.4024089970_dp, 527.0996558037_dp), (556.0698047020_dp, 526.0027904925_dp), &
    (553.0898991250_dp, 524.9400845633_dp), (550.4159734538_dp, 523.9212247086_dp), &
    (504.6735008193_dp, 511.4047905510_dp), (505.9412319734_dp, 509.8809666433_dp), &
    (506.9376896287_dp, 509.8144042213_dp), (507.7892868474_dp, 510.1336130759_dp), &
    (508.5233095391_dp, 510.4914655194_dp), (509.1487099959_dp, 510.7917842803_dp)], &
    [iterations, class_count])

contains

  ! The class named on the command line (S without one); 0 and a message if there is none.
  subroutine class_from_command_line(class, message)
    integer, intent(out) :: class
    character(len=*), intent(out) :: message
    character(len=16) :: argument

    class = 0
    message = ''
    argument = 'S'
    if (command_argument_count() > 0) call get_command_argument(1, argument)
    select case (argument)
    case ('S', 's')
      class = 1
    case ('W', 'w')
      class = 2
    case ('A', 'a')
      class = 3
    case default
      message = 'class "' // trim(argument) // '" is not known: expected S, W or A'
    end select
    if (command_argument_count() > 1) then
      class = 0
      message = 'expected one argument, the class S, W or A'
    end if
  end subroutine class_from_command_line

end module problem

program ft
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64, error_unit
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi
  use random_numbers
  use fft
  use problem
  implicit none

  interface
    ! Fortran 2008 has no quiet way to end with a status: `stop 1` prints on every rank.
    subroutine c_exit(status) bind(c, name='exit')
      import :: c_int
      integer(c_int), value :: status
    end subroutine c_exit
  end interface

  type(fft_plan) :: plan_x, plan_y, plan_z
  complex(dp), allocatable :: field(:, :, :), spectrum(:, :, :), damped(:, :, :), blocks(:, :, :, :)
  complex(dp) :: checksums(iterations)
  ! What is timed: everything, all collectives, and each of them.
  integer, parameter :: all_time = 1, collectives = 2, alltoall = 3, reduce = 4, times = 4
  character(len=11), parameter :: time_names(times) = ['time       ', 'collectives', 'alltoall   ', 'reduce     ']
  real(dp) :: seconds(times)
  integer :: rank, ranks, class, nx, ny, nz, ny_local, nz_local, step, status, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call read_parameters()
  if (class == 0) call finish(2)

  ny_local = ny / ranks
  nz_local = nz / ranks
  plan_x = plan_fft(nx)
  plan_y = plan_fft(ny)
  plan_z = plan_fft(nz)
  allocate (field(nx, ny, nz_local), spectrum(nx, ny_local, nz), damped(nx, ny_local, nz))
  allocate (blocks(nx, ny_local, nz_local, ranks))

  ! An untimed round trip, so that the timed part meets no untouched memory or connection.
  field = 0
  call forward_transform()
  damped = spectrum
  call inverse_transform()

  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  seconds = 0
  seconds(all_time) = -MPI_Wtime()
  call fill_random()
  call forward_transform()
  do step = 1, iterations
    call damp(step)
    call inverse_transform()
    call checksum(checksums(step))
  end do
  seconds(all_time) = seconds(all_time) + MPI_Wtime()

  call report(status)
  call finish(status)

contains

  ! Rank 0 reads the command line; the others are told. class 0 means "not valid".
  subroutine read_parameters()
    character(len=128) :: message
    integer :: parameters(4)

    parameters = 0
    if (rank == 0) then
      call class_from_command_line(class, message)
      if (class > 0) then
        parameters = [class, class_grid(:, class)]
        if (any(mod(class_grid(2:3, class), ranks) /= 0)) then
          write (message, '(3a,3(i0,a),i0)') 'class ', class_names(class), ': ny = ', parameters(3), &
            ' and nz = ', parameters(4), ' must both be multiples of the number of ranks, which is ', ranks
          parameters = 0
        end if
      end if
      if (parameters(1) == 0) write (error_unit, '(2a)') 'ft: ', trim(message)
    end if
    call MPI_Bcast(parameters, size(parameters), MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    class = parameters(1)
    nx = parameters(2)
    ny = parameters(3)
    nz = parameters(4)
  end subroutine read_parameters

  ! Each plane has its own place in the one sequence of random numbers, so the field
  ! does not depend on the number of ranks.
  subroutine fill_random()
    integer(int64) :: seed, plane
    real(dp) :: re, im
    integer :: i, j, k

    do k = 1, nz_local
      plane = rank * nz_local + k - 1
      seed = seed_after(2 * plane * nx * ny)
      do j = 1, ny
        do i = 1, nx
          call next_uniform(seed, re)
          call next_uniform(seed, im)
          field(i, j, k) = cmplx(re, im, dp)
        end do
      end do
    end do
  end subroutine fill_random

  ! field -> spectrum
  subroutine forward_transform()
    integer :: k, peer

    call transform_dim1(plan_x, .false., ny * nz_local, field)
    call transform_dim2(plan_y, .false., nx, nz_local, field)
    do peer = 1, ranks
      do k = 1, nz_local
        blocks(:, :, k, peer) = field(:, (peer - 1) * ny_local + 1:peer * ny_local, k)
      end do
    end do
    ! Blocks arrive ordered by rank, that is by z: they are the spectrum's slabs already.
    call exchange(blocks, spectrum)
    call transform_dim2(plan_z, .false., nx * ny_local, 1, spectrum)
  end subroutine forward_transform

  ! damped -> field, times nx ny nz
  subroutine inverse_transform()
    integer :: k, peer

    call transform_dim2(plan_z, .true., nx * ny_local, 1, damped)
    call exchange(damped, blocks)
    do k = 1, nz_local
      do peer = 1, ranks
        field(:, (peer - 1) * ny_local + 1:peer * ny_local, k) = blocks(:, :, k, peer)
      end do
    end do
    call transform_dim2(plan_y, .true., nx, nz_local, field)
    call transform_dim1(plan_x, .true., ny * nz_local, field)
  end subroutine inverse_transform

  ! The transpose: block p of `from` goes to rank p.
  subroutine exchange(from, to)
    complex(dp), intent(in) :: from(nx, ny_local, nz_local, ranks)
    complex(dp), intent(out) :: to(nx, ny_local, nz_local, ranks)
    real(dp) :: start
    integer :: block_size

    block_size = nx * ny_local * nz_local
    start = MPI_Wtime()
    call MPI_Alltoall(from, block_size, MPI_DOUBLE_COMPLEX, to, block_size, MPI_DOUBLE_COMPLEX, &
                      MPI_COMM_WORLD, ierr)
    call count_time(alltoall, start)
  end subroutine exchange

  ! Adds the time since `start` to that of a collective and of all.
  subroutine count_time(collective, start)
    integer, intent(in) :: collective
    real(dp), intent(in) :: start
    real(dp) :: took

    took = MPI_Wtime() - start
    seconds(collective) = seconds(collective) + took
    seconds(collectives) = seconds(collectives) + took
  end subroutine count_time

  ! damped = spectrum * exp(-4 alpha pi^2 |k|^2 t); the exponential is a product over x, y, z.
  subroutine damp(t)
    integer, intent(in) :: t
    real(dp) :: factor_x(nx), factor_y(ny), factor_z(nz)
    integer :: i, j, k

    factor_x = damping(nx, t)
    factor_y = damping(ny, t)
    factor_z = damping(nz, t)
    do k = 1, nz
      do j = 1, ny_local
        do i = 1, nx
          damped(i, j, k) = spectrum(i, j, k) * (factor_x(i) * factor_y(rank * ny_local + j) * factor_z(k))
        end do
      end do
    end do
  end subroutine damp

  ! Wave numbers run 0 .. n/2-1, -n/2 .. -1.
  pure function damping(n, t) result(factor)
    integer, intent(in) :: n, t
    real(dp) :: factor(n)
    real(dp), parameter :: alpha = 1.0e-6_dp
    real(dp), parameter :: pi = acos(-1.0_dp)
    integer :: i

    factor = [(exp(-4 * alpha * pi**2 * t * real(modulo(i + n / 2, n) - n / 2, dp)**2), i = 0, n - 1)]
  end function damping

  ! The sum of 1024 points (q, r, s) = (j mod nx, 3j mod ny, 5j mod nz), on rank 0.
  subroutine checksum(total)
    complex(dp), intent(out) :: total
    complex(dp) :: local
    real(dp) :: parts(2), sums(2), start
    integer :: j, plane

    local = 0
    do j = 1, 1024
      plane = mod(5 * j, nz) - rank * nz_local
      if (plane >= 0 .and. plane < nz_local) then
        local = local + field(1 + mod(j, nx), 1 + mod(3 * j, ny), 1 + plane)
      end if
    end do
    parts = [real(local, dp), aimag(local)]
    sums = 0
    start = MPI_Wtime()
    call MPI_Reduce(parts, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call count_time(reduce, start)
    total = cmplx(sums(1), sums(2), dp) / (real(nx, dp) * ny * nz)
  end subroutine checksum

  ! Compares with the published checksums and prints; the verdict goes to all ranks.
  subroutine report(verdict)
    integer, intent(out) :: verdict
    real(dp), parameter :: tolerance = 1.0e-12_dp
    real(dp) :: slowest(times)
    integer :: failed(1), t

    call MPI_Reduce(seconds, slowest, times, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    failed = 0
    if (rank == 0) then
      ! Written so that a checksum which is not a number fails.
      if (.not. all(abs(checksums - published(:, class)) <= tolerance * abs(published(:, class)))) failed = 1
      do t = 1, iterations
        write (*, '(a,i0,a,2(1x,f0.10))') 'iteration ', t, ' checksum', real(checksums(t), dp), aimag(checksums(t))
      end do
      write (*, '(3a,i0)', advance='no') 'FT class ', class_names(class), ' ranks ', ranks
      do t = 1, times
        write (*, '(5a)', advance='no') ' ', trim(time_names(t)), ' ', decimal(slowest(t)), ' s'
      end do
      write (*, '(2a)') ' verification ', trim(merge('SUCCESSFUL', 'FAILED    ', failed(1) == 0))
    end if
    call MPI_Bcast(failed, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    verdict = failed(1)
  end subroutine report

  ! Seconds with six decimals and, unlike f0.6, a digit before the point.
  function decimal(value) result(text)
    real(dp), intent(in) :: value
    character(len=:), allocatable :: text
    character(len=16) :: padded

    write (padded, '(f16.6)') value
    text = trim(adjustl(padded))
  end function decimal

  ! Ends MPI and the program with this exit status, the same on all ranks.
  subroutine finish(exit_status)
    integer, intent(in) :: exit_status

    flush (error_unit)
    flush (6)
    call MPI_Finalize(ierr)
    call c_exit(int(exit_status, c_int))
  end subroutine finish

end program ft
