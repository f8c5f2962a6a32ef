"""
Digits: what a cluster looks like
=================================

1,797 images of handwritten digits, 8 x 8 pixels. The most probable partition has more
clusters than there are digits, because people write a 1 in more than one way. Each
picture is the mean of a cluster, with its size; the colour says how pure it is. This
is also a table on which mapdp is not the best choice if you want exactly ten classes:
see :doc:`/which_method`.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP

images, digit = load_digits(return_X_y=True)
X = PCA(12).fit_transform(
    images
)  # pixels are correlated; a dozen directions hold most of the variance
model = MAPDP().fit(X)
print(
    model.n_clusters_,
    "clusters, agreement",
    round(adjusted_rand_score(digit, model.labels_), 2),
)

counts = np.array(
    [
        np.bincount(digit[model.labels_ == k], minlength=10)
        for k in range(model.n_clusters_)
    ]
)
purity = counts.max(axis=1) / counts.sum(axis=1)
order = np.lexsort(
    (-counts.sum(axis=1), counts.argmax(axis=1))
)  # by digit, then by size
figure, axes = plt.subplots(3, 10, figsize=(10, 3.8), layout="constrained")
for ax, k in zip(axes.flat, order, strict=False):
    ax.imshow(images[model.labels_ == k].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set_title(
        f"{counts[k].sum()}", fontsize=9, color="C2" if purity[k] > 0.9 else "C3"
    )
for ax in axes.flat:
    ax.axis("off")
plt.show()
