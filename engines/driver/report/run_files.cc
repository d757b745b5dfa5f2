// Writing a run's files, on the main thread.
#include "report/run_files.h"

#include <ctime>

#include "measure/hdr_log.h"

namespace kvdyno {
namespace {

constexpr const char* kSeriesFile = "series.csv";
constexpr const char* kHistogramFile = "latency.hlog";
constexpr const char* kEventFile = "events.csv";

Status AppendHistograms(const PhaseResult& phase, double log_started_at, HdrLog* log) {
  const double offset = phase.started_at - log_started_at;
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTally* tally = phase.tally->of(operation);
    if (tally == nullptr || tally->latency.count() == 0) continue;
    const std::string tag = phase.name + "." + std::string(OperationName(operation));
    Status status = log->Append(tag, offset, phase.seconds, tally->latency);
    if (status.ok() && tally->service != nullptr && tally->service->count() > 0) {
      status = log->Append(tag + ".service", offset, phase.seconds, *tally->service);
    }
    if (!status.ok()) return status;
  }
  const auto append = [&](const char* tag, const Histogram* histogram) {
    if (histogram == nullptr || histogram->count() == 0) return Status::Ok();
    return log->Append(phase.name + tag, offset, phase.seconds, *histogram);
  };
  if (Status s = append(".probe", phase.probe.get()); !s.ok()) return s;
  return append(".background", phase.background ? &phase.background->latency : nullptr);
}

}  // namespace

double UnixSeconds() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Status RunFiles::Create(const TallyShape& shape, const std::vector<Counter>& sample,
                        Outcome* outcome) {
  if (settings_.output_dir.empty()) return Status::Ok();
  const std::string series = settings_.output_dir + "/" + kSeriesFile;
  if (Status s = Series::Create(series, shape, sample, &series_); !s.ok()) return s;
  outcome->series = {kSeriesFile, settings_.series_interval, series_->Columns()};
  const std::string events = settings_.output_dir + "/" + kEventFile;
  if (Status s = EventTable::Create(events, started_ns_, &events_); !s.ok()) return s;
  outcome->events = kEventFile;
  return Status::Ok();
}

Status RunFiles::Finish(Sampler* sampler, Outcome* outcome) {
  Status written;
  if (events_ != nullptr) {
    events_->Append(sampler->TakeEvents());
    written = events_->Close();
  }
  const Status histograms = WriteHistograms(outcome);
  return written.ok() ? histograms : written;
}

Status RunFiles::WriteHistograms(Outcome* outcome) {
  if (settings_.output_dir.empty()) return Status::Ok();
  std::unique_ptr<HdrLog> log;
  const std::string path = settings_.output_dir + "/" + kHistogramFile;
  if (Status status = HdrLog::Create(path, started_at_, &log); !status.ok()) return status;
  outcome->histograms = kHistogramFile;
  for (const PhaseResult& phase : outcome->phases) {
    if (phase.tally == nullptr || !phase.covers.empty()) continue;
    if (Status status = AppendHistograms(phase, started_at_, log.get()); !status.ok()) {
      return status;
    }
  }
  return log->Close();
}

}  // namespace kvdyno
