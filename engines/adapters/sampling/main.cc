// The entry point of kvdyno-sampling. Owns nothing; the main thread's first step.
#include "driver.h"

int main(int argc, char** argv) { return kvdyno::sampler::DriverMain(argc, argv); }
