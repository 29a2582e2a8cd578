/* Preloaded into the program: writing calls fail while the file that FAILING_DISK names exists. If it is
   empty, all of them do, with EIO. If it has n bytes, n calls that write in a folder "memory" succeed,
   and those after them fail with ENOSPC. Reading, standard streams, sockets and pipes work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static struct timespec counted_since;
static long long calls;

/* Whether the n calls that the flag allows are over. */
static int is_full(const struct stat *flag)
{
    pthread_mutex_lock(&counting);
    if (flag->st_mtim.tv_sec != counted_since.tv_sec || flag->st_mtim.tv_nsec != counted_since.tv_nsec) {
        counted_since = flag->st_mtim;
        calls = 0;
    }
    int full = ++calls > (long long)flag->st_size;
    pthread_mutex_unlock(&counting);
    return full;
}

static int is_of_memory(int file, const char *path)
{
    char link[64], found[PATH_MAX];
    if (path)
        return strstr(path, "/memory/") != NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, found, sizeof found - 1);
    if (length < 0)
        return 0;
    found[length] = 0;
    return strstr(found, "/memory/") != NULL;
}

/* The error of a call that writes in a file, or to a path; 0 if it is made. */
static int failure(int file, const char *path)
{
    struct stat found, flag;
    const char *name = getenv("FAILING_DISK");
    if (!name || (!path && (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))))
        return 0;
    if (stat(name, &flag) != 0)
        return 0;
    if (flag.st_size == 0)
        return EIO;
    return is_of_memory(file, path) && is_full(&flag) ? ENOSPC : 0;
}

#define FAIL_OR_CALL(type, name, file, path, parameters, arguments) \
    type name parameters                                            \
    {                                                               \
        int error = failure(file, path);                            \
        if (error) {                                                \
            errno = error;                                          \
            return -1;                                              \
        }                                                           \
        type (*next) parameters = dlsym(RTLD_NEXT, #name);          \
        return next arguments;                                      \
    }

FAIL_OR_CALL(ssize_t, write, file, NULL, (int file, const void *bytes, size_t count), (file, bytes, count))
FAIL_OR_CALL(ssize_t, pwrite, file, NULL, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
FAIL_OR_CALL(ssize_t, pwrite64, file, NULL, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
FAIL_OR_CALL(ssize_t, writev, file, NULL, (int file, const struct iovec *parts, int count), (file, parts, count))
FAIL_OR_CALL(int, fsync, file, NULL, (int file), (file))
FAIL_OR_CALL(int, fdatasync, file, NULL, (int file), (file))
FAIL_OR_CALL(int, ftruncate64, file, NULL, (int file, off64_t length), (file, length))
FAIL_OR_CALL(int, rename, -1, to, (const char *from, const char *to), (from, to))
