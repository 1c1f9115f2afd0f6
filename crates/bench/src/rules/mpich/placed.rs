//! Where choices stand among the library's own: below all its conditions about the communicator, and where a call is of
//! the kind that was measured.

use super::super::selections::Tree;
use super::choice::Choice;
use crate::operation::Operation;

/// Conditions about the communicator alone begin like this.
const OF_COMMUNICATOR: [&str; 2] = ["comm_", "is_node_consecutive="];
/// Sizes are C's `int`.
const LARGEST: u64 = i32::MAX as u64;

/// `run` where a call is of the kind that was measured and the algorithm can run it, and `own` elsewhere.
fn guarded(collective: Operation, choice: &Choice, run: Tree, own: &Tree) -> Tree {
    let or = |condition: &str, run: Tree, other: &str| {
        Tree(vec![(condition.to_owned(), run), (other.to_owned(), own.clone())])
    };
    let least = matches!(
        choice.algorithm.as_deref(),
        Some(
            "algorithm=MPIR_Reduce_intra_reduce_scatter_gather"
                | "algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather"
        )
    );
    let run = if least {
        // As many elements as ranks, at least.
        Tree(vec![("count<pow2".to_owned(), own.clone()), ("count=any".to_owned(), run)])
    } else {
        run
    };
    let commutative = |run| or("is_commutative=yes", run, "is_commutative=no");
    match collective {
        Operation::Reduce | Operation::Allreduce => commutative(or("is_op_built_in=yes", run, "is_op_built_in=no")),
        Operation::ReduceScatter | Operation::ReduceScatterBlock => commutative(run),
        _ => run,
    }
}

/// What is told for one collective.
pub struct Rules {
    /// Which.
    pub collective: Operation,
    /// What its size is called in conditions.
    pub size: &'static str,
    /// From which size on what holds.
    pub by_size: Vec<(u64, Option<Choice>)>,
}

impl Rules {
    /// `own`, with ours below all its conditions about the communicator; `run`: what a choice selects.
    fn below(&self, own: &Tree, run: &dyn Fn(&Choice) -> Option<Tree>) -> Tree {
        let about = |key: &str| OF_COMMUNICATOR.iter().any(|start| key.starts_with(start));
        if own.0.iter().all(|(key, _)| about(key)) {
            return Tree(own.0.iter().map(|(key, under)| (key.clone(), self.below(under, run))).collect());
        }
        let content = |choice: &Option<Choice>| match choice.as_ref().and_then(|choice| Some((choice, run(choice)?))) {
            Some((choice, run)) => guarded(self.collective, choice, run, own),
            None => own.clone(),
        };
        let rules: Vec<_> = self.by_size.iter().filter(|rule| rule.0 <= LARGEST).collect();
        let ends = rules.iter().skip(1).map(|rule| format!("{}<{}", self.size, rule.0));
        let ends = ends.chain([format!("{}=any", self.size)]);
        let sized = Tree(ends.zip(&rules).map(|(end, rule)| (end, content(&rule.1))).collect());
        if self.collective != Operation::Alltoall {
            return sized;
        }
        // Asked first: with MPI_IN_PLACE count and type of what is sent, which the size is made of, mean nothing.
        let (in_place, sent) = ("is_sendbuf_inplace=yes".to_owned(), "is_sendbuf_inplace=no".to_owned());
        Tree(vec![(in_place, own.clone()), (sent, sized)])
    }

    /// Puts ours into `tree`, for communicators of so many ranks.
    pub fn put(&self, tree: &mut Tree, ranks: usize, run: impl Fn(&Choice) -> Option<Tree>) {
        let collective = format!("collective={}", self.collective.function());
        let Some(own) = tree.under_mut(&collective).and_then(|tree| tree.under_mut("comm_type=intra")) else { return };
        let ours = if self.by_size.iter().any(|(_, choice)| choice.as_ref().is_some_and(Choice::needs_nodes)) {
            let elsewhere = |choice: &Choice| (!choice.needs_nodes()).then(|| run(choice)).flatten();
            Tree(vec![
                ("comm_hierarchy=parent".to_owned(), self.below(own, &run)),
                ("comm_hierarchy=any".to_owned(), self.below(own, &elsewhere)),
            ])
        } else {
            self.below(own, &run)
        };
        *own = Tree(vec![
            (format!("comm_size<={}", ranks - 1), own.clone()),
            (format!("comm_size<={ranks}"), ours),
            ("comm_size=any".to_owned(), own.clone()),
        ]);
    }
}
