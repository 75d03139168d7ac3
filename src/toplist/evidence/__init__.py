"""What the lists themselves show beside their scores: reliability, score against k, shapes, costly cases."""
