"""What users pass, turned into columns of known kinds and numbers."""
