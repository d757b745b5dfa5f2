"""Stand-ins that tests of several stages share: engines that need no build, and a project in a folder."""
