"""physics: models that declare fields and stages; each folder below this one is a physics package (``table``)."""
