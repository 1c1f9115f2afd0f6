"""Runs mpi4py's own tests on one rank and writes down what becomes of each, as it happens.

    runner.py TESTS RECORDS SECONDS ONLY EXCEPT

TESTS is mpi4py's test directory. RECORDS is a directory: rank R writes RECORDS/R, a line for each event, with tabs
between the fields:

    library VERSION
    begin   TEST
    end     TEST  STATUS  MESSAGE
    counts  JSON                     what Nagare's report says of this rank so far, after each module; not without it

STATUS is ok, fail, error, skip, expected-failure or unexpected-success. The last test has the name `finalize`; it
begins when all others are over, and ends when MPI has been left. A test that takes longer than SECONDS ends the process
with the stacks of all its threads in RECORDS/R.stacks, and so does one that crashes. ONLY is a file with a pattern (of
fnmatch) in each line, EXCEPT one with names and patterns; a test is run if it matches a line of ONLY and none of
EXCEPT.
"""

import atexit
import ctypes
import faulthandler
import fnmatch
import os
import pathlib
import re
import signal
import sys
import unittest

# Processes that a test starts with mpi4py.futures import the main script, under another name.
if __name__ == "__main__":
    tests, records, seconds, only, without = sys.argv[1:]
    seconds = float(seconds)
    sys.dont_write_bytecode = True
    sys.path.insert(0, tests)
    # As mpi4py's main.py does: these need hardware.
    sys.modules["cupy"] = None
    sys.modules["numba"] = None


class Record:
    """The file of this rank."""

    def __init__(self, rank):
        path = pathlib.Path(records) / str(rank)
        # Unbuffered: what is written stays when the process is killed.
        self.file = open(path, "ab", buffering=0)
        self.stacks = open(f"{path}.stacks", "ab", buffering=0)
        faulthandler.enable(file=self.stacks)

    def line(self, *fields):
        text = "\t".join(re.sub(r"\s+", " ", field) for field in fields)
        self.file.write(text.encode("utf-8", "backslashreplace") + b"\n")

    def begin(self, name):
        self.line("begin", name)
        # A thread of its own in C: it needs neither Python nor MPI to be alive.
        faulthandler.dump_traceback_later(seconds, exit=True, file=self.stacks)

    def end(self, name, status, message=""):
        faulthandler.cancel_dump_traceback_later()
        self.line("end", name, status, message)

    def counts(self):
        """What ran on Nagare's algorithms."""
        report = getattr(ctypes.CDLL(None), "nagare_report", None)
        if report is not None:
            text = ctypes.create_string_buffer(1 << 16)
            report(b"json", text, ctypes.c_size_t(len(text)))
            self.line("counts", text.value.decode())

    def close(self):
        faulthandler.disable()
        self.stacks.close()
        self.file.close()


def message_of(error):
    """Kind and first line of an exception, without what differs from run to run."""
    kind, value, _ = error
    first = (str(value).strip().splitlines() or [""])[0]
    first = re.sub(r"0x[0-9a-fA-F]+|(?<![A-Za-z_])-?\d{4,}", "#", first)
    first = re.sub(r"/tmp/\S+", "/tmp/#", first)
    return f"{kind.__name__}: {first}"


class Result(unittest.TestResult):
    """Writes every event down; what goes wrong in a part of a test counts for the test."""

    def __init__(self, record):
        super().__init__()
        self.record = record
        self.worst = None
        self.module = None

    def startTest(self, test):
        super().startTest(test)
        module = type(test).__module__
        if module != self.module:
            self.record.counts()
        self.module = module
        self.worst = None
        self.record.begin(test.id())

    def stopTest(self, test):
        super().stopTest(test)
        self.record.end(test.id(), *(self.worst or ("ok", "")))
        self.worst = None

    def note(self, test, status, message):
        if not isinstance(test, unittest.TestCase):
            # Nothing began: a class or module that could not be set up.
            self.record.line("begin", test.id())
            self.record.line("end", test.id(), status, message)
        elif self.worst is None or self.worst[0] == "skip":
            self.worst = (status, message)

    def addFailure(self, test, error):
        self.note(test, "fail", message_of(error))

    def addError(self, test, error):
        self.note(test, "error", message_of(error))

    def addSubTest(self, test, subtest, error):
        if error is not None:
            failed = issubclass(error[0], test.failureException)
            self.note(test, "fail" if failed else "error", message_of(error))

    def addSkip(self, test, reason):
        self.note(test, "skip", reason)

    def addExpectedFailure(self, test, error):
        self.note(test, "expected-failure", message_of(error))

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected-success", "")


def patterns(path):
    return [line for line in pathlib.Path(path).read_text().splitlines() if line]


def flatten(suite):
    """The tests in order, each with the suite of its class, which sets the class up and takes it down."""
    for part in suite:
        if not isinstance(part, unittest.TestSuite):
            continue
        if any(isinstance(test, unittest.TestCase) for test in part):
            yield part
        yield from flatten(part)


def chosen():
    included, excluded = patterns(only), patterns(without)
    names = set(excluded)
    excluded = [pattern for pattern in excluded if "*" in pattern]

    def matches(test):
        name = test.id()
        out = name in names or any(fnmatch.fnmatchcase(name, p) for p in excluded)
        return not out and any(fnmatch.fnmatchcase(name, p) for p in included)

    whole = unittest.TestSuite()
    for part in flatten(unittest.TestLoader().discover(tests)):
        some = [test for test in part if isinstance(test, unittest.TestCase) and matches(test)]
        if some:
            whole.addTest(unittest.TestSuite(some))
    return whole


def share_processor(seconds, ranks):
    """Yields the processor every so often while this process spins: MPICH never sleeps, and MPICH 4 never yields."""
    c = ctypes.CDLL(None)
    # No Python in the handler, which is given the number of the signal: as microseconds to sleep, or to be ignored.
    handler = c.usleep if ranks > os.cpu_count() else c.sched_yield
    c.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    c.signal(signal.SIGALRM, ctypes.cast(handler, ctypes.c_void_p))
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def main():
    from mpi4py import MPI

    if MPI.get_vendor()[0] == "MPICH":
        share_processor(0.0002, MPI.COMM_WORLD.Get_size())
    record = Record(MPI.COMM_WORLD.Get_rank())
    record.line("library", MPI.Get_library_version().strip().splitlines()[0])
    chosen().run(Result(record))
    record.counts()
    record.begin("finalize")
    sys.stdout.flush()
    return record


def left(records):
    for record in records:
        record.end("finalize", "ok")
        record.close()


if __name__ == "__main__":
    # mpi4py leaves MPI in a function for the end of the interpreter that it registers when it is imported. What was
    # registered earlier is called later.
    written = []
    atexit.register(left, written)
    written.append(main())
