// DriverFixture: the driver of keys and values, with an engine that tests steer.
#pragma once

#include "kvdyno/driver/driver.h"
#include "testing/program_fixture.h"
#include "testing/test_engine.h"

namespace kvdyno {

class DriverFixture : public ProgramFixture {
 protected:
  DriverFixture() : ProgramFixture("kvdyno-toy", DriverMain) {}

  TestEngine engine_;
};

}  // namespace kvdyno
