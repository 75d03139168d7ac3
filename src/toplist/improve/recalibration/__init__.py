"""Lists whose confidences are changed so that they are kept."""
