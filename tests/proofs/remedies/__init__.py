"""Every remedy that is proposed for a waiting job starts it."""
