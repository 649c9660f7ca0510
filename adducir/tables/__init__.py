"""The result table, and the formats that it is printed in."""
