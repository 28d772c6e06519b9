"""The quiz: which shape leaves here?"""
