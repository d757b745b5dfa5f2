// The driver as a program: everything but main().
// Knows one engine, through kvdyno::MakeAdapter().
// Called once, by the main thread, before any other thread starts.
#pragma once

namespace kvdyno {

// Runs what the command line asks for. The exit status: 0 done; 1 wrong usage or properties; 2 the
// engine or the system failed; 3 data read is not data written; 4 interrupted.
int DriverMain(int argc, char** argv);

}  // namespace kvdyno
