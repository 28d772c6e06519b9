"""The page around every system: navigation, sidebar, gallery, export menu."""
