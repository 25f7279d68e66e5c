"""The leak audit: can the answer be found in what a solver sees?"""
