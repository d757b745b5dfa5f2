#include "stage/recovery.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "kvdyno/base/crc32c.h"

namespace chunkstore {

Status Ring::Recovery::Damage(const std::string& path, size_t offset, const std::string& what) {
  if (salvage_) return Status::Ok();
  return Status::Corruption("recover " + path + ": " + what).WithPlace(path, offset);
}

void Ring::Recovery::Drop(size_t bytes, const std::string& reason) {
  result_->dropped_bytes += bytes;
  if (result_->dropped_reason.empty()) result_->dropped_reason = reason;
}

Status Ring::Recovery::Run() {
  for (size_t slot = 0; slot < ring_->slots_.size(); ++slot) {
    if (!files_->Exists(ring_->slots_[slot].path)) continue;
    if (Status status = Find(slot); !status.ok()) return status;
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.header.first, a.header.sequence) <
           std::pair(b.header.first, b.header.sequence);
  });
  for (const Candidate& candidate : candidates_) {
    if (Status status = Recover(candidate); !status.ok()) return status;
  }
  if (!ring_->options_.read_only) RemoveOrphans();
  return Status::Ok();
}

Status Ring::Recovery::Find(size_t slot) {
  const std::string& path = ring_->slots_[slot].path;
  std::unique_ptr<kvdyno::RandomAccessFile> file;
  Status status = files_->OpenForRead(path, /*direct=*/false, &file);
  char page[kRecordsAt];
  size_t read = 0;
  if (status.ok()) status = file->Read(0, sizeof page, page, &read);
  if (!status.ok()) {
    if (!salvage_) return status;
    Drop(0, status.message());
    return Status::Ok();
  }
  const HeaderScan headers = ScanHeaders({page, read});
  if (headers.state == HeaderState::kOtherFormat) {
    return Status::Unsupported("open " + path + ": expected ring format " +
                               std::to_string(kRingFormat) + ", got " +
                               std::to_string(headers.format));
  }
  // An empty file: the power went before its first header was durable.
  if (read == 0) return Status::Ok();
  if (headers.doubtful || headers.state != HeaderState::kGood) return CheckHeaders(slot, headers);
  result_->sequence = std::max(result_->sequence, headers.header.sequence);
  candidates_.push_back({slot, headers.header});
  return Status::Ok();
}

Status Ring::Recovery::CheckHeaders(size_t slot, const HeaderScan& headers) {
  const std::string& path = ring_->slots_[slot].path;
  std::string content;
  if (Status status = kvdyno::ReadWholeFile(files_, path, &content); !status.ok()) {
    if (!salvage_) return status;
    Drop(0, status.message());
    return Status::Ok();
  }
  if (headers.state == HeaderState::kUnreadable || HoldsNewerUse(content, headers)) {
    Drop(content.size() - std::min(content.size(), kRecordsAt), path + ": unreadable header");
    return Damage(path, 0, "expected a ring header, got two unreadable or outdated ones");
  }
  if (headers.state == HeaderState::kGood) {
    result_->sequence = std::max(result_->sequence, headers.header.sequence);
    candidates_.push_back({slot, headers.header});
  }
  return Status::Ok();
}

// Within an epoch, versions go on from stage to stage; where an epoch ended, it holds with which
// one.
bool Ring::Recovery::Follows(const StageHeader& header) const {
  if (!chain_.any) return true;
  if (chain_.cut) return false;
  if (EpochOf(header.first) == EpochOf(chain_.last)) return header.first == chain_.last + 1;
  const Version limit = EpochLimit(epochs_, EpochOf(chain_.last));
  return limit == kNewest || limit == chain_.last;
}

Status Ring::Recovery::Recover(const Candidate& candidate) {
  const StageHeader& header = candidate.header;
  const std::string& path = ring_->slots_[candidate.slot].path;
  const Version limit = EpochLimit(epochs_, EpochOf(header.first));
  if (header.sequence <= flushed_sequence_ || header.first > limit) return Status::Ok();
  std::string content;
  if (Status status = kvdyno::ReadWholeFile(files_, path, &content); !status.ok()) {
    if (!salvage_) return status;
    Drop(0, status.message());
    content.clear();
  } else if (content.size() != header.file_size) {
    status = Damage(path, content.size(),
                    "expected " + std::to_string(header.file_size) + " bytes, got " +
                        std::to_string(content.size()));
    if (!status.ok()) return status;
  }
  RecordScan scan = ScanRecords(content, header, limit);
  if (scan.last < header.first && chain_.any && header.first <= chain_.last) {
    return Status::Ok();  // acquired in vain; another stage took its place
  }
  if (!Follows(header)) {
    size_t which = 0;
    if (LoadMarks(content, header.sequence, &which) >= header.first) {
      const Status status = Damage(path, kRecordsAt,
                                   "expected all that was written before its records, which were "
                                   "synchronised, got a gap");
      if (!status.ok()) return status;
    }
    chain_.cut = true;
    const size_t bytes = scan.end - kRecordsAt + scan.lost_bytes;
    if (bytes > 0) Drop(bytes, path + ": follows writes that were lost");
    return Status::Ok();
  }
  if (Status status = Load(candidate, content, &scan); !status.ok()) return status;
  size_t which = 0;
  const Version mark = LoadMarks(content, header.sequence, &which);
  if (scan.last < mark) {
    const Status status =
        Damage(path, scan.end,
               "expected records up to version " + std::to_string(mark) +
                   ", which were synchronised, got them up to " + std::to_string(scan.last));
    if (!status.ok()) return status;
  }
  if (scan.lost_bytes > 0 || scan.last < mark) {
    Drop(scan.lost_bytes, path + ": no valid record of version " + std::to_string(scan.last + 1) +
                              " at offset " + std::to_string(scan.end));
  }
  chain_ = {true, scan.lost_bytes > 0 || scan.last < mark, scan.last};
  return Status::Ok();
}

Status Ring::Recovery::MapOrHold(const Candidate& candidate, const std::string& content) {
  Slot& slot = ring_->slots_[candidate.slot];
  if (ring_->options_.read_only) {
    slot.held.reset(new char[content.size()]);
    std::memcpy(slot.held.get(), content.data(), content.size());
  } else {
    Status status = files_->Map(slot.path, content.size(), &slot.file);
    // A page that cannot be had is an error now, and no signal when a read comes to it.
    if (status.ok()) status = slot.file->Populate(0, content.size());
    if (!status.ok()) return status;
  }
  slot.size = content.size();
  slot.busy = true;
  return Status::Ok();
}

Status Ring::Recovery::Load(const Candidate& candidate, const std::string& content,
                            RecordScan* scan) {
  if (scan->end == kRecordsAt) return Status::Ok();
  if (Status status = MapOrHold(candidate, content); !status.ok()) return status;
  Slot& slot = ring_->slots_[candidate.slot];
  const std::shared_ptr<Stage> stage(new Stage(candidate.header.sequence, candidate.header.first,
                                               ring_->PlaceOf(candidate.slot), {}));
  slot.stage = stage;
  Record record;
  std::string spilled;
  for (size_t at = kRecordsAt; at < scan->end && NextRecord(content, at, &record);
       at += record.size) {
    std::string_view payload;
    if (Status status = LoadPayload(slot.path, at, record, &spilled, &payload); !status.ok()) {
      if (!salvage_) return status;
      Drop(0, status.message());
      scan->lost_bytes += scan->end - at;
      scan->end = at;
      scan->last = record.first - 1;
      break;
    }
    stage->Adopt(record, payload);
    ++result_->records;
  }
  if (stage->empty()) {
    slot.Drop();
    slot.busy = false;
    return Status::Ok();
  }
  size_t newest_mark = 1;
  (void)LoadMarks(content, candidate.header.sequence, &newest_mark);
  stage->next_mark_ = 1 - newest_mark;
  result_->stages.push_back(stage);
  result_->bytes += scan->end - kRecordsAt;
  result_->last = scan->last;
  return Status::Ok();
}

Status Ring::Recovery::LoadPayload(const std::string& path, size_t at, const Record& record,
                                   std::string* spilled, std::string_view* payload) {
  const auto damage = [&](const std::string& what) {
    return Status::Corruption("recover " + path + ": " + what).WithPlace(path, at);
  };
  *payload = record.payload;
  if ((record.flags & kSpilled) != 0) {
    SpillRef ref;
    if (!LoadSpillRef(record.payload, &ref)) return damage("malformed reference to a spill file");
    const std::string spill = ring_->options_.directory + "/" + SpillName(ref.number);
    Status status = kvdyno::ReadWholeFile(files_, spill, spilled);
    // A file that a record refers to was durable before the record.
    if (status.not_found()) return damage("expected the file " + spill + ", which is missing");
    if (!status.ok()) return status;
    if (spilled->size() != ref.length || kvdyno::Crc32c(*spilled) != ref.crc) {
      return Status::Corruption("recover " + spill + ": expected " + std::to_string(ref.length) +
                                " bytes of checksum " + std::to_string(ref.crc) + ", got " +
                                std::to_string(spilled->size()) + " of " +
                                std::to_string(kvdyno::Crc32c(*spilled)))
          .WithPlace(spill, 0);
    }
    *payload = *spilled;
  }
  if (!WellFormed(*payload, record.count)) return damage("malformed operations in a record");
  return Status::Ok();
}

void Ring::Recovery::RemoveOrphans() {
  std::set<uint64_t> used;
  for (const auto& stage : result_->stages) {
    for (const auto& [number, payload] : stage->spilled_) used.insert(number);
  }
  std::vector<std::string> names;
  if (!files_->List(ring_->options_.directory, &names).ok()) return;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!ParseSpillName(name, &number) || used.count(number) > 0) continue;
    (void)files_->Remove(ring_->options_.directory + "/" + name);  // the next Open tries again
  }
}

Status RingRecovery::Follows(Version flushed, uint64_t begun, const std::string& directory) const {
  if (sequence < begun) {
    return Status::Corruption("recover " + directory + "/ring-*: expected stage " +
                              std::to_string(begun) + ", which was begun, got stages up to " +
                              std::to_string(sequence));
  }
  if (stages.empty() || NumberOf(stages.front()->first()) <= NumberOf(flushed) + 1) {
    return Status::Ok();
  }
  return Status::Corruption("recover " + directory + "/ring-*: expected writes from number " +
                            std::to_string(NumberOf(flushed) + 1) + " on, got them from " +
                            std::to_string(NumberOf(stages.front()->first())) + " on");
}

}  // namespace chunkstore
