"""The legend: the signs of the notation, and those of a drawing."""
