"""Monitoring: counts and times of questions, stored over time and exported."""
