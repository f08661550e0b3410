"""Rented fleets: hosts on EC2, found and given back by their tags alone."""
