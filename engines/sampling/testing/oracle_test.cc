// Random histories beside a model: what is live, what deletes report, and what the index keeps true.
#include <gtest/gtest.h>

#include <cmath>

#include "model.h"
#include "sampling/baselines.h"

namespace sampling::guarantees {
namespace {

// Few keys, so that pairs are deleted and inserted again while older copies are in every place.
void Play(Model* model, int steps) {
  kvdyno::testing::Rng& rng = model->rng();
  std::vector<Record> samples;
  for (int step = 0; step < steps; ++step) {
    const Pair pair{rng.Below(60), rng.Below(4)};
    if (rng.OneIn(3)) {
      const bool live = model->IsLive(pair);
      const Status status = model->Delete(pair);
      ASSERT_EQ(status.ok(), live) << "step " << step;
      ASSERT_EQ(status.not_found(), !live) << "step " << step;
    } else if (!model->IsLive(pair)) {
      const double weight = rng.OneIn(10) ? 0 : static_cast<double>(rng.Skewed(1000));
      ASSERT_TRUE(model->Insert({pair.first, pair.second, weight}).ok());
    }
    if (step % 20 == 0) {
      model->index().Settle();
      ASSERT_EQ(model->Difference(), "") << "step " << step;
      const Query query{rng.Below(30), 30 + rng.Below(30), {}};
      if (!model->index().Sample(query, 20, &model->random(), &samples).ok()) continue;
      for (const Record& sample : samples) {
        const auto at = model->live().find({sample.key, sample.value});
        ASSERT_TRUE(at != model->live().end() && query.Accepts(sample)) << "step " << step;
        ASSERT_EQ(at->second, sample.weight);
      }
    }
  }
}

TEST(Oracle, AnIndexHoldsWhatItsHistoryLeaves) {
  uint64_t seed = 1;
  for (const bool background : {false, true}) {
    for (const Kind* kind : {&kWeightedSet, &kUniformRange, &kWeightedRange}) {
      for (Options options : Policies(*kind)) {
        options.background = background;
        for (const size_t buffer : {1, 7, 32}) {
          options.buffer_records = buffer;
          SCOPED_TRACE(NameOf(options) + " buffer " + std::to_string(buffer) +
                       (background ? " background" : "") + " seed " + std::to_string(seed));
          Model model(options, seed++);
          Play(&model, 1200);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Oracle, DeletesWithoutASearchLeaveTheSame) {
  for (const Options& options : Policies(kWeightedSet)) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 3);
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(model.Insert({i, i % 3, 1}).ok());
    for (uint64_t i = 0; i < 1000; i += 2) {
      ASSERT_TRUE(model.index().DeleteUnchecked(i, i % 3).ok());
    }
    EXPECT_EQ(model.Live().size(), 500u);
    EXPECT_EQ(model.index().statistics().records, 500u);
    for (const Record& record : model.Live()) ASSERT_EQ(record.key % 2, 1u);
  }
}

TEST(Oracle, AnIndexWithoutLiveWeightEndsItsQueries) {
  for (const Kind* kind : {&kWeightedSet, &kUniformRange, &kWeightedRange}) {
    for (const Options& options : Policies(*kind)) {
      SCOPED_TRACE(NameOf(options));
      Model model(options, 5);
      std::vector<Record> samples(3);
      const auto nothing = [&](const Query& query) {
        const Status status = model.index().Sample(query, 10, &model.random(), &samples);
        EXPECT_TRUE(status.not_found()) << status.ToString();
        EXPECT_NE(status.message().find("expected live records"), std::string::npos);
        EXPECT_TRUE(samples.empty());
      };
      nothing({});
      for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(model.Insert({i, 0, 2}).ok());
      nothing({1000, 2000, {}});
      nothing({0, UINT64_MAX, [](const Record&) { return false; }});
      for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(model.Delete({i, 0}).ok());
      nothing({});
      EXPECT_EQ(model.Difference(), "");
      if (kind->weighted) {
        for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(model.Insert({i, 0, 0}).ok());
        nothing({});
      }
      ASSERT_TRUE(model.Insert({7000, 0, 1}).ok());
      EXPECT_TRUE(model.index().Sample({7000, 7000, {}}, 10, &model.random(), &samples).ok());
    }
  }
}

TEST(Input, OptionsOutOfRangeAreRefusedByName) {
  const auto refused = [](auto change, const std::string& name) {
    Options options;
    change(&options);
    std::unique_ptr<Index> index;
    const Status status = Index::Open(options, &index);
    EXPECT_EQ(status.code(), kvdyno::Code::kInvalidArgument);
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    EXPECT_EQ(index, nullptr);
  };
  refused([](Options* o) { o->kind = nullptr; }, "kind");
  for (const size_t s : {0, 1, 1001})
    refused([s](Options* o) { o->scale_factor = s; }, "scale_factor");
  for (const size_t n : {size_t{0}, (size_t{1} << 24) + 1}) {
    refused([n](Options* o) { o->buffer_records = n; }, "buffer_records");
  }
  for (const double d : {0.0, 1.0, -0.1, 2.0, std::nan("")}) {
    refused([d](Options* o) { o->max_deleted = d; }, "max_deleted");
  }
  for (const double rate : {0.0, 1.1, std::nan("")}) {
    refused([rate](Options* o) { o->filter_false_positives = rate; }, "filter_false_positives");
  }
}

std::vector<std::pair<std::string, std::unique_ptr<Sampler>>> EverySampler() {
  std::vector<std::pair<std::string, std::unique_ptr<Sampler>>> samplers;
  for (const Options& options : MemoryPolicies(kWeightedSet)) {
    std::unique_ptr<Index> index;
    EXPECT_TRUE(Index::Open(options, &index).ok());
    samplers.emplace_back(NameOf(options), std::move(index));
  }
  samplers.emplace_back("static alias", MakeStaticAlias());
  samplers.emplace_back("Fenwick tree", MakeFenwickTree());
  samplers.emplace_back("aggregate tree", MakeAggregateTree());
  samplers.emplace_back("reservoir", MakeReservoir());
  return samplers;
}

TEST(Input, BadCallsAreRefusedAndChangeNothing) {
  for (auto& [name, sampler] : EverySampler()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(sampler->Insert({1, 1, 1}).ok());
    for (const double weight : {-1.0, -1e-300, std::nan(""), double{INFINITY}, 1e300}) {
      EXPECT_EQ(sampler->Insert({2, 2, weight}).code(), kvdyno::Code::kInvalidArgument) << weight;
    }
    EXPECT_TRUE(sampler->Delete(2, 2).not_found());
    EXPECT_TRUE(sampler->Delete(1, 2).not_found());
    Random random(1);
    std::vector<Record> samples;
    for (const size_t k : {size_t{0}, SIZE_MAX / 2, SIZE_MAX}) {
      EXPECT_EQ(sampler->Sample({}, k, &random, &samples).code(), kvdyno::Code::kInvalidArgument)
          << k;
    }
    EXPECT_EQ(sampler->Sample({2, 1, {}}, 1, &random, &samples).code(),
              kvdyno::Code::kInvalidArgument);
    EXPECT_EQ(sampler->statistics().records, 1u);
    ASSERT_TRUE(sampler->Sample({}, 3, &random, &samples).ok());
    EXPECT_EQ(samples, (std::vector<Record>(3, {1, 1, 1})));
    ASSERT_TRUE(sampler->Delete(1, 1).ok());
    EXPECT_TRUE(sampler->Sample({}, 3, &random, &samples).not_found());
  }
}

TEST(Input, KeysAndValuesHave64Bits) {
  for (auto& [name, sampler] : EverySampler()) {
    SCOPED_TRACE(name);
    const std::vector<uint64_t> numbers = {0, 1, uint64_t{1} << 32, (uint64_t{1} << 32) + 1,
                                           UINT64_MAX};
    for (const uint64_t key : numbers) {
      for (const uint64_t value : numbers) ASSERT_TRUE(sampler->Insert({key, value, 1}).ok());
    }
    for (const uint64_t key : numbers) ASSERT_TRUE(sampler->Delete(key, UINT64_MAX).ok());
    Random random(1);
    std::vector<Record> samples;
    ASSERT_TRUE(sampler->Sample({}, 2000, &random, &samples).ok());
    std::map<Pair, size_t> seen;
    for (const Record& sample : samples) ++seen[{sample.key, sample.value}];
    EXPECT_EQ(seen.size(), 20u);
  }
}

}  // namespace
}  // namespace sampling::guarantees
