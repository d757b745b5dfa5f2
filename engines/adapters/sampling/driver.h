// kvdyno-sampling as a program: everything but main().
// Called once, by the main thread, before any other thread starts.
#pragma once

namespace kvdyno::sampler {

// Runs what the command line asks for. The exit status: 0 done; 1 wrong usage or properties; 2 the sampler or the
// system failed; 4 interrupted.
int DriverMain(int argc, char** argv);

}  // namespace kvdyno::sampler
