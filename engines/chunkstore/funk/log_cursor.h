// LogCursor: what a read sees of a log, found by the log's index: of each key the newest entry that
// the read may see. Superseded ones are not read, and the blocks of the next keys are read
// together. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "funk/block_read.h"
#include "funk/key_index.h"

namespace chunkstore {

// What a read needs of a log, as far as it knows.
struct LogRead {
  Version version = kNewest;  // it sees nothing newer
  size_t keys = 0;            // how many keys it expects to see; 0: all
  std::string_view before;    // it expects no key at or after this one; empty: does not know
};

class LogCursor final : public EntryCursor {
 public:
  // Blocks that are held at a time, at most, and their bytes, unless one block alone is larger.
  static constexpr size_t kLargestWindow = 32;
  static constexpr size_t kLargestWindowBytes = size_t{256} << 10;

  // `parts` make up the index of `runs`, which must outlive the cursor, as must `read.before`.
  LogCursor(std::vector<std::shared_ptr<const KeyIndex>> parts, const std::vector<ExtentRef>& runs,
            const ReadContext& context, const LogRead& read);

  void Seek(std::string_view key) override;
  bool Valid() const override { return valid_; }
  void Next() override;
  const Entry& entry() const override { return entry_; }
  Status status() const override { return status_; }

 private:
  struct Item {
    size_t key_at = 0, key_length = 0;  // in keys_
    KeyIndex::Item place;
    size_t block = 0;  // of blocks_
  };

  KeyIndex::Cursor* Least();
  // Skips what the read does not see; null at the end.
  KeyIndex::Cursor* NextSeen();
  size_t Room(std::string_view next);
  void FillWindow();
  void Take(const KeyIndex::Cursor& at);
  void Show();

  const std::vector<std::shared_ptr<const KeyIndex>> parts_;
  const std::vector<ExtentRef>& runs_;
  const ReadContext context_;
  const LogRead read_;
  std::vector<KeyIndex::Cursor> cursors_;  // of parts_
  size_t room_ = 1;                        // of the next window
  // The window.
  std::vector<Item> items_;
  size_t at_ = 0;
  std::string keys_;  // of items_, one behind the other
  std::vector<WantedBlock> blocks_;
  size_t block_bytes_ = 0;  // of blocks_
  std::string last_;        // the last key taken
  bool has_last_ = false;
  Entry entry_;
  bool valid_ = false;
  Status status_;
};

}  // namespace chunkstore
