"""The app: navigation over the pages."""

import streamlit as st

st.set_page_config(page_title="Neural circuits", layout="wide")

st.navigation(
    {
        "": [st.Page("pages/home.py", title="Neural circuits", default=True)],
        "Attention": [
            st.Page(
                "pages/scaled_dot_product_attention.py",
                title="Scaled dot-product attention",
                url_path="scaled-dot-product-attention",
            ),
            st.Page(
                "pages/multi_head_attention.py",
                title="Multi-head attention",
                url_path="multi-head-attention",
            ),
        ],
        "Residual networks": [
            st.Page("pages/residual_block.py", title="Residual block", url_path="residual-block"),
        ],
    }
).run()
