/* The chunk store for C, and for every language that calls C: store.h behind opaque handles.
 *
 * Errors. A function that can fail returns a chunkstore_code and takes `char** error`, which may be
 * null. On failure *error is a message for people with the code's name in front and file and offset
 * behind where there is a place, "corruption: ... (/data/segment-000012.seg at offset 4096)", to be
 * freed with chunkstore_free; on success, and for CHUNKSTORE_NOT_FOUND, it is set to null. Output
 * parameters are written on success only. Running out of memory ends the process.
 *
 * Ownership. What a call hands out is freed by the call named beside it. Bytes passed in are read
 * during the call and not kept. A null pointer with length 0 is an empty key or value. Freeing null
 * does nothing.
 *
 * Threads. A store may be used from any number of threads at once, and so may a snapshot. Options,
 * batches and iterators belong to one thread at a time. Iterators and snapshots must be gone before
 * their store is closed.
 *
 * Limits: keys up to 64 KiB, values up to 256 MiB. Both may be empty and hold any bytes.
 */
#ifndef CHUNKSTORE_C_H_
#define CHUNKSTORE_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum chunkstore_code {
  CHUNKSTORE_OK = 0,
  CHUNKSTORE_NOT_FOUND = 1,        /* the key does not exist; an answer, not a failure */
  CHUNKSTORE_INVALID_ARGUMENT = 2, /* the caller's input is wrong */
  CHUNKSTORE_UNSUPPORTED = 3,      /* no such operation, or a directory of another format version */
  CHUNKSTORE_IO_ERROR = 4,         /* the operating system refused */
  CHUNKSTORE_NO_SPACE = 5,         /* the disk is full; may succeed later */
  CHUNKSTORE_READ_ONLY = 6,  /* opened for reading, or no longer writable after a failed sync */
  CHUNKSTORE_CORRUPTION = 7, /* stored data is not what was written */
  CHUNKSTORE_BUSY = 8,       /* another process or store holds the directory */
  CHUNKSTORE_INTERNAL = 9    /* a defect */
} chunkstore_code;

typedef struct chunkstore_options chunkstore_options;
typedef struct chunkstore_budget chunkstore_budget;
typedef struct chunkstore_store chunkstore_store;
typedef struct chunkstore_batch chunkstore_batch;
typedef struct chunkstore_snapshot chunkstore_snapshot;
typedef struct chunkstore_iterator chunkstore_iterator;

/* Bytes that the caller does not own. */
typedef struct chunkstore_bytes {
  const char* data;
  size_t size;
} chunkstore_bytes;

/* Frees messages, values and texts that a call handed out. */
void chunkstore_free(void* memory);

/* "not found"; lives forever. */
const char* chunkstore_code_name(chunkstore_code code);

/* "0.1.0"; lives forever. */
const char* chunkstore_version(void);

/* --- options */

/* All defaults. Free with chunkstore_options_free; a store copies what it needs at open. */
chunkstore_options* chunkstore_options_new(void);
void chunkstore_options_free(chunkstore_options* options);

/* Sets a member of chunkstore::Options (options.h has unit, range, default and effect of each) by
 * its name:
 *   sizes       "64MiB", "4096"; "auto" or "adaptive" where options.h has kAuto or kAdaptive
 *   durability  "none", "async", "sync"
 *   log_lookup  "index", "bloom"
 *   booleans    "true", "false"
 *   numbers     "16", "0.5"; checkpoint_interval_s in seconds
 * INVALID_ARGUMENT for an unknown name or an unreadable value; ranges are checked by
 * chunkstore_open. */
chunkstore_code chunkstore_options_set(chunkstore_options* options, const char* name,
                                       const char* value, char** error);

/* The value in force, as chunkstore_options_set reads it. Free with chunkstore_free; null for an
 * unknown name. */
char* chunkstore_options_get(const chunkstore_options* options, const char* name);

/* Called for what happens beside the answers of calls: opening, closing, writes that recovery
 * dropped, background work that fails or works again. A few lines a minute at most. From any thread,
 * several at once; must not call the store. `level` 0: information, 1: warning, 2: error. */
typedef void (*chunkstore_log_function)(void* context, int level, const char* line);

/* `context` must live as long as every store that is opened with these options. */
void chunkstore_options_set_log(chunkstore_options* options, chunkstore_log_function log,
                                void* context);

/* Memory that several stores share: each has memory_budget of it for good ("auto": an eighth), the
 * rest follows their reads. */
chunkstore_budget* chunkstore_budget_new(uint64_t bytes);
/* Stores that use it keep it alive. */
void chunkstore_budget_free(chunkstore_budget* budget);
void chunkstore_options_set_budget(chunkstore_options* options, const chunkstore_budget* budget);

/* --- a store's life */

/* Opens the store in an existing directory, or makes one there. `options` null: all defaults. Close
 * the store with chunkstore_close. BUSY when another opener holds it; UNSUPPORTED for another
 * format version, which the message names; CORRUPTION for damage, for which chunkstore_repair may
 * help. */
chunkstore_code chunkstore_open(const chunkstore_options* options, const char* directory,
                                chunkstore_store** store, char** error);

/* Flushes and releases everything; the handle is gone, also after an error. No other call may be
 * running. */
chunkstore_code chunkstore_close(chunkstore_store* store, char** error);

/* The same, quicker: chunks that are due for reorganisation wait for the next open. */
chunkstore_code chunkstore_close_soon(chunkstore_store* store, char** error);

/* Salvages what is readable of a store that does not open, and leaves a store that does. *report
 * (may be null) is a text that lists what was lost, empty when nothing was; free with
 * chunkstore_free. It must not be open. */
chunkstore_code chunkstore_repair(const chunkstore_options* options, const char* directory,
                                  char** report, char** error);

/* Removes a store and nothing else; refuses a directory that holds foreign files. It must not be
 * open. */
chunkstore_code chunkstore_destroy(const chunkstore_options* options, const char* directory,
                                   char** error);

/* --- writes */

/* What a write promises once it has returned. */
typedef enum chunkstore_durability {
  CHUNKSTORE_AS_OPENED = 0, /* what the option "durability" promises */
  CHUNKSTORE_NONE = 1,      /* it is in memory */
  CHUNKSTORE_ASYNC = 2,     /* it survives the process's death */
  CHUNKSTORE_SYNC = 3       /* it survives a power loss */
} chunkstore_durability;

chunkstore_code chunkstore_put(chunkstore_store* store, chunkstore_durability durability,
                               const char* key, size_t key_size, const char* value,
                               size_t value_size, char** error);

/* Deleting an absent key is OK. */
chunkstore_code chunkstore_delete(chunkstore_store* store, chunkstore_durability durability,
                                  const char* key, size_t key_size, char** error);

/* Writes that happen together, or after a crash not at all. Free with chunkstore_batch_free; may be
 * written again, and cleared and filled again. */
chunkstore_batch* chunkstore_batch_new(void);
void chunkstore_batch_free(chunkstore_batch* batch);
void chunkstore_batch_put(chunkstore_batch* batch, const char* key, size_t key_size,
                          const char* value, size_t value_size);
void chunkstore_batch_delete(chunkstore_batch* batch, const char* key, size_t key_size);
void chunkstore_batch_clear(chunkstore_batch* batch);
size_t chunkstore_batch_count(const chunkstore_batch* batch);
chunkstore_code chunkstore_write(chunkstore_store* store, chunkstore_durability durability,
                                 const chunkstore_batch* batch, char** error);

/* --- reads */

typedef struct chunkstore_read_options {
  const chunkstore_snapshot* snapshot; /* null: the moment of the call */
  int keep_out_of_caches;              /* not 0: the caches stay as they are */
} chunkstore_read_options;

/* *value is to be freed with chunkstore_free; it is not null when OK, also for an empty value.
 * `options` may be null, here and below. */
chunkstore_code chunkstore_get(chunkstore_store* store, const chunkstore_read_options* options,
                               const char* key, size_t key_size, char** value, size_t* value_size,
                               char** error);

/* `count` keys at one moment. codes[i], values[i] and value_sizes[i] (arrays of the caller) answer
 * keys[i]; each values[i] that is not null is to be freed with chunkstore_free. Returns OK when
 * each key was found or was not, else the first other code. */
chunkstore_code chunkstore_multi_get(chunkstore_store* store,
                                     const chunkstore_read_options* options, size_t count,
                                     const chunkstore_bytes* keys, chunkstore_code* codes,
                                     char** values, size_t* value_sizes, char** error);

typedef struct chunkstore_scan_options {
  chunkstore_bytes start;              /* inclusive; empty: from the first key */
  chunkstore_bytes end;                /* exclusive; empty: to the last key */
  uint64_t limit;                      /* rows at most; 0: no limit */
  int reverse;                         /* not 0: from the end of the range downwards */
  const chunkstore_snapshot* snapshot; /* null: the moment of the call */
  int keep_out_of_caches;              /* not 0: the caches stay as they are */
} chunkstore_scan_options;

/* Called for each row in order, in the thread of the scan. Key and value live until it returns.
 * Returns 0 to end the scan early, which is no error. Must not call the store, throw or jump out.
 */
typedef int (*chunkstore_row_function)(void* context, chunkstore_bytes key, chunkstore_bytes value);

chunkstore_code chunkstore_scan(chunkstore_store* store, const chunkstore_scan_options* options,
                                chunkstore_row_function row, void* context, char** error);

/* Rows in key order at one moment: this call's, or the snapshot's. Positioned nowhere until the
 * first seek. Free with chunkstore_iterator_free. Keys and values live until the next movement. */
chunkstore_iterator* chunkstore_iterator_new(chunkstore_store* store,
                                             const chunkstore_read_options* options);
void chunkstore_iterator_free(chunkstore_iterator* iterator);
int chunkstore_iterator_valid(
    const chunkstore_iterator* iterator); /* 0 at either end and after an error */
void chunkstore_iterator_seek_to_first(chunkstore_iterator* iterator);
void chunkstore_iterator_seek_to_last(chunkstore_iterator* iterator);
/* To the first row at or after the key, and to the last row at or before it. */
void chunkstore_iterator_seek(chunkstore_iterator* iterator, const char* key, size_t key_size);
void chunkstore_iterator_seek_for_prev(chunkstore_iterator* iterator, const char* key,
                                       size_t key_size);
/* Only when valid: */
void chunkstore_iterator_next(chunkstore_iterator* iterator);
void chunkstore_iterator_prev(chunkstore_iterator* iterator);
chunkstore_bytes chunkstore_iterator_key(const chunkstore_iterator* iterator);
chunkstore_bytes chunkstore_iterator_value(const chunkstore_iterator* iterator);
/* Distinguishes an end from an error. */
chunkstore_code chunkstore_iterator_status(const chunkstore_iterator* iterator, char** error);

/* A moment of the store. What it sees is kept on disk until chunkstore_snapshot_free. */
chunkstore_snapshot* chunkstore_snapshot_new(chunkstore_store* store);
void chunkstore_snapshot_free(chunkstore_snapshot* snapshot);
uint64_t chunkstore_snapshot_version(const chunkstore_snapshot* snapshot);

/* --- maintenance */

/* Everything written before survives a power loss. */
chunkstore_code chunkstore_checkpoint(chunkstore_store* store, char** error);

/* Writes the staging ring into the chunks and waits until no background work is left. */
chunkstore_code chunkstore_flush(chunkstore_store* store, char** error);

/* Flushes, and then reorganises chunks, those with the largest logs first, until all logs together
 * hold at most so many bytes; what others write meanwhile may come on top. */
chunkstore_code chunkstore_pay_debt(chunkstore_store* store, uint64_t log_bytes_max, char** error);

/* Reorganises every chunk: no logs are left, nothing superseded stays. */
chunkstore_code chunkstore_compact(chunkstore_store* store, char** error);

/* Makes a store of its own in `directory`, which must be empty or not exist: everything written
 * before the call. Reads and writes go on. After an error nothing is left there. */
chunkstore_code chunkstore_backup(chunkstore_store* store, const char* directory, char** error);

/* Reads every block of every live file. *problems is their number; *report (may be null) holds one
 * a line and is to be freed with chunkstore_free. OK also when problems were found. */
chunkstore_code chunkstore_verify(chunkstore_store* store, uint64_t* problems, char** report,
                                  char** error);

/* --- observation */

/* "stats", "chunks", "recovery", "num-chunks". Free with chunkstore_free; null for an
 * unknown name. */
char* chunkstore_property(const chunkstore_store* store, const char* name);

typedef struct chunkstore_statistic {
  const char* name; /* "munk_gets"; docs/chunkstore.md lists them */
  const char* unit; /* "op", "byte", "s", "us", "count", "ratio" */
  double value;
  int cumulative; /* 0: a level at this moment, else counted since open */
} chunkstore_statistic;

/* The store's numbers of this moment. *count of them in an array that one chunkstore_free releases,
 * names and units included. */
chunkstore_statistic* chunkstore_statistics(const chunkstore_store* store, size_t* count);

typedef struct chunkstore_recovery {
  int clean;                  /* not 0: the last process closed the store */
  uint64_t recovered_records; /* read back from the staging ring */
  uint64_t recovered_bytes;
  uint64_t dropped_bytes; /* of the ring, beyond the last readable record; 0 after a mere kill */
  double seconds;
} chunkstore_recovery;

/* What open found and did. */
chunkstore_recovery chunkstore_get_recovery(const chunkstore_store* store);

#ifdef __cplusplus
}
#endif

#endif /* CHUNKSTORE_C_H_ */
