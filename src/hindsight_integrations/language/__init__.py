"""Language data and rules shared by retain and recall: names, stems, question kinds, times, units and records."""
