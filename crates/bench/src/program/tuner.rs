//! Control variables of the MPI library (MPI 4.0 section 15.3).

use mpi::ffi;
use nagare_bench::oracle::{Value, items_in_description};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Room for names and descriptions; longer ones are cut off.
const LENGTH: usize = 8192;

/// The tool interface of this process. It stays open to the end: Open MPI 4.1 crashes where it is closed after
/// MPI_Finalize, and MPICH 4.0 forgets all variables where it is closed before.
pub struct Tuner(());

/// A variable of one number or truth value.
struct Variable {
    handle: ffi::MPI_T_cvar_handle,
    /// The items of its enumeration.
    items: Vec<(String, i32)>,
    description: String,
}

impl Tuner {
    /// Opens the interface; before MPI is initialised, so that nobody else opens it first and closes it.
    ///
    /// # Errors
    /// If the library has none.
    pub fn new() -> Result<Self, String> {
        let mut provided = 0;
        // SAFETY: may be called at any time; this thread is the only one that uses it.
        match unsafe { ffi::MPI_T_init_thread(ffi::RSMPI_THREAD_SINGLE, &raw mut provided) } {
            0 => Ok(Self(())),
            code => Err(format!("MPI_T_init_thread: error {code}")),
        }
    }

    /// Sets a variable and returns what it was. What is then read back must be what was written.
    ///
    /// # Errors
    /// If there is no such variable or item, or the library does not take it.
    pub fn set(&self, name: &str, value: &Value) -> Result<i32, String> {
        let variable = Variable::find(name)?;
        let number = match value {
            Value::Number(number) => *number,
            Value::Item(item) => variable.item(item).ok_or_else(|| format!("{name} has no item {item}"))?,
        };
        let before = variable.read(name)?;
        variable.write(name, number)?;
        Ok(before)
    }

    /// The number a variable has.
    ///
    /// # Errors
    /// If there is no such variable.
    pub fn get(&self, name: &str) -> Result<i32, String> {
        Variable::find(name)?.read(name)
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        // SAFETY: the handle is of MPI_T_cvar_handle_alloc and not used again.
        unsafe { ffi::MPI_T_cvar_handle_free(&raw mut self.handle) };
    }
}

impl Variable {
    /// The variable of that name, for as long as MPI is initialised.
    fn find(name: &str) -> Result<Self, String> {
        Self::look_up(name).ok_or_else(|| format!("this library has no control variable {name} of one number"))
    }

    fn look_up(name: &str) -> Option<Self> {
        let c_name = CString::new(name).ok()?;
        let mut index = 0;
        // SAFETY: a C string and an integer.
        if unsafe { ffi::MPI_T_cvar_get_index(c_name.as_ptr(), &raw mut index) } != 0 {
            return None;
        }
        let (mut verbosity, mut bind, mut scope, mut count) = (0, 0, 0, 0);
        let (mut name_length, mut length) = (0, LENGTH as c_int);
        let mut description = vec![0 as c_char; LENGTH];
        let mut datatype = std::mem::MaybeUninit::<ffi::MPI_Datatype>::uninit();
        let mut items = std::mem::MaybeUninit::<ffi::MPI_T_enum>::uninit();
        // SAFETY: all outputs have room: the name's length is 0, the description's that of its buffer.
        let code = unsafe {
            ffi::MPI_T_cvar_get_info(
                index,
                null_mut(),
                &raw mut name_length,
                &raw mut verbosity,
                datatype.as_mut_ptr(),
                items.as_mut_ptr(),
                description.as_mut_ptr(),
                &raw mut length,
                &raw mut bind,
                &raw mut scope,
            )
        };
        if code != 0 {
            return None;
        }
        let mut bytes = 0;
        // SAFETY: the call above has set the datatype, a predefined one.
        unsafe { ffi::MPI_Type_size(datatype.assume_init(), &raw mut bytes) };
        let mut handle = std::mem::MaybeUninit::<ffi::MPI_T_cvar_handle>::uninit();
        // SAFETY: the index is valid; the variables that are looked for are bound to no object.
        let code = unsafe { ffi::MPI_T_cvar_handle_alloc(index, null_mut(), handle.as_mut_ptr(), &raw mut count) };
        // A text or a list would need more room than one number.
        if code != 0 || count != 1 || !matches!(bytes, 1 | 4) {
            return None;
        }
        // SAFETY: terminated, for the buffer was zero and the library cuts off before its end.
        let description = unsafe { CStr::from_ptr(description.as_ptr()) }.to_string_lossy().into_owned();
        // SAFETY: both calls succeeded.
        let (handle, items) = unsafe { (handle.assume_init(), items_of(items.assume_init())) };
        Some(Self { handle, items, description })
    }

    /// The number of an item, by the enumeration or, where there is none, by the description.
    fn item(&self, name: &str) -> Option<i32> {
        let described = || items_in_description(&self.description);
        let find = |items: &[(String, i32)]| items.iter().find(|item| item.0 == name).map(|item| item.1);
        find(&self.items).or_else(|| find(&described()))
    }

    fn read(&self, name: &str) -> Result<i32, String> {
        // Eight bytes, so that any one number fits; of a truth value only the first is written.
        let mut value = 0i64;
        // SAFETY: the variable has one number of at most four bytes.
        match unsafe { ffi::MPI_T_cvar_read(self.handle, (&raw mut value).cast::<c_void>()) } {
            0 => Ok(value as i32),
            code => Err(format!("{name} cannot be read: error {code}")),
        }
    }

    fn write(&self, name: &str, number: i32) -> Result<(), String> {
        let value = i64::from(number);
        // SAFETY: the variable has one number of at most four bytes, which are the first of these (little-endian).
        match unsafe { ffi::MPI_T_cvar_write(self.handle, (&raw const value).cast::<c_void>()) } {
            0 => {}
            code => return Err(format!("{name} cannot be written: error {code}")),
        }
        match self.read(name)? {
            now if now == number => Ok(()),
            now => Err(format!("{name} was set to {number} and reads {now}")),
        }
    }
}

/// # Safety
/// `items` must be what MPI_T_cvar_get_info has told.
unsafe fn items_of(items: ffi::MPI_T_enum) -> Vec<(String, i32)> {
    // MPI_T_ENUM_NULL of both families.
    if items.is_null() {
        return Vec::new();
    }
    let (mut count, mut none) = (0, 0);
    // SAFETY: as demanded, and not null. No name is asked.
    if unsafe { ffi::MPI_T_enum_get_info(items, &raw mut count, null_mut(), &raw mut none) } != 0 {
        return Vec::new();
    }
    let item = |index| {
        let (mut number, mut length) = (0, 256);
        let mut name = [0 as c_char; 256];
        // SAFETY: the index is below the count, and the name has room.
        let code =
            unsafe { ffi::MPI_T_enum_get_item(items, index, &raw mut number, name.as_mut_ptr(), &raw mut length) };
        // SAFETY: terminated, for the buffer was zero and the library cuts off before its end.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        (code == 0).then_some((name, number))
    };
    (0..count).filter_map(item).collect()
}
