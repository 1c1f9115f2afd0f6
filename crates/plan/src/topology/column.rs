//! One number per index, in constant memory where the numbers are regular.
//!
//! A machine filled in order gives rank r the node r / ppn and node g the first rank g · ppn: such columns need no
//! table, so that the index of a million regularly placed ranks takes almost no memory.

/// Numbers by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Number i is `i · multiply / divide`.
    Regular { length: u32, multiply: u32, divide: u32 },
    /// Any numbers.
    Table(Vec<u32>),
}

impl Column {
    /// Number at `index`, which must be below the length.
    pub fn get(&self, index: u32) -> u32 {
        match self {
            Self::Regular { multiply, divide, .. } => {
                (u64::from(index) * u64::from(*multiply) / u64::from(*divide)) as u32
            }
            Self::Table(numbers) => numbers[index as usize],
        }
    }

    /// How many numbers there are.
    pub fn len(&self) -> u32 {
        match self {
            Self::Regular { length, .. } => *length,
            Self::Table(numbers) => numbers.len() as u32,
        }
    }
}

impl From<Vec<u32>> for Column {
    fn from(mut numbers: Vec<u32>) -> Self {
        let first = numbers.iter().position(|&n| n != 0);
        let (multiply, divide) = match first {
            None => (0, 1),
            Some(at) if numbers[at] == 1 => (1, at as u32),
            Some(at) => (numbers[at], at as u32),
        };
        let regular = Self::Regular { length: numbers.len() as u32, multiply, divide: divide.max(1) };
        if numbers.iter().enumerate().all(|(i, &n)| regular.get(i as u32) == n) {
            return regular;
        }
        numbers.shrink_to_fit();
        Self::Table(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_regular_ones_need_no_table() {
        let regular = [
            vec![],
            vec![0; 9],
            (0..10).collect(),
            (0..100).map(|i| i / 7).collect(),
            (0..9).map(|i| i * 64).collect(),
        ];
        for numbers in regular {
            let column = Column::from(numbers.clone());
            assert!(matches!(column, Column::Regular { .. }), "{numbers:?}");
            assert_eq!((0..column.len()).map(|i| column.get(i)).collect::<Vec<_>>(), numbers);
        }
        for numbers in [vec![5], vec![0, 1, 0], vec![0, 0, 1, 1, 2], vec![1, 2, 3], (0..10).map(|i| i % 3).collect()] {
            let column = Column::from(numbers.clone());
            assert_eq!((0..column.len()).map(|i| column.get(i)).collect::<Vec<_>>(), numbers);
        }
    }
}
