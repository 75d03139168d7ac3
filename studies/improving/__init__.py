"""Real predictions diagnosed, then recalibrated, pooled, cut and decided on, all of it judged on cases not seen."""
