// What every property means: the text of --help, --describe and the documentation.
// Fills a CoreProperties' table while it is constructed. Defaults are the initial values in Settings.
#include <limits>

#include "kvdyno/generate/key_chooser.h"
#include "settings/core_properties.h"

namespace kvdyno {
namespace {

constexpr double kSharesMax = 1;
constexpr double kAgeMax = 1e6;

OptionNote Plain(std::string effect) { return {.effect = std::move(effect)}; }

OptionNote ShapesData(std::string effect) {
  return {.effect = std::move(effect), .shapes_data = true};
}

// Ageing draws its keys as the mix does.
OptionNote ChoosesKeys(std::string effect, double max = std::numeric_limits<double>::max()) {
  return {.effect = std::move(effect), .max = max, .shapes_aged_data = true};
}

}  // namespace

CoreProperties::CoreProperties(std::string engine_name, OptionTable* engine_options)
    : Properties(std::move(engine_name), engine_options) {
  DescribeData();
  DescribeMix();
  DescribeKeyChoice();
  DescribePhases();
  DescribeClients();
  DescribeCommon(&settings_);
  DescribeConstants();
}

std::map<std::string, std::string> CoreProperties::OtherSpellings() const {
  std::map<std::string, std::string> spellings = Properties::OtherSpellings();
  spellings["limit.ops"] = "target";
  if (!engine_accepts_others()) spellings[engine_name() + ".format"] = "data.format";
  return spellings;
}

void CoreProperties::DescribeData() {
  Settings& s = settings_;
  table_.Integer("recordcount", &s.record_count,
                 {.effect = "Records that a load inserts and that the mix chooses among.",
                  .min = 1,
                  .max = 1e18,
                  .shapes_data = true,
                  .scales = true});
  table_.Integer("insertstart", &s.insert_start,
                 {.effect = "Number of the first key.", .max = 1e18, .shapes_data = true});
  table_.Choice(
      "insertorder", &s.insert_order, {"ordered", "hashed"},
      ShapesData("Order of a load: ascending keys, or the same keys in a scattered order."));
  table_.Text("keyprefix", &s.key_prefix, ShapesData("What every key begins with."));
  table_.Integer(
      "zeropadding", &s.zero_padding,
      {.effect = "Digits of the number in a key.", .min = 1, .max = 64, .shapes_data = true});
  table_.Integer("fieldcount", &s.field_count,
                 {.effect = "A value is one piece of fieldcount * fieldlength bytes.",
                  .max = 1e6,
                  .shapes_data = true});
  table_.Bytes("fieldlength", &s.field_length,
               {.effect = "Bytes per field; see fieldcount.", .max = 1 << 30, .shapes_data = true});
  table_.Real("compressibility", &s.compressibility,
              {.effect = "Fraction of a value's bytes that a compressor can remove.",
               .max = 1,
               .shapes_data = true});
  table_.Integer("seed", &s.seed,
                 ShapesData("Same seed: same keys and values in the same order for each client."));
  table_.Real("age", &s.age,
              {.effect = "Multiples of the data that are overwritten after a load, so that "
                         "operations meet a store in use: age * recordcount blind puts, whose "
                         "keys are drawn as the mix draws them. Phases age and age-settle. "
                         "Without a load it changes nothing: the store is aged already.",
               .max = kAgeMax,
               .shapes_data = true});
}

void CoreProperties::DescribeMix() {
  Settings& s = settings_;
  table_.Real("readproportion", &s.read_proportion, Plain("Weight of reads in the mix."));
  table_.Real("updateproportion", &s.update_proportion,
              Plain("Weight of updates: a new value for a chosen key; see update.mode."));
  table_.Real("insertproportion", &s.insert_proportion,
              Plain("Weight of inserts: new keys above the highest."));
  table_.Real("scanproportion", &s.scan_proportion,
              Plain("Weight of scans: from a chosen key on; see maxscanlength."));
  table_.Real("readmodifywriteproportion", &s.read_modify_write_proportion,
              Plain("Weight of operations that read a key, then write it, timed as one."));
  table_.Real("deleteproportion", &s.delete_proportion, Plain("Weight of deletes of chosen keys."));
  table_.Real("multireadproportion", &s.multi_read_proportion,
              Plain("Weight of multi-gets: multireadsize chosen keys as one request."));
  table_.Real("reversescanproportion", &s.reverse_scan_proportion,
              Plain("Weight of scans from a chosen key downwards; see maxscanlength."));
  table_.Real("readabsentfraction", &s.read_absent_fraction,
              {.effect = "Fraction of reads that ask for a key that no record has, right behind "
                         "the chosen one.",
               .max = kSharesMax});
  table_.Choice(
      "update.mode", &s.update_mode, {"blind", "readmodifywrite"},
      Plain("An update writes without reading, or reads first as upstream YCSB-cpp does."));
  table_.Integer(
      "mix.seed", &s.mix_seed,
      Plain("Seed of the keys and operations that warm-up and measurement draw. Data and "
            "the places of popular keys follow seed alone. 0: the same as seed."));
}

void CoreProperties::DescribeKeyChoice() {
  Settings& s = settings_;
  table_.Choice("requestdistribution", &s.request_distribution, DistributionNames(),
                ChoosesKeys("Which keys operations choose."));
  table_.Real("zipfian_const", &s.zipfian_const,
              {.effect = "Skew (theta) of the Zipf distributions, above 0.",
               .min = 1e-6,
               .max = 100,
               .shapes_aged_data = true});
  table_.Bool(
      "scattered", &s.scattered,
      ChoosesKeys("Popular keys lie anywhere in the key range; false: popularity falls with "
                  "the key."));
  table_.Real("hotspotdatafraction", &s.hotspot_data_fraction,
              ChoosesKeys("hotspot: fraction of the keys that are hot.", kSharesMax));
  table_.Real("hotspotopnfraction", &s.hotspot_operation_fraction,
              ChoosesKeys("hotspot: fraction of the operations on hot keys.", kSharesMax));
  table_.Real("exponential.percentile", &s.exponential_percentile,
              ChoosesKeys("exponential: percentage of draws that fall on exponential.frac of the "
                          "records.",
                          100));
  table_.Real("exponential.frac", &s.exponential_fraction,
              ChoosesKeys("exponential: see exponential.percentile.", kSharesMax));
  table_.Integer("minscanlength", &s.min_scan_length,
                 {.effect = "Rows that a scan asks for, at least.", .min = 1});
  table_.Integer("maxscanlength", &s.max_scan_length,
                 {.effect = "Rows that a scan asks for, at most.", .min = 1});
  table_.Choice("scanlengthdistribution", &s.scan_length_distribution,
                {"uniform", "zipfian", "constant"},
                Plain("Length of scans between the two; constant: always maxscanlength; zipfian: "
                      "short ones are more frequent, by zipfian_const."));
  table_.Integer("multireadsize", &s.multi_read_size,
                 {.effect = "Keys of a multi-get, each chosen by itself.", .min = 1, .max = 10000});
}

void CoreProperties::DescribePhases() {
  Settings& s = settings_;
  table_.Bool("doload", &s.do_load, Plain("Runs the load phase; the same as -load."));
  table_.Bool("dotransaction", &s.do_transaction, Plain("Runs the mix; the same as -run and -t."));
  table_.Seconds("load.seconds", &s.load_seconds,
                 {.effect = "Ends the load after so long, also when records are left; 0: no limit. "
                            "Only without operations afterwards, which expect all records.",
                  .shapes_data = true});
  table_.Real("load.target", &s.load_target,
              {.effect = "Records a second that all clients together start in a load (open loop), "
                         "as target does for the mix; 0: as fast as the engine takes them.",
               .shapes_data = true});
  table_.Bool("settle", &s.settle,
              Plain("After a load, waits until the engine has written out everything; timed and "
                    "counted as phase settle."));
  table_.Seconds("sleepafterload", &s.sleep_after_load, Plain("Rest between a load and the mix."));
  table_.Integer(
      "warmup.operations", &s.warmup_operations,
      {.effect = "Operations of the warm-up; 0: no limit, or no warm-up.", .scales = true});
  table_.Seconds("warmup.seconds", &s.warmup_seconds,
                 Plain("Length of the warm-up; 0: no limit, or no warm-up."));
  table_.Bool("rest", &s.rest,
              Plain("After a warm-up, waits until the engine owes no more than when the warm-up "
                    "began, so that the measured phase does not pay the warm-up's debt; timed and "
                    "counted as phase rest."));
  table_.Integer("operationcount", &s.operation_count,
                 {.effect = "Ends the measured phase after so many operations; 0: no limit. The "
                            "first of the three limits that is reached counts.",
                  .scales = true});
  table_.Seconds("measure.seconds", &s.measure_seconds,
                 Plain("Ends the measured phase after so long; 0: no limit."));
  table_.Bytes("measure.bytes", &s.measure_bytes,
               {.effect = "Ends the measured phase when the clients have written so many bytes, "
                          "keys and values; 0: no limit.",
                .scales = true});
  table_.Bool("drain", &s.drain,
              Plain("After the measured phase, waits until the engine has written out everything "
                    "and owes no more than when the phase began; timed and counted as phase "
                    "drain."));
  table_.Seconds("kill.seconds", &s.kill_seconds,
                 Plain("Kills this process by SIGKILL so long after the measured phase's start; 0: "
                       "never. Acknowledged writes are kept in output.dir, for reopen.from."));
  table_.Integer("kill.operations", &s.kill_operations,
                 Plain("The same once clients were dealt so many operations of the phase; 0: "
                       "never."));
  table_.Text("reopen.from", &s.reopen_from,
              Plain("The output.dir of a run that was killed: times how its store recovers, and "
                    "checks that it holds what was acknowledged."));
}

void CoreProperties::DescribeClients() {
  Settings& s = settings_;
  table_.Real("target", &s.target,
              Plain("Operations a second that all clients together start in warm-up and "
                    "measurement (open loop): latency then counts from the intended start. "
                    "0: each client goes as fast as the engine answers (closed loop). "
                    "limit.ops is another spelling."));
  table_.Text("limit.file", &s.limit_file,
              Plain("A file with lines 'seconds rate': target changes at those times."));
  table_.Choice("arrivals", &s.arrivals, {"constant", "poisson"},
                Plain("Open loop: evenly spaced or random intended starts."));
  table_.Bool("sync", &s.sync, Plain("Every write is durable before it returns."));
  table_.Bool("log", &s.log,
              Plain("Writes go to the engine's log; false: they are lost with the process until "
                    "the engine has written them out, as a settle makes it."));
  table_.Bool("verify", &s.verify,
              Plain("Compares what is read with what was written; the first difference ends the "
                    "run. Costs time in scans."));
  table_.Integer("writer.threads", &s.writer_threads,
                 {.effect = "So many of the client threads do the mix's writes and nothing else, "
                            "the others all the rest, each at its own speed: the shares of writes "
                            "and of reads then do not balance. 0: every thread does both.",
                  .max = 4095});
  table_.Bytes("background.write_rate", &s.background_write_rate,
               {.effect = "An extra thread overwrites so many bytes a second, keys and values, in "
                          "warm-up and measurement, whatever the clients do; 0: none. Keys are "
                          "chosen as the mix chooses them. Metrics background.*; the mix's own "
                          "leave it out.",
                .max = 1e12});
  table_.Seconds("probe.interval", &s.probe_interval,
                 {.effect = "An extra thread writes one small record, below all keys, once per "
                            "interval while clients work, and reports writes that took longer "
                            "than probe.threshold; 0: none. The record stays in the store.",
                  .max = 3600});
  table_.Seconds("probe.threshold", &s.probe_threshold,
                 {.effect = "See probe.interval.", .min = 1e-6, .max = 3600});
}

void CoreProperties::DescribeConstants() {
  Settings& s = settings_;
  const auto fixed = [&](const char* name, std::string* value, const char* why) {
    table_.Choice(name, value, {*value}, Plain(std::string(why) + " Accepted for YCSB's sake."));
  };
  table_.Choice(
      "workload", &s.workload,
      {"core", "site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"},
      Plain("The core workload is the only one. Accepted for YCSB's sake."));
  table_.Choice("data.format", &s.data_format, {"single"},
                Plain("A record is one entry of the store. " + engine_name() +
                      ".format is another spelling. Accepted for YCSB's sake."));
  fixed("table", &s.table, "A store holds one table.");
  fixed("readallfields", &s.read_all_fields, "A value is one piece.");
  table_.Choice("writeallfields", &s.write_all_fields, {"true", "false"},
                Plain("A value is one piece, which every update writes; YCSB's workload files say "
                      "false. Accepted for YCSB's sake."));
  fixed("fieldnameprefix", &s.field_name_prefix, "Fields are not stored by name.");
  fixed("field_len_dist", &s.field_length_distribution, "All values have the same size.");
  fixed("measurementtype", &s.measurement_type, "Latencies always go into histograms.");
}

}  // namespace kvdyno
