"""
A stream that drifts: flights and the season
============================================

Flights from New York to the west coast, week by week through 2013. In winter the wind
is against them. A model that remembers everything averages over the year; with
``half_life``, older flights count for less and less, and the model follows. We ask
both, after every week: how long does a flight of 2,475 miles (to Los Angeles) take?
"""

import os

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from mapdp import MAPDP

flights = pd.read_parquet(f"{os.environ['MAPDP_DATA']}/extra/nycflights13.parquet")
flights = flights[
    (flights["origin"] == "JFK") & flights["distance"].between(2000, 3000)
]
when = pd.to_datetime(flights[["month", "day"]].assign(year=2013))
flights = (
    flights.assign(week=when.dt.day_of_year // 7)
    .dropna(subset="air_time")
    .sort_values("week")
)

question = pd.DataFrame({"distance": [2475], "air_time": [np.nan]})
answers = pd.DataFrame()
for name, half_life in (("remembers everything", None), ("half_life=1000", 1000)):
    model = MAPDP()
    for week, batch in flights.groupby("week"):
        model.partial_fit(batch[["distance", "air_time"]], half_life=half_life)
        answers.loc[week, name] = model.impute(question)["air_time"].item()

actual = flights[flights["dest"] == "LAX"].groupby("week")["air_time"].mean()
ax = answers.plot(figsize=(9, 4))
ax.plot(actual, "o", ms=4, color="0.6", label="mean of the week")
ax.set(xlabel="week of 2013", ylabel="minutes to Los Angeles")
ax.legend()
plt.show()

error = answers.sub(actual, axis=0).iloc[10:].abs().mean()
print(error.rename("mean error after week 10, minutes").round(1))
