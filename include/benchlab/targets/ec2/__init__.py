"""Rented fleets: hosts on EC2 that are found, kept and given back by their tags alone."""
