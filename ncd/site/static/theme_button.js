// The button that changes between light and dark colours.

import { turnTheme } from "./figure/theme.js";

document.querySelector(".theme").addEventListener("click", turnTheme);
