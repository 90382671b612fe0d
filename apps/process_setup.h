// What a process must settle before its libraries and its first large allocation: the only place
// that reads or writes the environment.
#pragma once

namespace hairpin::apps {

// First thing in main.
//
// OpenMP's threads spin by default between parallel loops, so two processes on the same cores slow
// each other down threefold. libgomp reads OMP_WAIT_POLICY when it is loaded, which is before main:
// unless the user has set it, the program sets it to PASSIVE and starts itself anew, once.
//
// glibc gives large blocks back to the kernel at once and pays for their pages again at the next
// allocation: a fifth of a training step. Freed memory is kept instead.
void prepare_process(char** argv);

}  // namespace hairpin::apps
