"""Pictures of groups and sequences for the documentation.

`python -m experiments.structured` needs statsmodels, for its copy of the Nile series, and the folder of real tables
that the environment variable MAPDP_DATA names.
"""
