//! One program for these tests. Those of parsers are a program of their own, since they count the memory that is taken.

mod commands;
mod launch;
mod records;
