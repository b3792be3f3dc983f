// Sets the colours before the first paint. The choice is kept in this browser; without one, the system decides.
"use strict";
{
  const kept = localStorage.getItem("ruledex-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
