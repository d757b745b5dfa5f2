#include "load_meter.h"

#include <utility>

namespace kvdyno::silk {

class LoadMeter::MeasuredSession final : public Session {
 public:
  MeasuredSession(std::unique_ptr<Session> session, LoadMeter* meter)
      : session_(std::move(session)), meter_(*meter) {
    meter_.Add(&cell_);
  }
  ~MeasuredSession() override { meter_.Remove(&cell_); }

  Status Get(std::string_view key, std::string* value) override {
    Status got = session_->Get(key, value);
    if (got.ok()) Count(value->size());
    return got;
  }

  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    session_->MultiGet(keys, values, statuses);
    uint64_t bytes = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if ((*statuses)[i].ok()) bytes += (*values)[i].size();
    }
    Count(bytes);
  }

  Status Put(std::string_view key, std::string_view value) override {
    Count(key.size() + value.size());
    return session_->Put(key, value);
  }

  Status Insert(std::string_view key, std::string_view value) override {
    Count(key.size() + value.size());
    return session_->Insert(key, value);
  }

  Status Delete(std::string_view key) override {
    Count(key.size());
    return session_->Delete(key);
  }

  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    CountingVisitor counting(visitor);
    Status scanned = session_->Scan(range, &counting);
    Count(counting.bytes());
    return scanned;
  }

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    CountingVisitor counting(visitor);
    Status scanned = session_->ReverseScan(range, &counting);
    Count(counting.bytes());
    return scanned;
  }

 private:
  class CountingVisitor final : public RowVisitor {
   public:
    explicit CountingVisitor(RowVisitor* visitor) : visitor_(*visitor) {}
    bool Row(std::string_view key, std::string_view value) override {
      bytes_ += key.size() + value.size();
      return visitor_.Row(key, value);
    }
    uint64_t bytes() const { return bytes_; }

   private:
    RowVisitor& visitor_;
    uint64_t bytes_ = 0;
  };

  // No other thread writes: no need for an atomic addition.
  void Count(uint64_t bytes) {
    cell_.bytes.store(cell_.bytes.load(std::memory_order_relaxed) + bytes,
                      std::memory_order_relaxed);
  }

  const std::unique_ptr<Session> session_;
  LoadMeter& meter_;
  Cell cell_;
};

std::unique_ptr<Session> LoadMeter::Measure(std::unique_ptr<Session> session) {
  return std::make_unique<MeasuredSession>(std::move(session), this);
}

void LoadMeter::Add(const Cell* cell) {
  const std::lock_guard lock(mutex_);
  cells_.insert(cell);
}

void LoadMeter::Remove(const Cell* cell) {
  const std::lock_guard lock(mutex_);
  cells_.erase(cell);
  ended_bytes_ += cell->bytes.load(std::memory_order_relaxed);
}

uint64_t LoadMeter::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = ended_bytes_;
  for (const Cell* cell : cells_) sum += cell->bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace kvdyno::silk
