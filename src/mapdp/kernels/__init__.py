"""Compiled passes over rows; each kernel's first line unpacks the state."""
