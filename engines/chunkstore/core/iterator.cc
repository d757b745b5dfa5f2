#include "core/iterator.h"

#include <algorithm>
#include <utility>

namespace chunkstore {

namespace {

constexpr size_t kFirstWindow = 8, kLargestWindow = 512;  // rows
constexpr size_t kWindowBytes = size_t{256} << 10;
constexpr size_t kFenceDistance = 250;  // rows; a little less than half of the largest window

std::string After(std::string_view key) {
  std::string next(key);
  next.push_back('\0');
  return next;
}

}  // namespace

void RowBuffer::Clear() {
  bytes_.clear();
  rows_.clear();
}

void RowBuffer::Add(std::string_view key, std::string_view value) {
  rows_.push_back({bytes_.size(), key.size(), value.size()});
  bytes_.append(key).append(value);
}

void RowBuffer::KeepLast(size_t rows) {
  if (rows_.size() <= rows) return;
  const size_t drop = rows_.size() - rows;
  const size_t from = rows_[drop].at;
  bytes_.erase(0, from);
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<long>(drop));
  for (Row& row : rows_) row.at -= from;
}

std::string_view RowBuffer::key(size_t i) const {
  return std::string_view(bytes_).substr(rows_[i].at, rows_[i].key_length);
}

std::string_view RowBuffer::value(size_t i) const {
  return std::string_view(bytes_).substr(rows_[i].at + rows_[i].key_length, rows_[i].value_length);
}

StoreIterator::StoreIterator(State* state, Reader* reader, const ReadOptions& options)
    : state_(state),
      reader_(reader),
      moment_(Hold(&state->snapshots, options.snapshot)),
      fill_cache_(options.fill_cache) {
  state_->slots.WaitForPending(moment_.version());
}

void StoreIterator::SetBounds(std::string_view lower, std::string_view upper) {
  lower_ = lower;
  upper_ = upper;
}

void StoreIterator::Seek(std::string_view key) {
  window_rows_ = kFirstWindow;
  FillFrom(std::max(key, std::string_view(lower_)));
}

void StoreIterator::SeekToLast() {
  window_rows_ = kFirstWindow;
  FillBefore(upper_);
}

void StoreIterator::SeekForPrev(std::string_view key) {
  window_rows_ = kFirstWindow;
  const std::string end = After(key);
  FillBefore(upper_.empty() || end < upper_ ? end : upper_);
}

void StoreIterator::Next() {
  if (++at_ < buffer_.size()) return;
  const std::string from = After(buffer_.key(buffer_.size() - 1));
  window_rows_ = std::min(window_rows_ * 2, kLargestWindow);
  FillFrom(from);
}

void StoreIterator::Prev() {
  if (at_ > 0) {
    --at_;
    return;
  }
  const std::string end(buffer_.key(0));
  window_rows_ = std::min(window_rows_ * 2, kLargestWindow);
  // Nothing is before the empty key, which as a bound would mean none.
  if (end.empty()) return buffer_.Clear();
  FillBefore(end);
}

void StoreIterator::FillFrom(std::string_view from) {
  const CallGate::Call call(&state_->gate);
  if (!call.open()) {
    status_ = state_->ClosedError("iterate");
    return;
  }
  buffer_.Clear();
  at_ = 0;
  if (!upper_.empty() && from >= upper_) {
    status_ = Status::Ok();
    return;
  }
  const Reader::Range range{from, upper_, window_rows_, fill_cache_};
  status_ =
      reader_->Rows(range, moment_.version(), [this](std::string_view key, std::string_view value) {
        buffer_.Add(key, value);
        return buffer_.size() < window_rows_ && buffer_.bytes() < kWindowBytes;
      });
}

// Walks [from, end) upwards and keeps its last rows; returns how many there were.
size_t StoreIterator::CollectBefore(std::string_view from, std::string_view end,
                                    uint64_t expected) {
  buffer_.Clear();
  size_t rows = 0;
  std::vector<std::string> fences;
  const Reader::Range range{from, end, expected, fill_cache_};
  status_ =
      reader_->Rows(range, moment_.version(), [&](std::string_view key, std::string_view value) {
        if (++rows % kFenceDistance == 0) fences.emplace_back(key);
        buffer_.Add(key, value);
        if (buffer_.size() >= 2 * kLargestWindow ||
            (buffer_.bytes() >= 4 * kWindowBytes && buffer_.size() > 1)) {
          buffer_.KeepLast(buffer_.size() / 2);
        }
        return true;
      });
  if (fences.size() > 1) fences_ = std::move(fences);
  return rows;
}

void StoreIterator::FillBefore(std::string_view bound) {
  const CallGate::Call call(&state_->gate);
  if (!call.open()) {
    status_ = state_->ClosedError("iterate");
    return;
  }
  std::string end(bound);
  for (;;) {
    uint64_t expected = window_rows_;
    std::string from = reader_->WindowBefore(end, &expected);
    const auto fence =
        end.empty() ? fences_.end() : std::lower_bound(fences_.begin(), fences_.end(), end);
    if (fence != fences_.begin() && !end.empty()) from = std::max(from, *(fence - 1));
    from = std::max(from, lower_);
    const size_t rows = CollectBefore(from, end, expected);
    at_ = buffer_.size() - 1;  // of an empty buffer: not valid
    if (rows > 0 || !status_.ok() || from <= lower_) return;
    end = std::move(from);
  }
}

}  // namespace chunkstore
