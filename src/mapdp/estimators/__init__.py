"""scikit-learn objects: parameters in, results out."""
