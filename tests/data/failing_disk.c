/* Preloaded into the program: writing calls fail with EIO while the file that FAILING_DISK names
   exists. Reading, standard streams, sockets and pipes work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(int file)
{
    struct stat found;
    const char *flag = getenv("FAILING_DISK");
    if (!flag || (file >= 0 && (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))))
        return 0;
    return access(flag, F_OK) == 0;
}

#define FAIL_OR_CALL(type, name, file, parameters, arguments)  \
    type name parameters                                       \
    {                                                          \
        if (fails(file)) {                                     \
            errno = EIO;                                       \
            return -1;                                         \
        }                                                      \
        type (*next) parameters = dlsym(RTLD_NEXT, #name);     \
        return next arguments;                                 \
    }

FAIL_OR_CALL(ssize_t, write, file, (int file, const void *bytes, size_t count), (file, bytes, count))
FAIL_OR_CALL(ssize_t, pwrite, file, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
FAIL_OR_CALL(ssize_t, pwrite64, file, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
FAIL_OR_CALL(ssize_t, writev, file, (int file, const struct iovec *parts, int count), (file, parts, count))
FAIL_OR_CALL(int, fsync, file, (int file), (file))
FAIL_OR_CALL(int, fdatasync, file, (int file), (file))
FAIL_OR_CALL(int, ftruncate64, file, (int file, off64_t length), (file, length))
FAIL_OR_CALL(int, rename, -1, (const char *from, const char *to), (from, to))
