"""From results to pages: tables for people, records for programs."""
