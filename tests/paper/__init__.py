"""The paper as tests: J. Resin, From Classification Accuracy to Proper Scoring Rules. Each is named after it."""
