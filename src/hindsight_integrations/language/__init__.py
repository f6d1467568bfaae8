"""What we know of language, used by retain and recall alike: names, stems, cues, question kinds, times."""
