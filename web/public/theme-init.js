// Runs before the first paint so that a stored theme never flashes the other one.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem("sightline.theme");
  } catch (e) {
    choice = null;
  }
  if (choice !== "dark" && choice !== "light") {
    choice = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  }
  document.documentElement.dataset.theme = choice;
})();
