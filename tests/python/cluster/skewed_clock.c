// The calendar clock, off by SKEW_SECONDS: preloaded into the tasks of a host. Waiting needs other clocks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*GetTime)(clockid_t, struct timespec*);

int clock_gettime(clockid_t clock, struct timespec* now) {
  static GetTime real;
  if (!real) real = (GetTime)dlsym(RTLD_NEXT, "clock_gettime");
  const int status = real(clock, now);
  const char* skew = getenv("SKEW_SECONDS");
  if (!status && skew && clock == CLOCK_REALTIME) now->tv_sec += atol(skew);
  return status;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  const int status = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return status;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
