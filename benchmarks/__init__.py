"""Every figure of speed that the documentation gives, measured against its peer in one run: ``python -m benchmarks``."""
