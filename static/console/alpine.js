// Unfold's pages with the build of Alpine that evaluates nothing, so that the Content Security Policy can forbid it. Its
// expressions know no global names and are single expressions. Everything else that unfold's attributes do is here.
"use strict";

document.addEventListener("alpine:init", () => {
  for (const create of [theme, searchForm, searchDropdown, searchCommand]) Alpine.data(create.name, create);
  Alpine.data("consolePage", (firstTab) => ({
    activeTab: getCurrentTab() || firstTab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem("sidebarDesktopOpen") !== "0",
    init() {
      this.$watch("sidebarDesktopOpen", (isOpen) => localStorage.setItem("sidebarDesktopOpen", isOpen ? "1" : "0"));
    },
    get formAddress() {
      const { pathname, search } = window.location;
      return pathname + search + (this.activeTab && this.activeTab !== "general" ? `#${this.activeTab}` : "");
    },
    sortRecords: (event) => sortRecords(event),
    moveRecords: (event) => moveRecords(event),
  }));

  const [, firstTab = ""] = document.body.getAttribute("x-data").match(/activeTab: '([\w-]*)'/) ?? [];
  document.body.setAttribute("x-data", `consolePage('${firstTab}')`);
  document.body.removeAttribute("x-init");

  for (const form of document.querySelectorAll("form[x-bind\\:action*=activeTab]")) {
    form.setAttribute("x-bind:action", "formAddress");
  }

  const goTo = document.getElementById("search-input-command");
  goTo?.setAttribute(
    "x-on:keydown.enter.prevent",
    "!$event.metaKey && !$event.ctrlKey && items && items.length > 0 && selectItem(false, false)",
  );
});
