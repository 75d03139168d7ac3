"""The reference numbers that came with the data. They were computed on the original files, without this project.

Accuracy, Brier, log score, padded Brier of the own top-1 list and of the own top-3 list, Brier of the mode.
"""

from __future__ import annotations

from math import inf

Numbers = tuple[float, float, float, float, float, float]

CIFAR10: dict[str, Numbers] = {
    "densenet121": (0.9272, 0.118734, 0.291106, 0.124799, 0.118930, 0.1456),
    "googlenet": (0.9295, 0.107277, 0.232596, 0.116776, 0.107490, 0.1410),
    "vgg19_bn": (0.9368, 0.111371, 0.366565, 0.115235, 0.111416, 0.1264),
    "resnet_orig": (0.8849, 0.180550, 0.466678, 0.192773, 0.180916, 0.2302),
    "cleanlab": (0.9294, 0.109952, 0.249171, 0.119074, 0.110042, 0.1412),
}
NEWS20: Numbers = (0.9234, 0.192912, inf, 0.185220, 0.190576, 0.1532)
CIFAR10H: Numbers = (0.9921, 0.020336, inf, 0.019578, 0.020234, 0.0158)
SOCCER: Numbers = (0.5083, 0.597006, inf, 0.598296, 0.597006, 0.9834)
