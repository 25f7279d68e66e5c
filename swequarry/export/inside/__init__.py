"""Programs that are shipped inside of exported tasks; they run there under Python 3.6 and later."""
