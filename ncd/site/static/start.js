// Shows the cards that the page holds.

gallery({
  data: JSON.parse(document.getElementById("cards").textContent),
  parentElement: document.querySelector(".gallery"),
});
