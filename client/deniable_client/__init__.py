"""Randomize answers on the device, upload them deniable."""
