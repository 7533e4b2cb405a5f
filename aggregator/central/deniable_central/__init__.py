"""Central differential privacy over arrays of integers: exact draws and certified guarantees."""
