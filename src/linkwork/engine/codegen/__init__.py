"""Programs as text: a schedule that all printers share, and one folder per printer."""
