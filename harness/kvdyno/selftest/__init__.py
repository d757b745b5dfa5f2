"""Self-test: does this build, on this host, measure what it claims to measure?

Generators against their laws, histograms against another library's, twins of one engine against each other,
and the driver against other tools.
"""
