// The entry point of every kvdyno-<engine>. Owns nothing; the main thread's first step.
#include "kvdyno/driver/driver.h"

int main(int argc, char** argv) { return kvdyno::DriverMain(argc, argv); }
