// Lets libpipefill.so load into processes with a glibc older than 2.32, which lacks this variable:
// libstdc++'s code, linked in, asks it whether it may count references without atomic instructions.
// "No" is always a right answer. Hidden, so nobody else sees it.
extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}
