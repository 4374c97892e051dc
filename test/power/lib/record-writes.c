/*
 * Preloaded into the program: records every change to files below $POWER_FOLDER, with its bytes, in a log of this process in
 * $POWER_LOGS. lib/disk.mjs makes from the logs what a disk may hold after a power cut at any point. Linux only.
 *
 * A change is made and recorded under one lock, so the order of the log is the order in which the kernel saw the changes.
 * The time of a record (CLOCK_MONOTONIC, the clock of process.hrtime) is taken before its change is made. A sync is two
 * records: one before it begins, one after it has ended.
 *
 * While the first byte of $POWER_CONTROL is not zero, writes to ledger.db and its log fail with ENOSPC.
 *
 * All calls go to the kernel by syscall(2): nothing here depends on how the C library would have made them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN = 1, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, CLOSE, RENAME, UNLINK, MKDIR, RMDIR, UNKNOWN, LINK };

struct record {
  uint32_t bytes; /* that follow this head */
  uint32_t kind;
  int64_t at;
  int64_t fd;
  int64_t a; /* offset, size, flags, or the number of a sync */
  int64_t b; /* whether a file was there before it was opened */
};

#define FDS 65536
enum { ELSEWHERE = 0, RECORDED = 1, OF_LEDGER = 2 };
static struct {
  unsigned char how;
  dev_t device;
  ino_t inode;
} watched[FDS];
static char folder[4096];
static size_t folder_length;
static int log_fd = -1;
static volatile unsigned char *control;
static int64_t syncs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char *root = getenv("POWER_FOLDER"), *logs = getenv("POWER_LOGS"), *control_path = getenv("POWER_CONTROL");
  char path[4096];
  if (!root || !logs || !realpath(root, folder)) return;
  folder_length = strlen(folder);
  snprintf(path, sizeof path, "%s/%lld-%d", logs, (long long)now(), (int)getpid());
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) abort();
  log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, fd);
  if (!control_path) return;
  fd = (int)syscall(SYS_openat, AT_FDCWD, control_path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) abort();
  control = (void *)syscall(SYS_mmap, NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
}

/* A log with a hole would prove nothing. */
static void put(enum kind kind, int64_t at, int fd, int64_t a, int64_t b, const void *data, size_t bytes) {
  struct record head = {(uint32_t)bytes, kind, at, fd, a, b};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, bytes}};
  int saved = errno;
  if (syscall(SYS_writev, log_fd, parts, 2) != (long)(sizeof head + bytes)) abort();
  errno = saved;
}

static const char *inside(const char *path) {
  if (strncmp(path, folder, folder_length) || (path[folder_length] != '/' && path[folder_length])) return NULL;
  return path[folder_length] ? path + folder_length + 1 : ".";
}

/* The path within the folder, with the links before its last name resolved. */
static const char *place(int at, const char *path, char *buffer) {
  char whole[4096], parent[4096], *name;
  if (log_fd < 0) return NULL;
  if (path[0] == '/') snprintf(whole, sizeof whole, "%s", path);
  else {
    char base[64];
    ssize_t length;
    if (at == AT_FDCWD) snprintf(base, sizeof base, "/proc/self/cwd");
    else snprintf(base, sizeof base, "/proc/self/fd/%d", at);
    length = readlink(base, parent, sizeof parent - 1);
    if (length < 0) return NULL;
    parent[length] = 0;
    if (snprintf(whole, sizeof whole, "%s/%s", parent, path) >= (int)sizeof whole) return NULL;
  }
  size_t end = strlen(whole);
  while (end > 1 && whole[end - 1] == '/') whole[--end] = 0;
  name = strrchr(whole, '/');
  if (!name) return NULL;
  *name++ = 0;
  if (!realpath(whole[0] ? whole : "/", parent)) return NULL;
  if (snprintf(buffer, 4096, "%s/%s", parent, name) >= 4096) return NULL;
  return inside(buffer);
}

/* libuv closes its files without the C library, so the number may belong to something else by now. */
static int is_watched(int fd) {
  struct stat stat;
  if (log_fd < 0 || fd < 0 || fd >= FDS || !watched[fd].how) return 0;
  int saved = errno;
  if (fstat(fd, &stat) || stat.st_dev != watched[fd].device || stat.st_ino != watched[fd].inode) watched[fd].how = ELSEWHERE;
  errno = saved;
  return watched[fd].how != ELSEWHERE;
}

static int is_full(int fd) { return control && *control && watched[fd].how == OF_LEDGER; }

static int do_open(int at, const char *path, int flags, mode_t mode) {
  char buffer[4096];
  const char *name = place(at, path, buffer);
  if (!name) return (int)syscall(SYS_openat, at, path, flags, mode);
  pthread_mutex_lock(&lock);
  int64_t time = now();
  struct stat old;
  int existed = fstatat(AT_FDCWD, buffer, &old, 0) == 0;
  int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  struct stat now_open;
  if (fd >= 0 && fd < FDS && fstat(fd, &now_open) == 0) {
    watched[fd].how = strstr(name, "ledger.db") ? OF_LEDGER : RECORDED;
    watched[fd].device = now_open.st_dev;
    watched[fd].inode = now_open.st_ino;
    put(OPEN, time, fd, flags, existed, name, strlen(name));
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(rest, int) : 0;
}
#define OPENING(at) va_list rest; va_start(rest, flags); mode_t mode = mode_of(flags, rest); va_end(rest); \
  return do_open(at, path, flags, mode)

int open(const char *path, int flags, ...) { OPENING(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPENING(AT_FDCWD); }
int openat(int at, const char *path, int flags, ...) { OPENING(at); }
int openat64(int at, const char *path, int flags, ...) { OPENING(at); }
int creat(const char *path, mode_t mode) { return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

static ssize_t do_write(int fd, const struct iovec *parts, int count, int64_t offset) {
  char *bytes;
  size_t total = 0, filled = 0;
  for (int index = 0; index < count; index++) total += parts[index].iov_len;
  if (is_full(fd)) {
    errno = ENOSPC;
    return -1;
  }
  bytes = count == 1 ? parts[0].iov_base : malloc(total ? total : 1);
  if (count > 1)
    for (int index = 0; index < count; index++) {
      memcpy(bytes + filled, parts[index].iov_base, parts[index].iov_len);
      filled += parts[index].iov_len;
    }
  pthread_mutex_lock(&lock);
  int64_t time = now();
  ssize_t written = offset < 0 ? syscall(SYS_write, fd, bytes, total) : syscall(SYS_pwrite64, fd, bytes, total, offset);
  if (written > 0) {
    if (offset < 0) offset = (int64_t)lseek(fd, 0, SEEK_CUR) - written;
    put(WRITE, time, fd, offset, 0, bytes, (size_t)written);
  }
  pthread_mutex_unlock(&lock);
  int saved = errno;
  if (count > 1) free(bytes);
  errno = saved;
  return written;
}

ssize_t write(int fd, const void *data, size_t bytes) {
  struct iovec part = {(void *)data, bytes};
  return is_watched(fd) ? do_write(fd, &part, 1, -1) : syscall(SYS_write, fd, data, bytes);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  return is_watched(fd) ? do_write(fd, parts, count, -1) : syscall(SYS_writev, fd, parts, count);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
  struct iovec part = {(void *)data, bytes};
  return is_watched(fd) ? do_write(fd, &part, 1, offset) : syscall(SYS_pwrite64, fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) { return pwrite(fd, data, bytes, offset); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return is_watched(fd) ? do_write(fd, parts, count, offset) : syscall(SYS_pwritev, fd, parts, count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}

int ftruncate(int fd, off_t size) {
  if (!is_watched(fd)) return (int)syscall(SYS_ftruncate, fd, size);
  if (is_full(fd)) {
    errno = ENOSPC;
    return -1;
  }
  pthread_mutex_lock(&lock);
  int64_t time = now();
  int result = (int)syscall(SYS_ftruncate, fd, size);
  if (result == 0) put(TRUNCATE, time, fd, size, 0, "", 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

/* Ways to change a file that the program does not use today. The reader of the log must refuse them. */
static void unknown(int fd, const char *what) {
  if (!is_watched(fd)) return;
  pthread_mutex_lock(&lock);
  put(UNKNOWN, now(), fd, 0, 0, what, strlen(what));
  pthread_mutex_unlock(&lock);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  unknown(fd, "fallocate");
  return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return fallocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) { return fallocate(fd, 0, offset, length) ? errno : 0; }
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return posix_fallocate(fd, offset, length); }
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t bytes, unsigned flags) {
  unknown(out, "copy_file_range");
  return syscall(SYS_copy_file_range, in, from, out, to, bytes, flags);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t bytes) {
  unknown(out, "sendfile");
  return syscall(SYS_sendfile, out, in, offset, bytes);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t bytes) { return sendfile(out, in, offset, bytes); }
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_SHARED) && (protection & PROT_WRITE)) unknown(fd, "a shared mapping");
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, bytes, protection, flags, fd, offset);
}

/* sync_file_range promises nothing about a power cut, so it is no sync. */
static int do_sync(long call, int fd) {
  if (!is_watched(fd)) return (int)syscall(call, fd);
  pthread_mutex_lock(&lock);
  int64_t number = ++syncs;
  put(SYNC_BEGIN, now(), fd, number, 0, "", 0);
  pthread_mutex_unlock(&lock);
  int result = (int)syscall(call, fd);
  if (result != 0) return result;
  pthread_mutex_lock(&lock);
  put(SYNC_END, now(), fd, number, 0, "", 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int fsync(int fd) { return do_sync(SYS_fsync, fd); }
int fdatasync(int fd) { return do_sync(SYS_fdatasync, fd); }

int close(int fd) {
  if (!is_watched(fd)) return (int)syscall(SYS_close, fd);
  pthread_mutex_lock(&lock);
  put(CLOSE, now(), fd, 0, 0, "", 0);
  watched[fd].how = ELSEWHERE;
  int result = (int)syscall(SYS_close, fd);
  pthread_mutex_unlock(&lock);
  return result;
}

static int do_rename(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
  char first[4096], second[4096], both[8192];
  const char *old = place(from_at, from, first), *new = place(to_at, to, second);
  if (!old && !new) return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
  pthread_mutex_lock(&lock);
  int64_t time = now();
  int result = (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
  if (result == 0) {
    int length = snprintf(both, sizeof both, "%s\n%s", old ? old : "", new ? new : "");
    put(old && new && !flags ? RENAME : UNKNOWN, time, -1, 0, 0, both, (size_t)length);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return do_rename(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return do_rename(a, from, b, to, flags); }

static int do_name(enum kind kind, int at, const char *path, int argument) {
  char buffer[4096];
  const char *name = place(at, path, buffer);
  long call = kind == MKDIR ? SYS_mkdirat : SYS_unlinkat;
  if (!name) return (int)syscall(call, at, path, argument);
  pthread_mutex_lock(&lock);
  int64_t time = now();
  int result = (int)syscall(call, at, path, argument);
  if (result == 0) put(kind, time, -1, 0, 0, name, strlen(name));
  pthread_mutex_unlock(&lock);
  return result;
}
int unlink(const char *path) { return do_name(UNLINK, AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) {
  return do_name(flags & AT_REMOVEDIR ? RMDIR : UNLINK, at, path, flags);
}
int rmdir(const char *path) { return do_name(RMDIR, AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { return do_name(MKDIR, AT_FDCWD, path, (int)mode); }
int mkdirat(int at, const char *path, mode_t mode) { return do_name(MKDIR, at, path, (int)mode); }
static int do_link(int from_at, const char *from, int to_at, const char *to, int flags) {
  char first[4096], second[4096], both[8192];
  const char *old = place(from_at, from, first), *new = place(to_at, to, second);
  if (!old && !new) return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
  pthread_mutex_lock(&lock);
  int64_t time = now();
  int result = (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
  if (result == 0) {
    int length = snprintf(both, sizeof both, "%s\n%s", old ? old : "", new ? new : "");
    put(old && new ? LINK : UNKNOWN, time, -1, 0, 0, both, (size_t)length);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int link(const char *from, const char *to) { return do_link(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return do_link(a, from, b, to, flags); }
int symlink(const char *target, const char *path) {
  char buffer[4096];
  if (place(AT_FDCWD, path, buffer)) {
    pthread_mutex_lock(&lock);
    put(UNKNOWN, now(), -1, 0, 0, "a symbolic link", 15);
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}
