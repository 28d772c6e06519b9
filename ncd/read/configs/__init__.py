"""Published configurations, the `config.json` of a model, as systems."""
