//! A list that each thread has, for as long as the thread runs: also in what the program does while it exits, where
//! thread-local values with destructors are gone already.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// For `thread_local!`: nothing is to be dropped with the thread, since an empty list has no memory.
pub struct ThreadList<T>(RefCell<ManuallyDrop<Vec<T>>>);

impl<T> ThreadList<T> {
    /// Without entries.
    pub const fn new() -> Self {
        Self(RefCell::new(ManuallyDrop::new(Vec::new())))
    }

    /// Looks at the entries.
    pub fn read<R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        look(&self.0.borrow())
    }

    /// Changes the entries; gives their memory back where none is left.
    pub fn change<R>(&self, change: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let mut list = self.0.borrow_mut();
        let result = change(&mut list);
        if list.is_empty() {
            drop(std::mem::take(&mut **list));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static LIST: ThreadList<usize> = const { ThreadList::new() };
        static LAST: Last = const { Last };
    }

    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            LIST.with(|list| list.change(|entries| entries.push(2)));
            LIST.with(|list| list.change(|entries| entries.retain(|_| false)));
        }
    }

    #[test]
    fn a_list_outlives_what_is_dropped_with_the_thread() {
        assert!(!std::mem::needs_drop::<ThreadList<String>>());
        let thread = std::thread::spawn(|| {
            LAST.with(|_| ());
            LIST.with(|list| list.change(|entries| entries.push(1)));
            LIST.with(|list| list.read(|entries| entries.to_vec()))
        });
        assert_eq!(thread.join().ok(), Some(vec![1]));
    }
}
