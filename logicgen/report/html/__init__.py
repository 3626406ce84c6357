"""One HTML file that shows a data set, an evaluation, a comparison, or what ships."""
