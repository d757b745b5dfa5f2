"""What commands print: pages for a terminal of 80 columns, and the same as documents for scripts."""
