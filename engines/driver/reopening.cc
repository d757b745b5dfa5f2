// Judging a recovered store by the writes that were acknowledged before the kill.
#include "reopening.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "load/client.h"
#include "measure/sampler.h"

namespace kvdyno {
namespace {

using Cells = std::map<std::string, std::string>;

std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

// Rows of a phase; a kill may have cut the last line.
std::vector<Cells> ReadRows(std::istream* stream, const std::string& phase) {
  std::string line;
  std::getline(*stream, line);
  const std::vector<std::string> names = Split(line);
  std::vector<Cells> rows;
  while (std::getline(*stream, line) && !stream->eof()) {
    const std::vector<std::string> words = Split(line);
    if (words.empty() || words.front() != phase) continue;
    Cells& row = rows.emplace_back();
    for (size_t i = 0; i < std::min(names.size(), words.size()); ++i) row[names[i]] = words[i];
  }
  return rows;
}

double Number(const Cells& row, const std::string& name) {
  const auto cell = row.find(name);
  return cell == row.end() ? 0 : std::strtod(cell->second.c_str(), nullptr);
}

// Over the last third of the rows' time. A row covers the time since the one before it.
std::optional<double> LastRate(const std::vector<Cells>& rows) {
  if (rows.empty()) return std::nullopt;
  if (rows.size() == 1) return Number(rows.front(), "throughput");
  const double end = Number(rows.back(), "elapsed");
  const double from = end - (end - Number(rows.front(), "elapsed")) / 3;
  double operations = 0;
  double begin = end;
  for (size_t i = rows.size() - 1; i > 0 && begin > from; --i) {
    operations += Number(rows[i], "operations");
    begin = Number(rows[i - 1], "elapsed");
  }
  return operations / (end - begin);
}

// From this moment on every client's writes are all there.
uint64_t Horizon(const std::vector<ClientWrites>& clients) {
  uint64_t horizon = 0;
  for (const ClientWrites& client : clients) {
    if (!client.complete) horizon = std::max(horizon, client.writes.front().begin_ns);
  }
  return horizon;
}

}  // namespace

Status Reopening::Make(const Workload& workload, std::unique_ptr<Reopening>* reopening) {
  const std::string& folder = workload.settings().reopen_from;
  reopening->reset(new Reopening(workload));
  Status status = ReadAcknowledged(folder + "/" + kAcknowledgedFile, &(*reopening)->clients_);
  if (status.ok()) status = (*reopening)->ReadSeries(folder + "/series.csv");
  if (status.ok()) (*reopening)->CollectKeys();
  return status;
}

Status Reopening::ReadSeries(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return Status::IoError("read " + path + ": expected the series of a killed run");
  const std::vector<Cells> rows = ReadRows(&stream, "measure");
  rate_before_ = LastRate(rows);
  if (rate_before_ == 0.0) rate_before_ = std::nullopt;
  if (!rows.empty() && rows.back().contains(kLogLength)) {
    log_bytes_ = Number(rows.back(), kLogLength);
  }
  return Status::Ok();
}

// Without an acknowledged write, the first key of the load.
Status Reopening::FirstGet(Session* session) const {
  AcknowledgedWrite newest{.index = workload_.LoadIndex(0)};
  for (const ClientWrites& client : clients_) {
    if (client.writes.empty() || client.writes.back().end_ns < newest.end_ns) continue;
    newest = client.writes.back();
  }
  std::vector<char> buffer(workload_.keys().max_size());
  std::string value;
  const Status got = session->Get(workload_.Key(newest.index, buffer.data()), &value);
  if (got.ok()) return workload_.values().Verify(newest.index, value);
  const bool loaded = newest.index < static_cast<uint64_t>(workload_.settings().record_count);
  if (!got.not_found() || !loaded) return got.not_found() ? Status::Ok() : got;
  return Status::Corruption("key " + std::to_string(newest.index) +
                            ": expected a value, found no such key");
}

// Only writes that began after the horizon can be judged: what any client wrote to their keys
// afterwards is known.
void Reopening::CollectKeys() {
  const uint64_t horizon = Horizon(clients_);
  std::map<uint64_t, Key> keys;
  for (const ClientWrites& client : clients_) {
    for (const AcknowledgedWrite& write : client.writes) {
      if (write.begin_ns < horizon) continue;
      Key& key = keys[write.index];
      key.index = write.index;
      key.writes.push_back(write);
      key.last_begin_ns = std::max(key.last_begin_ns, write.begin_ns);
    }
  }
  for (auto& [index, key] : keys) keys_.push_back(std::move(key));
  std::sort(keys_.begin(), keys_.end(),
            [](const Key& a, const Key& b) { return a.last_begin_ns > b.last_begin_ns; });
}

Status Reopening::Check(Session* session, size_t keys_max) {
  std::vector<char> buffer(workload_.keys().max_size());
  std::string value;
  const size_t end = next_ + std::min(keys_max, keys_.size() - next_);
  for (; next_ < end; ++next_) {
    const Key& key = keys_[next_];
    const Status got = session->Get(workload_.Key(key.index, buffer.data()), &value);
    if (!got.ok() && !got.not_found()) return got;
    if (Status status = Judge(key, got, value); !status.ok()) return status;
  }
  return Status::Ok();
}

Status Reopening::Judge(const Key& key, const Status& got, const std::string& value) {
  std::string what = "no such key";
  if (got.ok()) {
    if (Status status = workload_.values().Verify(key.index, value); !status.ok()) return status;
    // Values without a sequence do not show which write they are of.
    const bool versioned = workload_.values().has_sequences();
    const uint64_t sequence = versioned ? workload_.values().SequenceIn(value) : 0;
    if (IsReopenedSequence(sequence)) {
      ++found_.overwritten;
      return Status::Ok();
    }
    if (!versioned || MayRemain(sequence, key)) {
      ++found_.checked;
      return Status::Ok();
    }
    what = "sequence " + std::to_string(sequence);
  }
  ++found_.checked;
  if (found_.lost++ == 0) {
    found_.first_lost =
        Status::Corruption("key " + std::to_string(key.index) + ": expected sequence " +
                           std::to_string(key.writes.back().sequence) + ", found " + what);
  }
  return Status::Ok();
}

// Its write may be one that ended after the last began, or one that was under way at the kill: its
// client's next after the last acknowledged.
bool Reopening::MayRemain(uint64_t sequence, const Key& key) const {
  for (const AcknowledgedWrite& write : key.writes) {
    if (write.sequence == sequence && write.end_ns >= key.last_begin_ns) return true;
  }
  const uint64_t client = ClientOfSequence(sequence);
  if (client >= clients_.size()) return false;
  const std::vector<AcknowledgedWrite>& own = clients_[client].writes;
  return own.empty() || sequence > own.back().sequence;
}

}  // namespace kvdyno
