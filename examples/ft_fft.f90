! The one-dimensional transforms of ft.f90, which includes this file.

module fft
  ! Unnormalised transforms of power-of-two length by Stockham's self-sorting method.
  ! `batch` lines are transformed side by side, real and imaginary parts apart, so
  ! that the innermost loop has unit stride and constant length.
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: fft_plan, plan_fft, transform_dim1, transform_dim2

  integer, parameter :: batch = 16

  type :: fft_plan
    integer :: n = 0
    real(dp), allocatable :: wr(:), wi(:)        ! exp(-2 pi i k / n), k = 0 .. n-1
    real(dp), allocatable :: re(:, :, :), im(:, :, :) ! (batch, n, 2): two work halves
  end type fft_plan

contains

  function plan_fft(n) result(plan)
    integer, intent(in) :: n
    type(fft_plan) :: plan
    real(dp), parameter :: pi = acos(-1.0_dp)
    integer :: k

    plan%n = n
    allocate (plan%wr(0:n - 1), plan%wi(0:n - 1))
    allocate (plan%re(batch, n, 2), plan%im(batch, n, 2))
    do k = 0, n - 1
      plan%wr(k) = cos(2 * pi * k / n)
      plan%wi(k) = -sin(2 * pi * k / n)
    end do
  end function plan_fft

  ! Transforms along the first dimension of a(n, lines); lines is a multiple of batch.
  subroutine transform_dim1(plan, inverse, lines, a)
    type(fft_plan), intent(inout) :: plan
    logical, intent(in) :: inverse
    integer, intent(in) :: lines
    complex(dp), intent(inout) :: a(plan%n, lines)
    integer :: i, j, first, half

    do first = 0, lines - 1, batch
      do j = 1, plan%n
        do i = 1, batch
          plan%re(i, j, 1) = real(a(j, first + i), dp)
          plan%im(i, j, 1) = aimag(a(j, first + i))
        end do
      end do
      call transform_batch(plan, inverse, half)
      do i = 1, batch
        do j = 1, plan%n
          a(j, first + i) = cmplx(plan%re(i, j, half), plan%im(i, j, half), dp)
        end do
      end do
    end do
  end subroutine transform_dim1

  ! Transforms along the second dimension of a(m, n, planes); m is a multiple of batch.
  subroutine transform_dim2(plan, inverse, m, planes, a)
    type(fft_plan), intent(inout) :: plan
    logical, intent(in) :: inverse
    integer, intent(in) :: m, planes
    complex(dp), intent(inout) :: a(m, plan%n, planes)
    integer :: i, j, k, first, half

    do k = 1, planes
      do first = 0, m - 1, batch
        do j = 1, plan%n
          do i = 1, batch
            plan%re(i, j, 1) = real(a(first + i, j, k), dp)
            plan%im(i, j, 1) = aimag(a(first + i, j, k))
          end do
        end do
        call transform_batch(plan, inverse, half)
        do j = 1, plan%n
          do i = 1, batch
            a(first + i, j, k) = cmplx(plan%re(i, j, half), plan%im(i, j, half), dp)
          end do
        end do
      end do
    end do
  end subroutine transform_dim2

  ! Transforms the lines in work half 1; `half` says which half holds the result.
  ! Exchanging real and imaginary parts before and after turns the forward transform
  ! into the inverse one.
  subroutine transform_batch(plan, inverse, half)
    type(fft_plan), intent(inout) :: plan
    logical, intent(in) :: inverse
    integer, intent(out) :: half
    integer :: done, other

    half = 1
    done = 1                           ! product of the radices so far
    do while (done < plan%n)
      other = 3 - half
      if (inverse) then
        call pass(plan%n, done, plan%wr, plan%wi, plan%im(:, :, half), plan%re(:, :, half), &
                  plan%im(:, :, other), plan%re(:, :, other))
      else
        call pass(plan%n, done, plan%wr, plan%wi, plan%re(:, :, half), plan%im(:, :, half), &
                  plan%re(:, :, other), plan%im(:, :, other))
      end if
      done = done * merge(4, 2, mod(plan%n / done, 4) == 0)
      half = other
    end do
  end subroutine transform_batch

  ! One pass: radix 4 while the remaining length allows it, else radix 2.
  subroutine pass(n, done, wr, wi, xr, xi, yr, yi)
    integer, intent(in) :: n, done
    real(dp), intent(in) :: wr(0:n - 1), wi(0:n - 1), xr(batch, n), xi(batch, n)
    real(dp), intent(out) :: yr(batch, n), yi(batch, n)

    if (mod(n / done, 4) == 0) then
      call pass4(n, done, n / done / 4, wr, wi, xr, xi, yr, yi)
    else
      call pass2(n, done, n / done / 2, wr, wi, xr, xi, yr, yi)
    end if
  end subroutine pass

  ! With s transforms interleaved and 4m points left in each:
  !   y(q, j, p) = w_4m^(j p) * sum over k of w_4^(j k) x(q, p, k),  w_4m = w_n^s.
  subroutine pass4(n, s, m, wr, wi, xr, xi, yr, yi)
    integer, intent(in) :: n, s, m
    real(dp), intent(in) :: wr(0:n - 1), wi(0:n - 1)
    real(dp), intent(in) :: xr(batch, s, 0:m - 1, 0:3), xi(batch, s, 0:m - 1, 0:3)
    real(dp), intent(out) :: yr(batch, s, 0:3, 0:m - 1), yi(batch, s, 0:3, 0:m - 1)
    real(dp) :: w1r, w1i, w2r, w2i, w3r, w3i
    real(dp) :: sum02r, sum02i, dif02r, dif02i, sum13r, sum13i, dif13r, dif13i
    real(dp) :: tr, ti
    integer :: i, p, q

    do p = 0, m - 1
      w1r = wr(p * s)
      w1i = wi(p * s)
      w2r = wr(2 * p * s)
      w2i = wi(2 * p * s)
      w3r = wr(3 * p * s)
      w3i = wi(3 * p * s)
      do q = 1, s
        do i = 1, batch
          sum02r = xr(i, q, p, 0) + xr(i, q, p, 2)
          sum02i = xi(i, q, p, 0) + xi(i, q, p, 2)
          dif02r = xr(i, q, p, 0) - xr(i, q, p, 2)
          dif02i = xi(i, q, p, 0) - xi(i, q, p, 2)
          sum13r = xr(i, q, p, 1) + xr(i, q, p, 3)
          sum13i = xi(i, q, p, 1) + xi(i, q, p, 3)
          dif13r = xr(i, q, p, 1) - xr(i, q, p, 3)
          dif13i = xi(i, q, p, 1) - xi(i, q, p, 3)

          yr(i, q, 0, p) = sum02r + sum13r
          yi(i, q, 0, p) = sum02i + sum13i
          tr = dif02r + dif13i          ! w_4 = -i
          ti = dif02i - dif13r
          yr(i, q, 1, p) = w1r * tr - w1i * ti
          yi(i, q, 1, p) = w1r * ti + w1i * tr
          tr = sum02r - sum13r
          ti = sum02i - sum13i
          yr(i, q, 2, p) = w2r * tr - w2i * ti
          yi(i, q, 2, p) = w2r * ti + w2i * tr
          tr = dif02r - dif13i
          ti = dif02i + dif13r
          yr(i, q, 3, p) = w3r * tr - w3i * ti
          yi(i, q, 3, p) = w3r * ti + w3i * tr
        end do
      end do
    end do
  end subroutine pass4

  ! The same rule for radix 2.
  subroutine pass2(n, s, m, wr, wi, xr, xi, yr, yi)
    integer, intent(in) :: n, s, m
    real(dp), intent(in) :: wr(0:n - 1), wi(0:n - 1)
    real(dp), intent(in) :: xr(batch, s, 0:m - 1, 0:1), xi(batch, s, 0:m - 1, 0:1)
    real(dp), intent(out) :: yr(batch, s, 0:1, 0:m - 1), yi(batch, s, 0:1, 0:m - 1)
    real(dp) :: tr, ti
    integer :: i, p, q

    do p = 0, m - 1
      do q = 1, s
        do i = 1, batch
          yr(i, q, 0, p) = xr(i, q, p, 0) + xr(i, q, p, 1)
          yi(i, q, 0, p) = xi(i, q, p, 0) + xi(i, q, p, 1)
          tr = xr(i, q, p, 0) - xr(i, q, p, 1)
          ti = xi(i, q, p, 0) - xi(i, q, p, 1)
          yr(i, q, 1, p) = wr(p * s) * tr - wi(p * s) * ti
          yi(i, q, 1, p) = wr(p * s) * ti + wi(p * s) * tr
        end do
      end do
    end do
  end subroutine pass2

end module fft
