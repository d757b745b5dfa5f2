#include "baselines/table.h"

#include "baselines/accepted.h"

namespace sampling {

Status Table::Insert(const Record& record) {
  if (Status status = CheckRecord(record); !status.ok()) return status;
  slots_[{record.key, record.value}] = records_.size();
  records_.push_back(record);
  Changed(records_.size() - 1, record.weight);
  return Status::Ok();
}

Status Table::Delete(uint64_t key, uint64_t value) {
  const auto at = slots_.find({key, value});
  if (at == slots_.end()) return Status::NotFound();
  const size_t slot = at->second;
  const size_t last = records_.size() - 1;
  slots_.erase(at);
  if (slot != last) {
    records_[slot] = records_[last];
    slots_[{records_[slot].key, records_[slot].value}] = slot;
    Changed(slot, records_[slot].weight);
  }
  records_.pop_back();
  Changed(last, 0);
  return Status::Ok();
}

Status Table::Sample(const Query& query, size_t k, Random* random, std::vector<Record>* samples) {
  samples->clear();
  if (Status status = CheckQuery(query, k); !status.ok()) return status;
  samples->reserve(k);
  Status status = Draw(query, k, random, samples);
  if (!status.ok()) samples->clear();
  accepted_ += samples->size();
  return status;
}

Status WholeTable::Draw(const Query& query, size_t k, Random* random,
                        std::vector<Record>* samples) {
  if (!(Prepare() > 0)) return NothingToDraw();
  return DrawAccepted(
      query, k, records().size(), [&]() -> const Record& { return records()[DrawSlot(random)]; },
      [&](auto visit) {
        for (const Record& record : records()) visit(record);
      },
      random, samples, &draws_);
}

Statistics Table::statistics() const {
  Statistics statistics;
  statistics.records = records_.size();
  // A node of the map holds the pair, the slot and a link.
  statistics.bytes = records_.capacity() * sizeof(Record) + WeightBytes() +
                     slots_.size() * (sizeof(Pair) + sizeof(size_t) + sizeof(void*)) +
                     slots_.bucket_count() * sizeof(void*);
  statistics.draws = draws_;
  statistics.accepted = accepted_;
  return statistics;
}

}  // namespace sampling
