"""Central differential privacy over arrays of integers: exact draws, certified guarantees."""
