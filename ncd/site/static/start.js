// Shows the cards that the page holds.

import { gallery } from "./gallery.js";

gallery({
  data: JSON.parse(document.getElementById("cards").textContent),
  parentElement: document.querySelector(".gallery"),
});
