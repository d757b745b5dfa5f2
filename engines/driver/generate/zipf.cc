#include "kvdyno/generate/zipf.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace kvdyno {
namespace {

// A cell is one sixteenth as wide as its distance from the top, so that a power of two of ranks
// takes a dozen cells and their steps fit closely.
constexpr uint64_t kRanksPerWidth = 16;

// Ranks that Zeta sums one by one before the Euler-Maclaurin series is accurate.
constexpr uint64_t kSummedRanks = 64;

// 2^64 times a fraction of one, saturated.
uint64_t Scaled(double fraction) {
  if (fraction >= 1) return std::numeric_limits<uint64_t>::max();
  return static_cast<uint64_t>(fraction * 0x1p64);
}

}  // namespace

Zipf::Zipf(uint64_t n, double theta) : n_(n), theta_(theta) {
  assert(n > 0 && theta > 0);
  AddCells();
  LinkAliases();
}

void Zipf::AddCells() {
  for (uint64_t first = 0; first < n_;) {
    const uint64_t width = std::min(std::max<uint64_t>(1, first / kRanksPerWidth), n_ - first);
    Cell cell = {first, width, 0, 0, cells_.size()};
    cell.lowest = Relative(first + width - 1, cell);
    cells_.push_back(cell);
    first += width;
  }
}

// Vose's construction: cells below the average area are topped up by cells above it.
void Zipf::LinkAliases() {
  const size_t count = cells_.size();
  std::vector<double> areas(count);
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    areas[i] = static_cast<double>(cells_[i].width) *
               std::pow(static_cast<double>(cells_[i].first + 1), -theta_);
    total += areas[i];
  }
  std::vector<size_t> small;
  std::vector<size_t> large;
  for (size_t i = 0; i < count; ++i) {
    areas[i] *= static_cast<double>(count) / total;
    (areas[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const size_t below = small.back();
    const size_t above = large.back();
    small.pop_back();
    cells_[below].keep = Scaled(areas[below]);
    cells_[below].alias = above;
    areas[above] -= 1 - areas[below];
    if (areas[above] < 1) {
      large.pop_back();
      small.push_back(above);
    }
  }
  // What rounding leaves over is an average cell, and its own alias.
  for (const size_t i : small) cells_[i].keep = Scaled(1);
  for (const size_t i : large) cells_[i].keep = Scaled(1);
}

double Zipf::Zeta(uint64_t n, double theta) {
  const auto power = [theta](double k) { return std::pow(k, -theta); };
  double sum = 0;
  for (uint64_t k = 1; k <= std::min(n, kSummedRanks); ++k) sum += power(static_cast<double>(k));
  if (n <= kSummedRanks) return sum;

  // The sum of f(k) over k = a+1..b, by Euler-Maclaurin up to the third derivative.
  const double a = kSummedRanks;
  const double b = static_cast<double>(n);
  const double exponent = 1 - theta;
  const double ratio = std::log(b / a);
  // The integral of k^-theta; expm1 keeps the digits where theta is near one.
  const double integral =
      exponent == 0 ? ratio : std::pow(a, exponent) * std::expm1(exponent * ratio) / exponent;
  const auto slope = [&](double k) { return -theta * power(k) / k; };
  const auto third = [&](double k) { return slope(k) * (theta + 1) * (theta + 2) / (k * k); };
  return sum + integral + (power(b) - power(a)) / 2 + (slope(b) - slope(a)) / 12 -
         (third(b) - third(a)) / 720;
}

}  // namespace kvdyno
