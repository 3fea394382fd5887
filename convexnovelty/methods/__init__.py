"""One file a method: its factories, its closed form or algorithm, and the steps of its derivation."""
