/* The C interface, called from C: every function once at least, with its errors and its ownership.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunkstore/c.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* Ends the test with the error's text when a call failed. */
#define OK(call)                                                                         \
  do {                                                                                   \
    char* error = (char*)"";                                                             \
    const chunkstore_code code = (call);                                                 \
    if (code != CHUNKSTORE_OK) {                                                         \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, chunkstore_code_name(code), \
              error == NULL ? "" : error);                                               \
      exit(1);                                                                           \
    }                                                                                    \
    CHECK(error == NULL);                                                                \
  } while (0)

static void expect_value(chunkstore_store* store, const chunkstore_read_options* options,
                         const char* key, const char* expected) {
  char* value = NULL;
  size_t size = 0;
  OK(chunkstore_get(store, options, key, strlen(key), &value, &size, &error));
  CHECK(size == strlen(expected) && memcmp(value, expected, size) == 0);
  chunkstore_free(value);
}

static void expect_absent(chunkstore_store* store, const char* key) {
  char* value = NULL;
  size_t size = 0;
  char* error = (char*)"";
  CHECK(chunkstore_get(store, NULL, key, strlen(key), &value, &size, &error) ==
        CHUNKSTORE_NOT_FOUND);
  CHECK(error == NULL && value == NULL);
}

static void put(chunkstore_store* store, const char* key, const char* value) {
  OK(chunkstore_put(store, CHUNKSTORE_AS_OPENED, key, strlen(key), value, strlen(value), &error));
}

static void expect_refused(chunkstore_code expected, chunkstore_code code, char** error,
                           const char* part) {
  CHECK(code == expected);
  CHECK(*error != NULL && strstr(*error, part) != NULL);
  chunkstore_free(*error);
  *error = NULL;
}

static chunkstore_options* small_options(void) {
  chunkstore_options* options = chunkstore_options_new();
  char* text = NULL;
  char* refusal = NULL;
  OK(chunkstore_options_set(options, "memory_budget", "32MiB", &error));
  OK(chunkstore_options_set(options, "chunk_size", "64KiB", &error));
  text = chunkstore_options_get(options, "memory_budget");
  CHECK(text != NULL && strcmp(text, "32MiB") == 0);
  chunkstore_free(text);
  CHECK(chunkstore_options_get(options, "no_such_option") == NULL);
  expect_refused(CHUNKSTORE_INVALID_ARGUMENT,
                 chunkstore_options_set(options, "durability", "maybe", &refusal), &refusal,
                 "expected none or async or sync");
  CHECK(chunkstore_options_set(options, "nonsense", "1", NULL) == CHUNKSTORE_INVALID_ARGUMENT);
  return options;
}

static void test_points(chunkstore_store* store) {
  char* value = NULL;
  size_t size = 1;
  put(store, "a", "1");
  put(store, "a", "one");
  put(store, "b", "2");
  OK(chunkstore_delete(store, CHUNKSTORE_AS_OPENED, "b", 1, &error));
  OK(chunkstore_delete(store, CHUNKSTORE_AS_OPENED, "never written", 13, &error));
  expect_value(store, NULL, "a", "one");
  expect_absent(store, "b");
  /* A null pointer of no length is empty; an empty value is a value. */
  OK(chunkstore_put(store, CHUNKSTORE_AS_OPENED, NULL, 0, NULL, 0, &error));
  OK(chunkstore_get(store, NULL, NULL, 0, &value, &size, &error));
  CHECK(value != NULL && size == 0);
  chunkstore_free(value);
  OK(chunkstore_delete(store, CHUNKSTORE_AS_OPENED, NULL, 0, &error));
}

static void test_durability(chunkstore_store* store) {
  OK(chunkstore_put(store, CHUNKSTORE_SYNC, "s", 1, "synced", 6, &error));
  expect_value(store, NULL, "s", "synced");
  OK(chunkstore_delete(store, CHUNKSTORE_SYNC, "s", 1, &error));
  expect_absent(store, "s");
}

static void test_batch(chunkstore_store* store) {
  chunkstore_batch* batch = chunkstore_batch_new();
  chunkstore_batch_put(batch, "c", 1, "3", 1);
  chunkstore_batch_put(batch, "d", 1, "4", 1);
  chunkstore_batch_delete(batch, "c", 1);
  CHECK(chunkstore_batch_count(batch) == 3);
  OK(chunkstore_write(store, CHUNKSTORE_AS_OPENED, batch, &error));
  expect_absent(store, "c");
  expect_value(store, NULL, "d", "4");
  chunkstore_batch_clear(batch);
  CHECK(chunkstore_batch_count(batch) == 0);
  OK(chunkstore_write(store, CHUNKSTORE_AS_OPENED, batch, &error));
  chunkstore_batch_free(batch);
}

static void test_multi_get(chunkstore_store* store) {
  const chunkstore_bytes keys[3] = {{"d", 1}, {"nothing", 7}, {"a", 1}};
  chunkstore_code codes[3];
  char* values[3];
  size_t sizes[3];
  OK(chunkstore_multi_get(store, NULL, 3, keys, codes, values, sizes, &error));
  CHECK(codes[0] == CHUNKSTORE_OK && sizes[0] == 1 && values[0][0] == '4');
  CHECK(codes[1] == CHUNKSTORE_NOT_FOUND && values[1] == NULL);
  CHECK(codes[2] == CHUNKSTORE_OK && sizes[2] == 3 && memcmp(values[2], "one", 3) == 0);
  chunkstore_free(values[0]);
  chunkstore_free(values[1]);
  chunkstore_free(values[2]);
}

/* Appends "key=value;" to a text; ends the scan when it is full. */
struct text {
  char bytes[256];
  size_t rows, stop_after;
};

static int append_row(void* context, chunkstore_bytes key, chunkstore_bytes value) {
  struct text* text = context;
  const size_t used = strlen(text->bytes);
  snprintf(text->bytes + used, sizeof text->bytes - used, "%.*s=%.*s;", (int)key.size, key.data,
           (int)value.size, value.data);
  return ++text->rows != text->stop_after;
}

static void expect_scan(chunkstore_store* store, const chunkstore_scan_options* options,
                        size_t stop_after, const char* expected) {
  struct text text = {"", 0, stop_after};
  OK(chunkstore_scan(store, options, append_row, &text, &error));
  if (strcmp(text.bytes, expected) != 0) fprintf(stderr, "scanned %s\n", text.bytes);
  CHECK(strcmp(text.bytes, expected) == 0);
}

static void test_scan(chunkstore_store* store) {
  chunkstore_scan_options options;
  memset(&options, 0, sizeof options);
  put(store, "e", "5");
  expect_scan(store, NULL, 0, "a=one;d=4;e=5;");
  expect_scan(store, NULL, 2, "a=one;d=4;");
  options.limit = 1;
  expect_scan(store, &options, 0, "a=one;");
  options.limit = 0;
  options.reverse = 1;
  expect_scan(store, &options, 0, "e=5;d=4;a=one;");
  options.start.data = "b";
  options.start.size = 1;
  options.end.data = "e";
  options.end.size = 1;
  options.keep_out_of_caches = 1;
  expect_scan(store, &options, 0, "d=4;");
}

static int row_is(const chunkstore_iterator* iterator, const char* key, const char* value) {
  const chunkstore_bytes k = chunkstore_iterator_key(iterator);
  const chunkstore_bytes v = chunkstore_iterator_value(iterator);
  return chunkstore_iterator_valid(iterator) && k.size == strlen(key) &&
         memcmp(k.data, key, k.size) == 0 && v.size == strlen(value) &&
         memcmp(v.data, value, v.size) == 0;
}

static void test_iterator(chunkstore_store* store) {
  chunkstore_iterator* iterator = chunkstore_iterator_new(store, NULL);
  CHECK(!chunkstore_iterator_valid(iterator));
  chunkstore_iterator_seek_to_first(iterator);
  CHECK(row_is(iterator, "a", "one"));
  chunkstore_iterator_next(iterator);
  CHECK(row_is(iterator, "d", "4"));
  chunkstore_iterator_prev(iterator);
  CHECK(row_is(iterator, "a", "one"));
  chunkstore_iterator_prev(iterator);
  CHECK(!chunkstore_iterator_valid(iterator));
  chunkstore_iterator_seek_to_last(iterator);
  CHECK(row_is(iterator, "e", "5"));
  chunkstore_iterator_seek(iterator, "b", 1);
  CHECK(row_is(iterator, "d", "4"));
  chunkstore_iterator_seek_for_prev(iterator, "b", 1);
  CHECK(row_is(iterator, "a", "one"));
  chunkstore_iterator_seek(iterator, "z", 1);
  CHECK(!chunkstore_iterator_valid(iterator));
  OK(chunkstore_iterator_status(iterator, &error));
  chunkstore_iterator_free(iterator);
}

static void test_snapshot(chunkstore_store* store) {
  chunkstore_snapshot* snapshot = chunkstore_snapshot_new(store);
  chunkstore_read_options old;
  old.snapshot = snapshot;
  old.keep_out_of_caches = 0;
  CHECK(chunkstore_snapshot_version(snapshot) > 0);
  put(store, "a", "newer");
  OK(chunkstore_compact(store, &error));
  expect_value(store, &old, "a", "one");
  expect_value(store, NULL, "a", "newer");
  chunkstore_snapshot_free(snapshot);
}

static void test_maintenance(chunkstore_store* store) {
  uint64_t problems = 1;
  char* report = NULL;
  OK(chunkstore_checkpoint(store, &error));
  OK(chunkstore_flush(store, &error));
  OK(chunkstore_pay_debt(store, 0, &error));
  OK(chunkstore_verify(store, &problems, &report, &error));
  CHECK(problems == 0 && report != NULL && *report == '\0');
  chunkstore_free(report);
  OK(chunkstore_verify(store, &problems, NULL, &error));
}

static void count_line(void* context, int level, const char* line) {
  CHECK(level == 0 && strlen(line) > 0);
  ++*(int*)context;
}

/* A copy with a log and a budget that it shares; the options are gone before the store is. */
static void test_backup(chunkstore_store* store, const char* directory) {
  char copy[64];
  int lines = 0;
  char* refusal = NULL;
  chunkstore_store* copied = NULL;
  chunkstore_options* options = chunkstore_options_new();
  chunkstore_budget* budget = chunkstore_budget_new((uint64_t)64 << 20);
  snprintf(copy, sizeof copy, "%s-copy", directory);
  OK(chunkstore_backup(store, copy, &error));
  expect_refused(CHUNKSTORE_INVALID_ARGUMENT, chunkstore_backup(store, copy, &refusal), &refusal,
                 "expected an empty directory");
  chunkstore_options_set_log(options, count_line, &lines);
  chunkstore_options_set_budget(options, budget);
  chunkstore_budget_free(budget);
  OK(chunkstore_open(options, copy, &copied, &error));
  chunkstore_options_free(options);
  CHECK(lines == 1);
  expect_value(copied, NULL, "a", "newer");
  put(copied, "a", "of the copy");
  OK(chunkstore_close_soon(copied, &error));
  CHECK(lines == 2);
  expect_value(store, NULL, "a", "newer");
  OK(chunkstore_destroy(NULL, copy, &error));
  rmdir(copy);
}

static void test_observation(const chunkstore_store* store) {
  size_t count = 0, i, named = 0;
  chunkstore_statistic* statistics = chunkstore_statistics(store, &count);
  char* text = chunkstore_property(store, "num-chunks");
  CHECK(text != NULL && atoi(text) >= 1);
  chunkstore_free(text);
  CHECK(chunkstore_property(store, "no such property") == NULL);
  CHECK(count > 20);
  for (i = 0; i < count; i++) {
    CHECK(statistics[i].name[0] != '\0' && statistics[i].unit[0] != '\0');
    named += strcmp(statistics[i].name, "flushes") == 0 && statistics[i].cumulative;
  }
  CHECK(named == 1);
  chunkstore_free(statistics);
}

static void test_refusals(const chunkstore_options* options, const char* directory) {
  chunkstore_store* other = NULL;
  char* refusal = NULL;
  expect_refused(CHUNKSTORE_BUSY, chunkstore_open(options, directory, &other, &refusal), &refusal,
                 "busy: ");
  CHECK(chunkstore_open(options, "/proc/self/cmdline", &other, &refusal) != CHUNKSTORE_OK);
  CHECK(refusal != NULL && other == NULL);
  chunkstore_free(refusal);
}

static void test_reopening(const chunkstore_options* options, const char* directory) {
  chunkstore_store* store = NULL;
  chunkstore_recovery recovery;
  char* report = NULL;
  OK(chunkstore_open(options, directory, &store, &error));
  recovery = chunkstore_get_recovery(store);
  CHECK(recovery.clean && recovery.dropped_bytes == 0 && recovery.seconds >= 0);
  expect_value(store, NULL, "a", "newer");
  OK(chunkstore_close(store, &error));
  OK(chunkstore_repair(options, directory, &report, &error));
  chunkstore_free(report);
  OK(chunkstore_destroy(options, directory, &error));
}

int main(void) {
  char directory[] = "/tmp/chunkstore-c-XXXXXX";
  chunkstore_options* options = small_options();
  chunkstore_store* store = NULL;
  CHECK(mkdtemp(directory) != NULL);
  CHECK(strlen(chunkstore_version()) > 0);
  OK(chunkstore_open(options, directory, &store, &error));
  test_points(store);
  test_durability(store);
  test_batch(store);
  test_multi_get(store);
  test_scan(store);
  test_iterator(store);
  test_snapshot(store);
  test_maintenance(store);
  test_backup(store, directory);
  test_observation(store);
  test_refusals(options, directory);
  OK(chunkstore_close(store, &error));
  OK(chunkstore_close(NULL, &error));
  test_reopening(options, directory);
  chunkstore_options_free(options);
  rmdir(directory); /* fails when Destroy left something, which the next line checks */
  CHECK(access(directory, F_OK) != 0);
  puts("every function of c.h keeps its contract");
  return 0;
}
