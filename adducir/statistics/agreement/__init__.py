"""Human ratings: how far raters agree, and what they think of each system."""
