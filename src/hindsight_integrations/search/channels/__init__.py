"""The four channels (paper section 4.2.2): each a ranked list of row ids, filtered before it is cut."""
