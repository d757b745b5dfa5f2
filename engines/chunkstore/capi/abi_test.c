/* What a program compiled against c.h relies on: numbers and layouts, of the 64-bit platforms that
 * the store is built for. A change here breaks such programs: it needs the next SOVERSION.
 */
#include <stddef.h>
#include <stdio.h>

#include "chunkstore/c.h"

#define IS(expression, expected) _Static_assert((expression) == (expected), #expression)

IS(CHUNKSTORE_OK, 0);
IS(CHUNKSTORE_NOT_FOUND, 1);
IS(CHUNKSTORE_INVALID_ARGUMENT, 2);
IS(CHUNKSTORE_UNSUPPORTED, 3);
IS(CHUNKSTORE_IO_ERROR, 4);
IS(CHUNKSTORE_NO_SPACE, 5);
IS(CHUNKSTORE_READ_ONLY, 6);
IS(CHUNKSTORE_CORRUPTION, 7);
IS(CHUNKSTORE_BUSY, 8);
IS(CHUNKSTORE_INTERNAL, 9);
IS(sizeof(chunkstore_code), 4);

IS(CHUNKSTORE_AS_OPENED, 0);
IS(CHUNKSTORE_NONE, 1);
IS(CHUNKSTORE_ASYNC, 2);
IS(CHUNKSTORE_SYNC, 3);
IS(sizeof(chunkstore_durability), 4);

IS(offsetof(chunkstore_bytes, data), 0);
IS(offsetof(chunkstore_bytes, size), 8);
IS(sizeof(chunkstore_bytes), 16);

IS(offsetof(chunkstore_read_options, snapshot), 0);
IS(offsetof(chunkstore_read_options, keep_out_of_caches), 8);
IS(sizeof(chunkstore_read_options), 16);

IS(offsetof(chunkstore_scan_options, start), 0);
IS(offsetof(chunkstore_scan_options, end), 16);
IS(offsetof(chunkstore_scan_options, limit), 32);
IS(offsetof(chunkstore_scan_options, reverse), 40);
IS(offsetof(chunkstore_scan_options, snapshot), 48);
IS(offsetof(chunkstore_scan_options, keep_out_of_caches), 56);
IS(sizeof(chunkstore_scan_options), 64);

IS(offsetof(chunkstore_statistic, name), 0);
IS(offsetof(chunkstore_statistic, unit), 8);
IS(offsetof(chunkstore_statistic, value), 16);
IS(offsetof(chunkstore_statistic, cumulative), 24);
IS(sizeof(chunkstore_statistic), 32);

IS(offsetof(chunkstore_recovery, clean), 0);
IS(offsetof(chunkstore_recovery, recovered_records), 8);
IS(offsetof(chunkstore_recovery, recovered_bytes), 16);
IS(offsetof(chunkstore_recovery, dropped_bytes), 24);
IS(offsetof(chunkstore_recovery, seconds), 32);
IS(sizeof(chunkstore_recovery), 40);

int main(void) {
  printf("layouts as libchunkstore.so.0 has them, version %s\n", chunkstore_version());
  return 0;
}
