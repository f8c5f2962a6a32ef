"""
Digits: what a cluster looks like
=================================

1,797 images of handwritten digits, 8 x 8 pixels. The most probable partition has many
more clusters than there are digits, because people write a 1 in more than one way.
Each picture is the mean of a cluster, below its size: green where more than 90% of
its images are of one digit, else red. If you want exactly ten groups, another method
is the better choice: see :doc:`/which_method`.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP

images, digit = load_digits(return_X_y=True)
X = PCA(12).fit_transform(
    images
)  # pixels are correlated: a dozen directions are enough
model = MAPDP().fit(X)
agreement = adjusted_rand_score(digit, model.labels_)
print(f"{model.n_clusters_} clusters, adjusted Rand index {agreement:.2f}")

counts = pd.crosstab(model.labels_, digit).to_numpy()
sizes, purity = counts.sum(axis=1), counts.max(axis=1) / counts.sum(axis=1)
order = np.lexsort((-sizes, counts.argmax(axis=1)))  # by digit, then by size
n_lines = -(-model.n_clusters_ // 11)
figure, axes = plt.subplots(n_lines, 11, figsize=(10, 1.2 * n_lines))
for ax in axes.flat:
    ax.axis("off")
for ax, k in zip(axes.flat, order, strict=False):
    mean = images[model.labels_ == k].mean(axis=0)
    ax.imshow(mean.reshape(8, 8), cmap="gray_r")
    ax.set_title(str(sizes[k]), fontsize=9, color="C2" if purity[k] > 0.9 else "C3")
plt.show()
