// The directories that a run works in, before it starts. Knows neither engines nor phases.
// For the main thread.
#pragma once

#include "kvdyno/base/status.h"
#include "settings/common_settings.h"

namespace kvdyno {

// InvalidArgument when data.destroy would take more than a store with it. Changes nothing.
Status CheckPlaces(const CommonSettings& settings);

// Makes data.dir and output.dir, tries to write there, and empties data.dir where data.destroy is
// set.
Status PreparePlaces(const CommonSettings& settings);

}  // namespace kvdyno
