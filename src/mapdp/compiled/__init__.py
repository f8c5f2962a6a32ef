"""How loops are compiled, and floating-point arithmetic that they share."""
